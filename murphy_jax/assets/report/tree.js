
// One rollout tree as a drawing: a row for every sibling group, a shape and a mark for every verdict, size for credit.

const OUTCOMES = ["passed", "wrong", "error", "timeout", "killed", "infra"];
const CORNERS = { wrong: 4, error: 3, timeout: 6, killed: 4, infra: 5 };
const REACH = { 3: 1.3, 4: 1.22, 5: 1.1, 6: 1.08 }; // makes shapes of few corners look as large as a circle
const LETTERS = { error: "!", timeout: "T", killed: "K", infra: "?" };
const STROKES = { passed: "M-4 0.3L-1.2 3.2L4.2 -3", wrong: "M-3 -3L3 3M3 -3L-3 3" };

const outcomeOf = (item) => (OUTCOMES.includes(item.outcome) ? item.outcome : "infra");
const isKept = ({ member, group }) => member.kept !== false && group.kept !== false;
const childGroup = (index, node) => index.groups.get(node + 1);

// ---- verdicts ----

function glyph(outcome, radius) {
  const drawn = shape("g", {}, outline(outcome, radius));
  if (STROKES[outcome]) {
    const scale = `scale(${(radius / 8.5).toFixed(2)})`;
    drawn.append(shape("path", { class: "tick-mark", d: STROKES[outcome], transform: scale }));
  } else {
    const size = { y: (radius * 0.45).toFixed(1), "font-size": (radius * 1.25).toFixed(1) };
    drawn.append(shape("text", { class: "mark-text", ...size }, LETTERS[outcome]));
  }
  return drawn;
}

function outline(outcome, radius) {
  if (outcome === "passed") return shape("circle", { class: "glyph passed", r: radius });
  const corners = CORNERS[outcome];
  const turn = outcome === "wrong" ? Math.PI / 4 : -Math.PI / 2;
  const sink = corners === 3 ? radius * 0.2 : 0;
  const points = Array.from({ length: corners }, (_, corner) => {
    const angle = turn + (2 * Math.PI * corner) / corners;
    const [x, y] = [Math.cos(angle), Math.sin(angle)].map((part) => radius * REACH[corners] * part);
    return `${x.toFixed(1)},${(y + sink).toFixed(1)}`;
  });
  return shape("polygon", { class: `glyph ${outcome}`, points: points.join(" "), "stroke-linejoin": "round" });
}

function icon(outcome, pruned = false) {
  const css = pruned ? "icon pruned" : "icon";
  return shape("svg", { viewBox: "-12 -12 24 24", class: css, "aria-hidden": "true" }, glyph(outcome, 9));
}

// ---- structure ----

// Look-ups of one tree: groups by number, and {member, group} by node, both in level order.
function indexTree(tree) {
  const groups = new Map();
  const members = new Map();
  for (const group of tree.groups ?? []) {
    group.members ??= [];
    groups.set(group.group, group);
    for (const member of group.members) members.set(member.node, { member, group });
  }
  return { tree, groups, members };
}

// The groups on the way from the root to a node.
function groupsAbove(index, node) {
  const path = new Set();
  let entry = index.members.get(node);
  while (entry && !path.has(entry.group.group)) {
    path.add(entry.group.group);
    entry = index.members.get(entry.group.parent);
  }
  return path;
}

// The row of each group. The last sibling's repairs come first, so that no two edges cross.
function placeGroups(index) {
  const rows = new Map();
  const place = (group) => {
    rows.set(group.group, rows.size);
    for (const member of [...group.members].reverse()) {
      const child = childGroup(index, member.node);
      if (child && !rows.has(child.group)) place(child);
    }
  };
  for (const group of index.groups.values()) if (!index.members.has(group.parent)) place(group);
  return rows;
}

// ---- drawing ----

function geometry(index, width) {
  const groups = [...index.groups.values()];
  const turns = Math.max(1, ...groups.map((group) => group.turn));
  const size = Math.max(1, ...groups.map((group) => group.members.length));
  const [margin, gap, top] = [12, 20, 30];
  const cell = Math.min(32, Math.max(18, (width - 2 * margin - gap * (turns - 1)) / (turns * size)));
  const rows = placeGroups(index);
  const left = (turn) => margin + (turn - 1) * (size * cell + gap);
  return {
    turns,
    cell,
    left,
    width: left(turns) + size * cell + margin,
    height: top + rows.size * (cell + 8) + 6,
    x: (group, place) => left(group.turn) + cell * (place + 0.5),
    y: (group) => top + (rows.get(group.group) + 0.5) * (cell + 8),
  };
}

function drawTree(index, width) {
  const at = geometry(index, width);
  const most = Math.max(1, ...[...index.members.values()].map(({ member }) => member.credit ?? 0));
  const drawing = shape("svg", { width: at.width, height: at.height, role: "tree", "aria-label": "Rollout tree" });
  for (let turn = 1; turn <= at.turns; turn += 1) {
    const title = turn === 1 ? "Turn 1, first attempts" : `Turn ${turn}, repairs`;
    drawing.append(shape("text", { x: at.left(turn) + 2, y: 19 }, title));
  }
  for (const group of index.groups.values()) {
    const parent = index.members.get(group.parent);
    if (parent) drawing.append(drawEdge(parent, group, at));
    drawing.append(drawStrip(group, at));
    group.members.forEach((member, place) => drawing.append(drawMember({ member, group }, place, at, most)));
  }
  return drawing;
}

function drawEdge(parent, group, at) {
  const x = at.x(parent.group, parent.group.members.indexOf(parent.member));
  const path = `M${x} ${at.y(parent.group) + at.cell / 2}V${at.y(group) - 6}q0 6 6 6H${at.left(group.turn) - 1}`;
  return shape("path", { class: "edge", d: path, "data-group": group.group });
}

function drawStrip(group, at) {
  const corner = { x: at.left(group.turn) - 1, y: at.y(group) - at.cell / 2 - 1, rx: 8 };
  const size = { width: group.members.length * at.cell + 2, height: at.cell + 2 };
  return shape("rect", { class: group.kept === false ? "strip pruned" : "strip", ...corner, ...size });
}

function drawMember(entry, place, at, most) {
  const { member, group } = entry;
  const share = Math.min(1, Math.max(0, (member.credit ?? 0) / most));
  const half = at.cell / 2;
  return shape("g", {
    class: isKept(entry) ? "member" : "member pruned",
    role: "treeitem",
    tabindex: -1,
    transform: `translate(${at.x(group, place)} ${at.y(group)})`,
    "data-node": member.node,
    "aria-label": describe(entry),
    "aria-level": group.turn,
    "aria-posinset": place + 1,
    "aria-setsize": group.members.length,
    "aria-selected": "false",
  },
  shape("title", {}, describe(entry)),
  shape("rect", { x: -half, y: -half, width: at.cell, height: at.cell, fill: "transparent" }),
  shape("rect", { class: "halo", x: 1.5 - half, y: 1.5 - half, width: at.cell - 3, height: at.cell - 3, rx: 6 }),
  glyph(outcomeOf(member), at.cell * (0.23 + 0.15 * share)));
}

function describe(entry) {
  const { member, group } = entry;
  const numbers = `reward ${fixed(member.reward)}, credit ${fixed(member.credit)}`;
  return `Node ${member.node}, turn ${group.turn}, ${member.outcome}, ${numbers}, ${isKept(entry) ? "kept" : "pruned"}`;
}

function legend(index) {
  const entries = [...index.members.values()];
  const seen = new Set(entries.map(({ member }) => outcomeOf(member)));
  const items = OUTCOMES.filter((name) => seen.has(name)).map((name) => element("li", {}, icon(name), name));
  if (!entries.every(isKept)) items.push(element("li", {}, icon("passed", true), "pruned (hollow, dashed)"));
  return [...items, element("li", {}, "size: credit")];
}
