
// Browsing recorded trees one at a time, and one attempt in full.

const facts = (pairs) => element("dl", { class: "facts" },
  ...pairs.map(([name, value]) => element("div", {}, element("dt", {}, name), element("dd", {}, value))));

function testTable(tests) {
  const cell = (label, text, code = true) =>
    element("td", { "data-label": label }, ...(text ? [code ? element("code", {}, text) : text] : []));
  const rows = tests.map((test) => element("tr", {},
    element("td", { class: "verdict" }, icon(outcomeOf(test)), test.outcome ?? ""),
    cell("case", test.case), cell("expected", test.expected), cell("got", test.got), cell("message", test.message)));
  const names = ["verdict", "case", "expected", "got", "message"];
  return element("div", { class: "scroll" }, element("table", { class: "tests" },
    element("thead", {}, element("tr", {}, ...names.map((name) => element("th", { scope: "col" }, name)))),
    element("tbody", {}, ...rows)));
}

// A folded text; which ones are open is remembered from node to node.
function folded(title, text, open) {
  const box = element("details", {}, element("summary", {}, title, element("span", {}, ` ${plural((text || "").split("\n").length, "line")}`)), element("pre", {}, text || "(empty)"));
  box.open = open.has(title);
  box.addEventListener("toggle", () => (box.open ? open.add(title) : open.delete(title)));
  return box;
}

function programBlock(program, parent, state) {
  const heading = element("h4", {}, "Program");
  const place = element("div");
  const buttons = [];
  const show = () => {
    const changes = parent !== undefined && state.view === "changes";
    place.replaceChildren(!program ? element("p", { class: "muted" }, "The completion holds no program.")
      : changes ? changeListing(parent, program) : programListing(program));
    buttons.forEach((button) => button.setAttribute("aria-pressed", String(button.dataset.view === state.view)));
  };
  if (parent !== undefined && program) {
    for (const [view, label] of [["changes", "Changes to the parent"], ["program", "Whole program"]]) {
      buttons.push(element("button", { type: "button", "data-view": view, onclick: () => { state.view = view; show(); } }, label));
    }
    heading.append(element("span", { class: "views" }, ...buttons));
  }
  show();
  return [heading, place];
}

function nodeView(index, node, state, select) {
  const entry = index.members.get(node);
  const { member, group } = entry;
  const parent = index.members.get(group.parent);
  const tests = member.tests ?? [];
  const passed = tests.filter((test) => test.outcome === "passed").length;
  const update = isKept(entry) ? "kept" : group.kept === false ? "group pruned" : "pruned";
  const origin = element("p", { class: "origin" }, `Turn ${group.turn}, attempt ${group.members.indexOf(member) + 1} of ${group.members.length}`);
  if (parent) origin.append(", repairs ", element("button", { type: "button", class: "plain", onclick: () => select(group.parent) }, `node ${group.parent}`));
  const view = [
    element("h3", {}, icon(outcomeOf(member), !isKept(entry)), `Node ${node}: ${member.outcome}`),
    origin,
    facts([
      ["Reward", fixed(member.reward)], ["Credit", fixed(member.credit)], ["Advantage", fixed(member.advantage)],
      ["Tests passed", `${passed} of ${tests.length}`], ["In the update", update], ["Finish", member.finish ?? "-"],
    ]),
    ...programBlock(member.program ?? "", parent && (parent.member.program ?? ""), state),
  ];
  if (tests.length) view.push(element("h4", {}, "Tests"), testTable(tests));
  if (member.feedback) view.push(element("h4", {}, "Feedback"), element("pre", { class: "code" }, member.feedback));
  view.push(folded("Completion", member.completion, state.open), folded("Context", group.context, state.open));
  return view;
}

function explore(menu, blocks) {
  const state = { view: "changes", open: new Set(), at: 0, node: 0, index: null };
  const box = find("tree");

  function markPath() {
    const path = new Set();
    for (let entry = index().members.get(state.node); entry; entry = index().members.get(entry.group.parent)) path.add(entry.group.group);
    box.querySelectorAll(".edge").forEach((edge) => edge.classList.toggle("chosen", path.has(Number(edge.dataset.group))));
  }
  const index = () => state.index;

  // What a person selects becomes the page's address, so that it can be sent to somebody.
  function choose(node) {
    select(node, true);
    try {
      history.replaceState(null, "", `#tree-${state.at + 1}-node-${node}`);
    } catch { /* a page inside a frame without an address of its own */ }
  }

  function select(node, focus = false) {
    if (!index().members.has(node)) return;
    state.node = node;
    for (const drawn of box.querySelectorAll(".member")) {
      const chosen = Number(drawn.dataset.node) === node;
      drawn.setAttribute("aria-selected", String(chosen));
      drawn.setAttribute("tabindex", chosen ? 0 : -1);
      if (chosen && focus) drawn.focus();
    }
    markPath();
    find("node").replaceChildren(...nodeView(index(), node, state, choose));
  }

  function draw() {
    box.replaceChildren(drawTree(index(), box.clientWidth));
    find("tree-legend").replaceChildren(...legend(index()));
    select(state.node);
  }

  function show(at, node) {
    state.at = at;
    state.index = indexTree(JSON.parse(blocks[at].textContent));
    state.node = index().members.has(node) ? node : firstChoice(index());
    find("prompt").textContent = index().tree.prompt ?? "";
    find("tree-summary").textContent = summary(index());
    find("position").textContent = `tree ${at + 1} of ${menu.length}`;
    find("previous").disabled = at === 0;
    find("next").disabled = at === menu.length - 1;
    fillMenus(menu, at);
    if (index().members.size) draw();
    else { box.replaceChildren(); find("node").replaceChildren(element("p", { class: "muted" }, "This tree holds no attempts.")); }
  }

  box.addEventListener("click", (event) => {
    const drawn = event.target.closest(".member");
    if (drawn) choose(Number(drawn.dataset.node));
  });
  box.addEventListener("keydown", (event) => {
    const target = neighbour(index(), state.node, event.key);
    if (target === undefined) return;
    event.preventDefault();
    choose(target);
  });
  find("step").addEventListener("change", (event) => show(menu.findIndex((entry) => String(entry.step) === event.target.value)));
  find("task").addEventListener("change", (event) => show(Number(event.target.value)));
  find("previous").addEventListener("click", () => show(state.at - 1));
  find("next").addEventListener("click", () => show(state.at + 1));
  let timer = 0;
  window.addEventListener("resize", () => { clearTimeout(timer); timer = setTimeout(() => index().members.size && draw(), 150); });
  find("choose").hidden = find("explorer").hidden = false;
  const address = /^#tree-(\d+)-node-(\d+)$/.exec(location.hash);
  const wanted = address && menu[address[1] - 1] ? Number(address[1]) - 1 : menu.length - 1;
  show(wanted, address ? Number(address[2]) : undefined);
  if (address) find("trees").scrollIntoView({ behavior: "instant" });
}

// The most telling attempt: the deepest repair that solved the task, else the first attempt.
function firstChoice(index) {
  const repairs = [...index.groups.values()].filter((group) => group.turn > 1).reverse().flatMap((group) => group.members ?? []);
  return (repairs.find((member) => member.outcome === "passed") ?? [...index.members.values()][0]?.member)?.node;
}

function neighbour(index, node, key) {
  const entry = index.members.get(node);
  if (!entry) return undefined;
  const siblings = entry.group.members;
  const place = siblings.indexOf(entry.member);
  switch (key) {
    case "ArrowLeft": return siblings[place - 1]?.node;
    case "ArrowRight": return siblings[place + 1]?.node;
    case "ArrowUp": return entry.group.parent ?? undefined;
    case "ArrowDown": return childGroup(index, node)?.members?.[0]?.node;
    case "Home": return siblings[0].node;
    case "End": return siblings[siblings.length - 1].node;
    default: return undefined;
  }
}

function summary(index) {
  const entries = [...index.members.values()];
  const solved = entries.filter(({ member }) => member.reward >= 1).length;
  const pruned = [...index.groups.values()].filter((group) => group.kept === false).length;
  return `${plural(entries.length, "attempt")} in ${plural(index.groups.size, "group")}, ${solved} solved` + (pruned ? `, ${plural(pruned, "group")} pruned` : "");
}

function fillMenus(menu, at) {
  const option = (value, text, chosen) => {
    const made = element("option", { value }, text);
    made.selected = chosen;
    return made;
  };
  const steps = [...new Set(menu.map((entry) => entry.step))];
  find("step").replaceChildren(...steps.map((step) => option(String(step), String(step), step === menu[at].step)));
  const same = menu.map((entry, index) => [entry, index]).filter(([entry]) => entry.step === menu[at].step);
  find("task").replaceChildren(...same.map(([entry, index]) => option(String(index), `${entry.task} (${entry.solved} of ${entry.nodes} solved)`, index === at)));
}

const chartData = JSON.parse(find("chart-data").textContent);
document.querySelectorAll("[data-chart]").forEach((figure) => followChart(figure, chartData[Number(figure.dataset.chart)]));
const treeIndex = JSON.parse(find("tree-index").textContent);
if (treeIndex.length) explore(treeIndex, document.querySelectorAll("script.tree-data"));
document.documentElement.dataset.ready = "yes";
