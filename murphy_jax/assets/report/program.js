
// A program as numbered, lightly coloured lines, alone or as the changes to the program it repairs.

const DIFF_CELLS = 4e6;
const KEYWORDS = "False|None|True|and|as|assert|async|await|break|case|class|continue|def|del|elif|else|except|finally|for|" +
  "from|global|if|import|in|is|lambda|match|nonlocal|not|or|pass|raise|return|try|while|with|yield";
const TOKEN = new RegExp(
  "(#[^\\n]*)" +
  "|([rbfuRBFU]{0,2}(?:\"\"\"[\\s\\S]*?(?:\"\"\"|$)|'''[\\s\\S]*?(?:'''|$)|\"(?:\\\\.|[^\"\\\\\\n])*\"?|'(?:\\\\.|[^'\\\\\\n])*'?))" +
  "|\\b(" + KEYWORDS + ")\\b" +
  "|\\b(\\d[\\w.]*)" +
  "|((?<=\\b(?:def|class)[ \\t]+)[A-Za-z_]\\w*)", "g");
const TOKEN_CLASSES = ["comment", "string", "keyword", "number-token", "defined"];

// Lines of [text, class] pieces.
function highlight(source) {
  const lines = [[]];
  const put = (text, css) => text.split("\n").forEach((part, index) => {
    if (index > 0) lines.push([]);
    if (part) lines[lines.length - 1].push([part, css]);
  });
  let end = 0;
  for (const match of source.matchAll(TOKEN)) {
    put(source.slice(end, match.index), "");
    put(match[0], TOKEN_CLASSES[match.slice(1).findIndex((group) => group !== undefined)]);
    end = match.index + match[0].length;
  }
  put(source.slice(end), "");
  return lines;
}

// Longest common subsequence of lines as [sign, line of a or -1, line of b or -1].
function lineDiff(a, b) {
  let start = 0;
  while (start < a.length && start < b.length && a[start] === b[start]) start += 1;
  let tail = 0;
  while (tail < a.length - start && tail < b.length - start && a[a.length - 1 - tail] === b[b.length - 1 - tail]) tail += 1;
  const [rows, columns] = [a.length - start - tail, b.length - start - tail];
  const table = rows * columns <= DIFF_CELLS ? lengths(a, b, start, rows, columns) : null;
  const result = [];
  for (let i = 0; i < start; i += 1) result.push([" ", i, i]);
  let [i, j] = [0, 0];
  while (i < rows || j < columns) {
    const same = table && i < rows && j < columns && a[start + i] === b[start + j];
    if (same) result.push([" ", start + i++, start + j++]);
    else if (i < rows && (j === columns || !table || table[i + 1][j] >= table[i][j + 1])) result.push(["-", start + i++, -1]);
    else result.push(["+", -1, start + j++]);
  }
  for (let k = 0; k < tail; k += 1) result.push([" ", a.length - tail + k, b.length - tail + k]);
  return result;
}

function lengths(a, b, start, rows, columns) {
  const table = Array.from({ length: rows + 1 }, () => new Uint16Array(columns + 1));
  for (let i = rows - 1; i >= 0; i -= 1) {
    for (let j = columns - 1; j >= 0; j -= 1) {
      table[i][j] = a[start + i] === b[start + j] ? table[i + 1][j + 1] + 1 : Math.max(table[i + 1][j], table[i][j + 1]);
    }
  }
  return table;
}

const codeLine = (pieces) =>
  element("code", {}, ...pieces.map(([text, css]) => (css ? element("span", { class: css }, text) : text)));

function programListing(source) {
  const rows = highlight(source.trimEnd()).map((pieces, index) =>
    element("div", { class: "row" }, element("i", {}, String(index + 1)), codeLine(pieces)));
  return element("div", { class: "listing" }, ...rows);
}

function changeListing(before, after) {
  [before, after] = [before.trimEnd(), after.trimEnd()];
  const [old, fresh] = [highlight(before), highlight(after)];
  const names = { "+": "row added", "-": "row removed", " ": "row" };
  const rows = lineDiff(before.split("\n"), after.split("\n")).map(([sign, i, j]) =>
    element("div", { class: names[sign] }, element("i", {}, j < 0 ? "" : String(j + 1)), element("b", {}, sign), codeLine(j < 0 ? old[i] : fresh[j])));
  return element("div", { class: "listing diff" }, ...rows);
}
