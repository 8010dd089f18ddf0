// The panel of a node: all weights of a test, or all statistics of the rows of a leaf.

const NARROW = "(max-width: 800px)"; // as in the style of the page
const PANEL_AT = 0.5; // where the panel starts after a tap, as a share of the height of the window
const IN_PANEL = 25; // terms with a bar; further terms are only listed

function showTab(name) {
  for (const tab of ["node", "row"]) {
    byId(`${tab}Tab`).setAttribute("aria-selected", tab === name);
    byId(`${tab}Tab`).tabIndex = tab === name ? 0 : -1;
    byId(`${tab}Panel`).hidden = tab !== name;
  }
}

function select(id) {
  state.selected = id;
  showDetails();
  showTab("node");
  showPanel();
  moveTo(id);
}

// On a narrow screen the panel is below the tree: its first lines move into the visible part.
function showPanel() {
  const { top } = byId("panel").getBoundingClientRect();
  const wanted = innerHeight * PANEL_AT;
  if (matchMedia(NARROW).matches && top > wanted) scrollBy({ top: top - wanted, behavior: "instant" });
}

// Marks the node that the tab key reaches and the selected node, without redrawing.
function moveTo(id) {
  state.at = id;
  for (const group of byId("world").querySelectorAll("[data-node]")) {
    const own = Number(group.dataset.node);
    group.setAttribute("tabindex", own === id ? 0 : -1);
    group.setAttribute("aria-selected", own === state.selected);
    group.classList.toggle("selected", own === state.selected);
  }
  groupOf(id).focus({ preventScroll: true });
  reveal(id);
}

// Opens the tests above a node, and shows it.
function goTo(id) {
  if (![...nodesBelow(state.root)].some((node) => node.id === id)) state.root = 0;
  openPathTo(id);
  draw(state.root);
  select(id);
}

function button(text, act, kind = "") {
  const made = html("button", { type: "button", class: kind }, text);
  made.addEventListener("click", act);
  return made;
}

function showDetails() {
  const panel = byId("details");
  if (state.selected === null) {
    panel.replaceChildren(html("p", { class: "hint" }, "Choose a node of the tree."));
    return;
  }
  const node = nodeOf(state.selected);
  const title = node.isLeaf ? [`leaf ${node.id}: `, named(clusterOf(node.cluster).name)] : `test ${node.id}`;
  panel.replaceChildren(html("h2", {}, title));
  if (node.count !== null) {
    const text = `${node.size}, ${percent(node.share)} of ${model().is_weighted ? "the weight" : "all"}`;
    panel.append(html("p", { class: "count" }, text));
  }
  panel.append(...(node.isLeaf ? leafDetails : testDetails)(node));
  for (const list of panel.querySelectorAll("ol")) oneStop(list);
}

const section = (title, ...parts) => html("section", {}, [html("h3", {}, title), ...parts]);

function line(...cells) {
  return html("tr", {}, cells.map((cell) => (cell instanceof Node ? cell : html("td", {}, cell))));
}

// A name, a number and a bar in proportion to it; negative bars point left. A name is text.
function barRow(name, text, share, color) {
  const mark = html("span", { class: "mark" });
  mark.style.width = `${Math.max(1, 50 * Math.abs(share))}%`;
  mark.style.marginLeft = share < 0 ? `${50 - 50 * Math.abs(share)}%` : "50%";
  mark.style.background = color;
  return line(
    html("td", { class: "name" }, named(name)), html("td", { class: "number" }, text),
    html("td", { class: "bar" }, mark),
  );
}

const table = (lines) => html("table", {}, html("tbody", {}, lines));

// ---------------------------------------------------------------- tests

function testDetails(node) {
  const rule = node.test
    ? [`${upperCase(branch(true))} if `, ...conditionOf(node, "left"), `, ${branch(false)} if `, ...conditionOf(node, "right"), "."]
    : `${upperCase(branch(true))} if the sum is at most ${number(node.threshold, 6)}, otherwise ${branch(false)}.`;
  const parts = [html("p", { class: "rule" }, rule)];
  if (node.cut) parts.push(html("p", { class: "count" }, node.cut));
  if (data.kind === "image") parts.push(bigPicture(weightsUrl(node), meanOf(node) ? "weights over the pale mean of the rows" : "weights"), colorScale(node));
  if (node.sample) parts.push(distribution(node));
  if (!node.test) parts.push(section(data.scaled ? "Weights times standard deviation" : "Weights", weights(node)));
  const shares = composition(node).map(([k, share]) => shareLine(k, share));
  parts.push(section(node.count === null ? "Leaves below" : "Clusters below", table(shares)));
  const act = isFolded(node) ? "unfold" : "fold";
  parts.unshift(html("p", { class: "acts" }, [
    button(act, () => fold(node.id), "fold"),
    ...(node.id === state.root ? [] : [button("show only this part", () => focusOn(node.id), "focus")]),
  ]));
  return parts;
}

function bigPicture(url, what) {
  const image = html("img", { src: url, class: "pixels big", alt: what });
  const [height, width] = data.image_shape;
  image.style.aspectRatio = `${width} / ${height}`;
  return image;
}

function colorScale(node) {
  const limit = limitOf(node);
  const bar = html("div", { class: "scale" });
  bar.style.background = `linear-gradient(to right, ${data.colors.join(", ")})`;
  const ends = [`−${number(limit)} ${branch(true)}`, "0", `${branch(false)} ${number(limit)}`];
  return html("div", { class: "legend" }, [
    bar, html("div", { class: "ends" }, ends.map((text) => html("span", {}, text))),
  ]);
}

function weights(node) {
  const most = Math.max(...node.weights.map((_, i) => Math.abs(effect(node, i))), 1e-300);
  const lines = node.features.slice(0, IN_PANEL).map((j, i) => {
    const push = effect(node, i);
    return barRow(data.names[j], number(shown(node, i), 4), push / most, pushColor(push));
  });
  const rest = node.features.slice(IN_PANEL)
    .map((j, i) => [i ? ", " : "", named(data.names[j]), ` ${number(shown(node, IN_PANEL + i), 2)}`]);
  if (rest.length) {
    const text = [`and ${rest.length} smaller: `, ...rest.flat()];
    lines.push(html("tr", {}, html("td", { colspan: 3, class: "rest" }, text)));
  }
  return table(lines);
}

const shareLine = (k, share) => barRow(
  clusterOf(k).name, percent(share), share, clusterOf(k).color,
);

// ---------------------------------------------------------------- leaves

function leafDetails(node) {
  const { name, sentence } = clusterOf(node.cluster);
  const n = nodes().filter((one) => one.isLeaf && one.cluster === node.cluster).length;
  const parts = sentence ? [html("p", { class: "sentence" }, [named(name), `, ${plural(n, "leaves")}, ${sentence}`])] : [];
  if (nRows) {
    const show = () => { byId("find").value = `leaf ${node.id}`; listRows(); showTab("row"); };
    parts.push(html("p", { class: "acts" }, button("rows of this leaf", show, "rows")));
  }
  if (node.top) parts.push(mean(node));
  const classes = classesOf(node);
  if (classes.length) {
    const lines = classes.map(([c, share]) =>
      barRow(data.classes[c], percent(share), share, "var(--share)"));
    parts.push(section("Classes", table(lines)));
  }
  if (node.histogram) {
    const lines = node.histogram.map((share, k) => [k, share]).filter(([, share]) => share > 0)
      .map(([k, share]) => shareLine(k, share));
    parts.push(section("Clusters of its rows", table(lines)));
  }
  parts.push(section("Decision path", decisionPath(node)));
  return parts;
}

function mean(node) {
  if (data.kind === "image") return section("Mean of its rows", bigPicture(meanUrl(node), "mean of the rows"));
  const { color } = clusterOf(node.cluster);
  const most = Math.max(...node.top.values.map(Math.abs), 1e-300);
  const isBars = data.kind === "bars";
  const lines = node.top.of.map((j, i) => {
    const value = node.top.values[i];
    const text = isBars ? node.top.texts[i] : number(value);
    return barRow(topName(node, i), text, value / most, color);
  });
  return section(isBars ? "Means (and those of all rows); bars show their distance in standard deviations" : "Words with the largest mean", table(lines));
}

// The tests that lead to a leaf.
function decisionPath(leaf) {
  const steps = [];
  for (let node = leaf; node.parent !== null; node = nodeOf(node.parent)) {
    const above = nodeOf(node.parent);
    const side = node.side === 0;
    const rule = above.test ? conditionOf(above, side ? "left" : "right")
      : [`sum of ${above.features.length} features ${side ? "≤" : ">"} ${minus(above.limit)}`];
    const link = button(`test ${above.id}`, () => goTo(above.id), "link");
    steps.unshift(html("li", {}, [link, " ", ...rule]));
  }
  return html("ol", { class: "path" }, steps);
}
