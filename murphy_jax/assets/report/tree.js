
// One rollout tree as a drawing: a row for every sibling group, a shape and a mark for every verdict, size for credit.

const OUTCOMES = ["passed", "wrong", "error", "timeout", "killed", "infra"];
const SHAPES = { wrong: 4, error: 3, timeout: 6, killed: 4, infra: 5 };
const MARKS = { error: "!", timeout: "T", killed: "K", infra: "?" };
const PATHS = { passed: "M-4 0.3L-1.2 3.2L4.2 -3", wrong: "M-3 -3L3 3M3 -3L-3 3" };

const outcomeOf = (member) => (OUTCOMES.includes(member.outcome) ? member.outcome : "infra");

function glyph(outcome, radius) {
  const parts = [];
  if (outcome === "passed") parts.push(shape("circle", { class: "glyph passed", r: radius }));
  else {
    const corners = SHAPES[outcome];
    const reach = radius * { 3: 1.3, 4: 1.22, 5: 1.1, 6: 1.08 }[corners];
    const turn = outcome === "wrong" ? Math.PI / 4 : -Math.PI / 2;
    const points = Array.from({ length: corners }, (_, corner) => {
      const angle = turn + (2 * Math.PI * corner) / corners;
      return `${(reach * Math.cos(angle)).toFixed(1)},${(reach * Math.sin(angle) + (corners === 3 ? radius * 0.2 : 0)).toFixed(1)}`;
    });
    parts.push(shape("polygon", { class: `glyph ${outcome}`, points: points.join(" "), "stroke-linejoin": "round" }));
  }
  const path = PATHS[outcome];
  if (path) parts.push(shape("path", { class: "tick-mark", d: path, transform: `scale(${(radius / 8.5).toFixed(2)})` }));
  else parts.push(shape("text", { class: "mark-text", y: (radius * 0.45).toFixed(1), "font-size": (radius * 1.25).toFixed(1) }, MARKS[outcome]));
  return shape("g", {}, ...parts);
}

const icon = (outcome, pruned = false) =>
  shape("svg", { viewBox: "-12 -12 24 24", class: pruned ? "icon pruned" : "icon", "aria-hidden": "true" }, glyph(outcome, 9));

// Lookups of one tree: groups by number, and (member, its group) by node.
function indexTree(tree) {
  const groups = new Map();
  const members = new Map();
  for (const group of tree.groups ?? []) {
    groups.set(group.group, group);
    for (const member of group.members ?? []) members.set(member.node, { member, group });
  }
  return { tree, groups, members };
}

const childGroup = (index, node) => index.groups.get(node + 1);
const isKept = ({ member, group }) => member.kept !== false && group.kept !== false;

// A row for every group: the last sibling's repairs come first, so that no two edges cross.
function placeGroups(index) {
  const rows = new Map();
  const place = (group) => {
    rows.set(group.group, rows.size);
    for (const member of [...(group.members ?? [])].reverse()) {
      const child = childGroup(index, member.node);
      if (child && !rows.has(child.group)) place(child);
    }
  };
  for (const group of index.groups.values()) if (group.parent === null || !index.members.has(group.parent)) place(group);
  return rows;
}

function treeGeometry(index, width) {
  const turns = Math.max(1, ...[...index.groups.values()].map((group) => group.turn));
  const size = Math.max(1, ...[...index.groups.values()].map((group) => (group.members ?? []).length));
  const [margin, gap, top] = [12, 26, 30];
  const cell = Math.min(32, Math.max(22, (width - 2 * margin - gap * (turns - 1)) / (turns * size)));
  const rows = placeGroups(index);
  const left = (turn) => margin + (turn - 1) * (size * cell + gap);
  return {
    turns, cell, left,
    width: left(turns) + size * cell + margin,
    height: top + rows.size * (cell + 8) + 6,
    x: (group, member) => left(group.turn) + cell * (member + 0.5),
    y: (group) => top + (rows.get(group.group) + 0.5) * (cell + 8),
  };
}

function describe(entry) {
  const { member, group } = entry;
  return `Node ${member.node}, turn ${group.turn}, ${member.outcome}, reward ${fixed(member.reward)}, ` +
    `credit ${fixed(member.credit)}, ${isKept(entry) ? "kept" : "pruned"}`;
}

function drawMember(entry, number, place, scale) {
  const { member, group } = entry;
  const radius = place.cell * (0.23 + 0.15 * Math.min(1, Math.max(0, (member.credit ?? 0) / scale)));
  const drawn = shape("g", {
    class: isKept(entry) ? "member" : "member pruned", role: "treeitem", tabindex: -1, "data-node": member.node,
    "aria-label": describe(entry), "aria-level": group.turn, "aria-posinset": number + 1,
    "aria-setsize": group.members.length, "aria-selected": "false",
    transform: `translate(${place.x(group, number)} ${place.y(group)})`,
  });
  const half = place.cell / 2;
  drawn.append(
    shape("title", {}, describe(entry)),
    shape("rect", { class: "halo", x: 1.5 - half, y: 1.5 - half, width: place.cell - 3, height: place.cell - 3, rx: 6 }),
    shape("rect", { x: -half, y: -half, width: place.cell, height: place.cell, fill: "transparent" }),
    glyph(outcomeOf(member), radius));
  return drawn;
}

function drawTree(index, width) {
  const place = treeGeometry(index, width);
  const entries = [...index.members.values()];
  const scale = Math.max(1, ...entries.map(({ member }) => member.credit ?? 0));
  const drawing = shape("svg", { width: place.width, height: place.height, role: "tree", "aria-label": "Rollout tree" });
  for (let turn = 1; turn <= place.turns; turn += 1) {
    drawing.append(shape("text", { x: place.left(turn) + 2, y: 19 }, turn === 1 ? "Turn 1, first attempts" : `Turn ${turn}, repairs`));
  }
  for (const group of index.groups.values()) {
    const members = group.members ?? [];
    const parent = index.members.get(group.parent);
    if (parent) {
      const x = place.x(parent.group, parent.group.members.indexOf(parent.member));
      const path = `M${x} ${place.y(parent.group) + place.cell / 2}V${place.y(group) - 6}q0 6 6 6H${place.left(group.turn) - 1}`;
      drawing.append(shape("path", { class: "edge", d: path, "data-group": group.group }));
    }
    const box = { x: place.left(group.turn) - 1, y: place.y(group) - place.cell / 2 - 1, rx: 8 };
    const css = group.kept === false ? "strip pruned" : "strip";
    drawing.append(shape("rect", { class: css, ...box, width: members.length * place.cell + 2, height: place.cell + 2 }));
    members.forEach((member, number) => drawing.append(drawMember({ member, group }, number, place, scale)));
  }
  return drawing;
}

function legend(index) {
  const entries = [...index.members.values()];
  const seen = new Set(entries.map(({ member }) => outcomeOf(member)));
  const items = OUTCOMES.filter((name) => seen.has(name)).map((name) => element("li", {}, icon(name), name));
  if (entries.some((entry) => !isKept(entry))) items.push(element("li", {}, icon("passed", true), "pruned (hollow, dashed)"));
  return [...items, element("li", {}, "size: credit")];
}
