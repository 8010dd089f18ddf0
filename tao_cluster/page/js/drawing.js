// The drawing of the open part of the tree: edges with their signs, and nodes with their labels.

let place = null; // the layout that is drawn

const layout = () => (form === DOWN ? layoutDown() : layoutSmall(form));

function describe(node) {
  const rows = node.count === null ? "" : `, ${node.size}`;
  if (node.isLeaf) return `leaf ${node.id}: ${isolated(clusterOf(node.cluster).name)}${rows}`;
  const asks = node.test ? conditionText(node, "left") : `sum of ${node.features.length} features ≤ ${minus(node.limit)}`;
  const side = node.parent === null ? "" : `, on the ${branch(node.side === 0)}`;
  return `test ${node.id}${side}: ${asks}${rows}, ${plural(node.nLeaves, "leaves")} below`;
}

function edge(node, child, isOn) {
  const [a, b] = [place.boxes.get(node.id), place.boxes.get(child.id)];
  const top = a.y + a.height;
  const width = 1.2 + (form === DOWN ? 10 : 4) * (child.share ?? 0.15);
  const sign = child.side === 0 ? "yes" : "no";
  const shift = child.side === 0 ? -1 : 1;
  const bend = (top + b.y) / 2;
  const line = form === DOWN ? { d: `M${a.x},${top} C${a.x},${bend} ${b.x},${bend} ${b.x},${b.y}`, x: b.x + shift * (width / 2 + 16), y: b.y - 8 }
    : smallEdge(a, b, width, child.side, widthOf(sign, 11, "600"));
  return [
    svg("path", { class: isOn ? "edge on" : "edge", "stroke-width": width, d: line.d }),
    textAt(line.x, line.y, sign, isOn ? "sign on" : "sign"),
  ];
}

function foldButton(node) {
  const box = place.boxes.get(node.id);
  const isOpen = !isFolded(node);
  const label = isOpen ? "−" : `+ ${node.nLeaves}`;
  const width = isOpen ? 26 : 22 + widthOf(label, 12, "600");
  const [x, y] = form === DOWN ? [0, box.height] : [(box.width - width) / 2 + 13, box.height / 2];
  const reach = form === DOWN ? [-14, 34] : [-box.height / 2, box.height];
  return svg("g", { class: "toggle", "data-toggle": node.id, transform: `translate(${x},${y})` }, [
    svg("rect", { class: "reach", x: -width / 2 - 6, y: reach[0], width: width + 12, height: reach[1] }),
    svg("rect", { class: "knob", x: -width / 2, y: -9, width, height: 18, rx: 9 }),
    textAt(0, 4.5, label, "sum"),
  ]);
}

function nodeGroup(node, isOn) {
  const { x, y, width, height } = place.boxes.get(node.id);
  const kinds = ["node", node.isLeaf ? "leaf" : "test"];
  if (isOn) kinds.push("on");
  if (state.selected === node.id) kinds.push("selected");
  if (state.query) kinds.push(matches(node) ? "hit" : "dim");
  if (isFolded(node)) kinds.push("folded");
  const group = svg("g", {
    class: kinds.join(" "), transform: `translate(${x},${y})`, "data-node": node.id,
    role: "treeitem", tabindex: node.id === state.at ? 0 : -1,
    "aria-level": node.depth - nodeOf(state.root).depth + 1,
    "aria-selected": state.selected === node.id,
  });
  if (!node.isLeaf) group.setAttribute("aria-expanded", !isFolded(node));
  const box = svg("rect", { class: "box", x: -width / 2, y: 0, width, height, rx: 8 });
  group.append(box);
  if (node.isLeaf) {
    const inner = { x: 2 - width / 2, y: 2, width: width - 4, height: height - 4, rx: 6 };
    group.append(svg("rect", { ...inner, class: "ring", style: `stroke:${clusterOf(node.cluster).line}` }));
  }
  (form === DOWN ? node.isLeaf ? drawLeaf : drawTest : drawSmall)(group, node);
  if (!node.isLeaf) group.append(foldButton(node));
  for (const part of group.children) part.setAttribute("aria-hidden", "true");
  group.prepend(svg("title", {}, describe(node))); // read by screen readers, and shown at the pointer
  return group;
}

// Draws the open part; the node `fixed` keeps its place on the screen.
function draw(fixed = null) {
  const before = place && place.boxes.has(fixed) ? screenOf(fixed) : null;
  const hadFocus = byId("world").contains(document.activeElement);
  place = layout();
  if (!place.boxes.has(state.at)) state.at = state.root;
  byId("world").replaceChildren(...drawn());
  document.body.classList.toggle("small", form !== DOWN);
  if (before && place.boxes.has(fixed)) {
    const after = screenOf(fixed);
    view.x += before.x - after.x;
    view.y += before.y - after.y;
  }
  drawMap();
  showView();
  drawCrumbs();
  summarise();
  if (state.selected !== null) {
    while (!place.boxes.has(state.selected) && nodeOf(state.selected).parent !== null) {
      state.selected = nodeOf(state.selected).parent; // the test below which the node is folded
    }
    showDetails(); // which says whether the test is folded
  }
  if (hadFocus) groupOf(state.at).focus({ preventScroll: true });
}

// The edges and the nodes of the layout `place`.
function drawn() {
  const isOn = new Set(state.row ? route(nodes(), state.row).map((step) => step.node.id) : []);
  const edges = svg("g", { "aria-hidden": "true" });
  const groups = svg("g", {});
  for (const node of place.order) {
    for (const child of childrenOf(node)) {
      edges.append(...edge(node, nodeOf(child), isOn.has(node.id) && isOn.has(child)));
    }
    groups.append(nodeGroup(node, isOn.has(node.id)));
  }
  return [edges, groups];
}

const groupOf = (id) => byId("world").querySelector(`[data-node="${id}"]`);

// The path from the root to the subtree that is shown.
function drawCrumbs() {
  const path = [];
  for (let id = state.root; id !== null; id = nodeOf(id).parent) path.unshift(id);
  byId("crumbs").hidden = state.root === 0;
  byId("crumbs").replaceChildren(...path.map((id) => {
    const text = id === 0 ? "whole tree" : `test ${id}`;
    const isHere = id === state.root;
    const crumb = html("button", { type: "button", "data-crumb": id }, text);
    if (isHere) crumb.setAttribute("aria-current", "true");
    crumb.addEventListener("click", () => focusOn(id));
    return crumb;
  }));
  oneStop(byId("crumbs"));
}

// Shows only one subtree.
function focusOn(id) {
  state.root = id;
  state.at = id;
  drawCrumbs(); // which limit the height of the stage
  openLegibly();
  draw();
  home();
}

function summarise() {
  const { summary } = model();
  const parts = [
    plural(summary.n_leaves, "leaves"), `depth ${summary.depth}`,
    plural(summary.n_parameters, "parameters"), plural(summary.features_per_split, "features per test", 3),
  ];
  if (summary.cost_increase !== null) {
    const share = `${summary.cost_increase.toFixed(2)} %`;
    parts.push(summary.explains_labels ? `${share} of the ${model().is_weighted ? "weight has" : "rows have"} another label`
      : `cost ${share} above the free clustering`);
  }
  if (summary.noise) parts.push(`${summary.noise} rows of noise left out`);
  byId("summary").textContent = parts.join(" · ");
  const { lambda } = summary;
  byId("which").textContent = lambda === null
    ? `${state.model + 1} of ${data.models.length}` : `λ = ${number(lambda)}`;
}
