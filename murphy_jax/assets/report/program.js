
// A program as numbered, lightly coloured lines: whole, or as the changes to the program it repairs.

const DIFF_CELLS = 4e6; // a larger comparison is shown as everything removed, everything added
const KEYWORDS = [
  "False None True and as assert async await break case class continue def del elif else except finally for from",
  "global if import in is lambda match nonlocal not or pass raise return try while with yield",
].join(" ").replaceAll(" ", "|");
const TOKENS = {
  comment: /#[^\n]*/,
  string: /[rbfuRBFU]{0,2}(?:"""[^]*?(?:"""|$)|'''[^]*?(?:'''|$)|"(?:\\.|[^"\\\n])*"?|'(?:\\.|[^'\\\n])*'?)/,
  keyword: new RegExp(`\\b(?:${KEYWORDS})\\b`),
  digits: /\b\d[\w.]*/,
  defined: /(?<=\b(?:def|class)[ \t]+)[A-Za-z_]\w*/,
};
const TOKEN = new RegExp(Object.entries(TOKENS).map(([name, { source }]) => `(?<${name}>${source})`).join("|"), "g");

// Lines of [text, class] pieces; the class is empty for plain text.
function highlight(source) {
  const lines = [[]];
  const put = (text, css) => text.split("\n").forEach((part, number) => {
    if (number > 0) lines.push([]);
    if (part) lines[lines.length - 1].push([part, css]);
  });
  let end = 0;
  for (const match of source.matchAll(TOKEN)) {
    put(source.slice(end, match.index), "");
    put(match[0], Object.keys(TOKENS).find((name) => match.groups[name] !== undefined));
    end = match.index + match[0].length;
  }
  put(source.slice(end), "");
  return lines;
}

// The longest common subsequence of lines, as [sign, line of `a` or -1, line of `b` or -1].
function lineDiff(a, b) {
  let start = 0;
  while (start < Math.min(a.length, b.length) && a[start] === b[start]) start += 1;
  let tail = 0;
  while (tail < Math.min(a.length, b.length) - start && a.at(-1 - tail) === b.at(-1 - tail)) tail += 1;
  const [rows, columns] = [a.length - start - tail, b.length - start - tail];
  const table = rows * columns <= DIFF_CELLS ? commonLengths(a, b, start, rows, columns) : null;
  const result = [];
  for (let i = 0; i < start; i += 1) result.push([" ", i, i]);
  let [i, j] = [0, 0];
  while (i < rows || j < columns) {
    const removes = j === columns || (i < rows && (!table || table[i + 1][j] >= table[i][j + 1]));
    if (table && i < rows && j < columns && a[start + i] === b[start + j]) result.push([" ", start + i++, start + j++]);
    else if (removes) result.push(["-", start + i++, -1]);
    else result.push(["+", -1, start + j++]);
  }
  for (let k = tail; k > 0; k -= 1) result.push([" ", a.length - k, b.length - k]);
  return result;
}

// table[i][j]: length of the longest common subsequence of the lines from start + i and from start + j on.
function commonLengths(a, b, start, rows, columns) {
  const table = Array.from({ length: rows + 1 }, () => new Uint16Array(columns + 1));
  for (let i = rows - 1; i >= 0; i -= 1) {
    for (let j = columns - 1; j >= 0; j -= 1) {
      const same = a[start + i] === b[start + j];
      table[i][j] = same ? table[i + 1][j + 1] + 1 : Math.max(table[i + 1][j], table[i][j + 1]);
    }
  }
  return table;
}

const codeLine = (pieces) =>
  element("code", {}, ...pieces.map(([text, css]) => (css ? element("span", { class: css }, text) : text)));

function programListing(source) {
  const rows = highlight(source.trimEnd()).map((pieces, number) =>
    element("div", { class: "row" }, element("i", {}, number + 1), codeLine(pieces)));
  return element("div", { class: "listing" }, ...rows);
}

function changeListing(before, after) {
  const [old, fresh] = [before.trimEnd(), after.trimEnd()];
  const [oldLines, freshLines] = [highlight(old), highlight(fresh)];
  const names = { "+": "row added", "-": "row removed", " ": "row" };
  const rows = lineDiff(old.split("\n"), fresh.split("\n")).map(([sign, i, j]) => {
    const [number, pieces] = j < 0 ? ["", oldLines[i]] : [j + 1, freshLines[j]];
    return element("div", { class: names[sign] }, element("i", {}, number), element("b", {}, sign), codeLine(pieces));
  });
  return element("div", { class: "listing diff" }, ...rows);
}
