
// One attempt in full: its numbers, program, tests, feedback, completion and context.

function nodeView(index, node, state, choose) {
  const entry = index.members.get(node);
  const { member, group } = entry;
  const parent = index.members.get(group.parent);
  const tests = member.tests ?? [];
  const passed = tests.filter((test) => test.outcome === "passed").length;
  const view = [
    element("h3", {}, icon(outcomeOf(member), !isKept(entry)), `Node ${node}: ${member.outcome}`),
    originOf(entry, choose),
    facts([
      ["Reward", fixed(member.reward)],
      ["Credit", fixed(member.credit)],
      ["Advantage", fixed(member.advantage)],
      ["Tests passed", `${passed} of ${tests.length}`],
      ["In the update", isKept(entry) ? "kept" : group.kept === false ? "group pruned" : "pruned"],
      ["Finish", member.finish ?? "-"],
    ]),
    ...programBlock(member.program ?? "", parent && (parent.member.program ?? ""), state),
  ];
  if (tests.length) view.push(element("h4", {}, "Tests"), testTable(tests));
  if (member.feedback) view.push(element("h4", {}, "Feedback"), element("pre", { class: "code" }, member.feedback));
  view.push(folded("Completion", member.completion ?? "", state), folded("Context", group.context ?? "", state));
  return view;
}

function originOf({ member, group }, choose) {
  const place = `Turn ${group.turn}, attempt ${group.members.indexOf(member) + 1} of ${group.members.length}`;
  const origin = element("p", { class: "origin" }, place);
  if (group.parent !== null) {
    const link = element("button", { type: "button", class: "plain" }, `node ${group.parent}`);
    link.addEventListener("click", () => choose(group.parent));
    origin.append(", repairs ", link);
  }
  return origin;
}

function facts(pairs) {
  const items = pairs.map(([name, value]) => element("div", {}, element("dt", {}, name), element("dd", {}, value)));
  return element("dl", { class: "facts" }, ...items);
}

// The program, with the choice between the changes to its parent and the whole of it.
function programBlock(program, parent, state) {
  const heading = element("h4", {}, "Program");
  if (!program) return [heading, element("p", { class: "muted" }, "The completion holds no program.")];
  const place = element("div");
  const buttons = [];
  const show = () => {
    const changes = parent !== undefined && state.view === "changes";
    place.replaceChildren(changes ? changeListing(parent, program) : programListing(program));
    for (const button of buttons) button.setAttribute("aria-pressed", String(button.dataset.view === state.view));
  };
  if (parent !== undefined) {
    for (const [view, label] of [["changes", "Changes to the parent"], ["program", "Whole program"]]) {
      const button = element("button", { type: "button", "data-view": view }, label);
      button.addEventListener("click", () => {
        state.view = view;
        show();
      });
      buttons.push(button);
    }
    heading.append(element("span", { class: "views" }, ...buttons));
  }
  show();
  return [heading, place];
}

function testTable(tests) {
  const names = ["case", "expected", "got", "message"];
  const cell = (name, text) => element("td", { "data-label": name }, ...(text ? [element("code", {}, text)] : []));
  const rows = tests.map((test) => element("tr", {},
    element("td", { class: "verdict" }, icon(outcomeOf(test)), test.outcome ?? ""),
    ...names.map((name) => cell(name, test[name]))));
  const heads = ["verdict", ...names].map((name) => element("th", { scope: "col" }, name));
  return element("div", { class: "scroll" }, element("table", { class: "tests" },
    element("thead", {}, element("tr", {}, ...heads)), element("tbody", {}, ...rows)));
}

// A folded text; which ones are open is remembered from node to node.
function folded(title, text, state) {
  const size = element("span", {}, ` ${plural(text.split("\n").length, "line")}`);
  const box = element("details", {}, element("summary", {}, title, size), element("pre", {}, text || "(empty)"));
  box.open = state.open.has(title);
  box.addEventListener("toggle", () => (box.open ? state.open.add(title) : state.open.delete(title)));
  return box;
}
