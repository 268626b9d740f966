
// Browsing recorded trees one at a time; only the chosen tree is parsed and drawn.

class Explorer {
  constructor(menu, blocks) {
    this.menu = menu; // what the menus show of each tree
    this.blocks = blocks; // the script element that holds each tree
    this.box = find("tree");
    this.view = "changes"; // how programs are shown
    this.open = new Set(); // folded texts that are open
  }

  show(at, node) {
    this.at = at;
    this.index = indexTree(JSON.parse(this.blocks[at].textContent));
    this.node = this.index.members.has(node) ? node : firstChoice(this.index);
    find("prompt").textContent = this.index.tree.prompt ?? "";
    find("tree-summary").textContent = summary(this.index);
    find("position").textContent = `tree ${at + 1} of ${this.menu.length}`;
    find("previous").disabled = at === 0;
    find("next").disabled = at === this.menu.length - 1;
    fillMenus(this.menu, at);
    this.draw();
  }

  draw() {
    this.width = this.box.clientWidth;
    if (this.node === undefined) {
      this.box.replaceChildren();
      find("tree-legend").replaceChildren();
      find("node").replaceChildren(element("p", { class: "muted" }, "This tree holds no attempts."));
      return;
    }
    this.box.replaceChildren(drawTree(this.index, this.width));
    find("tree-legend").replaceChildren(...legend(this.index));
    this.select(this.node);
    const drawn = this.box.querySelector('[aria-selected="true"]').getBoundingClientRect();
    const frame = this.box.getBoundingClientRect();
    if (drawn.bottom > frame.bottom) this.box.scrollTop += drawn.bottom - frame.top - frame.height / 2;
  }

  select(node) {
    this.node = node;
    for (const drawn of this.box.querySelectorAll(".member")) {
      const chosen = Number(drawn.dataset.node) === node;
      drawn.setAttribute("aria-selected", String(chosen));
      drawn.setAttribute("tabindex", chosen ? 0 : -1);
    }
    const path = groupsAbove(this.index, node);
    for (const edge of this.box.querySelectorAll(".edge")) {
      edge.classList.toggle("chosen", path.has(Number(edge.dataset.group)));
    }
    find("node").replaceChildren(...nodeView(this.index, node, this, (other) => this.choose(other)));
  }

  // What a person selects becomes the page's address, so that it can be sent to somebody.
  choose(node) {
    if (!this.index.members.has(node)) return;
    this.select(node);
    this.box.querySelector('[aria-selected="true"]').focus();
    try {
      history.replaceState(null, "", `#tree-${this.at + 1}-node-${node}`);
    } catch {
      // A page inside a frame has no address of its own.
    }
  }

  listen() {
    this.box.addEventListener("click", (event) => {
      const drawn = event.target.closest(".member");
      if (drawn) this.choose(Number(drawn.dataset.node));
    });
    this.box.addEventListener("keydown", (event) => {
      const target = neighbour(this.index, this.node, event.key);
      if (target === undefined) return;
      event.preventDefault();
      this.choose(target);
    });
    find("step").addEventListener("change", (event) => {
      this.show(this.menu.findIndex((entry) => String(entry.step) === event.target.value));
    });
    find("task").addEventListener("change", (event) => this.show(Number(event.target.value)));
    find("previous").addEventListener("click", () => this.show(this.at - 1));
    find("next").addEventListener("click", () => this.show(this.at + 1));
    new ResizeObserver(() => this.box.clientWidth !== this.width && this.draw()).observe(this.box);
  }
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

// The most telling attempt: the deepest repair that solved the task, else the first attempt.
function firstChoice(index) {
  const repairs = [...index.members.values()].filter(({ group }) => group.turn > 1).reverse();
  const entry = repairs.find(({ member }) => member.outcome === "passed") ?? index.members.values().next().value;
  return entry?.member.node;
}

function summary(index) {
  const solved = [...index.members.values()].filter(({ member }) => member.reward >= 1).length;
  const pruned = [...index.groups.values()].filter((group) => group.kept === false).length;
  const size = `${plural(index.members.size, "attempt")} in ${plural(index.groups.size, "group")}`;
  const parts = [size, `${solved} solved`];
  if (pruned) parts.push(`${plural(pruned, "group")} pruned`);
  return parts.join(", ");
}

function fillMenus(menu, at) {
  const option = (value, text, chosen) => {
    const made = element("option", { value }, text);
    made.selected = chosen;
    return made;
  };
  const steps = [...new Set(menu.map((entry) => entry.step))];
  find("step").replaceChildren(...steps.map((step) => option(step, step, step === menu[at].step)));
  const same = menu.map((entry, place) => [entry, place]).filter(([entry]) => entry.step === menu[at].step);
  find("task").replaceChildren(...same.map(([entry, place]) =>
    option(place, `${entry.task} (${entry.solved} of ${entry.nodes} solved)`, place === at)));
}

function start() {
  const charts = JSON.parse(find("chart-data").textContent);
  for (const figure of document.querySelectorAll("[data-chart]")) followChart(figure, charts[figure.dataset.chart]);
  const menu = JSON.parse(find("tree-index").textContent);
  if (menu.length) {
    find("choose").hidden = find("explorer").hidden = false;
    const explorer = new Explorer(menu, document.querySelectorAll("script.tree-data"));
    const address = /^#tree-(\d+)-node-(\d+)$/.exec(location.hash);
    const known = address && menu[address[1] - 1];
    explorer.show(known ? address[1] - 1 : menu.length - 1, known ? Number(address[2]) : undefined);
    explorer.listen();
    if (known) find("trees").scrollIntoView({ behavior: "instant" });
  }
  document.documentElement.dataset.ready = "yes";
}

start();
