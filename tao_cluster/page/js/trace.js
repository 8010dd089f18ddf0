// The decision path of a row: at each test, the terms of the sum and the threshold.

const MOST_TERMS = 8;
const TRACE = { width: 350, names: 178, line: 17 };

function showTrace() {
  const out = byId("trace");
  if (!state.row) {
    out.replaceChildren();
    return;
  }
  const steps = route(nodes(), state.row);
  const { node: leaf } = steps[steps.length - 1];
  const who = state.rowId === null ? "The row" : `Row ${state.rowId}`;
  const n = steps.length - 1;
  say(`${who}: ${n} ${n === 1 ? "test leads" : "tests lead"} to leaf ${leaf.id}: ${isolated(clusterOf(leaf.cluster).name)}`);
  out.replaceChildren(rowHeading(who, leaf), ...changes(leaf), ...steps.slice(0, -1).map(stepPart), leafPart(leaf));
  oneStop(out);
}

function chip(cluster) {
  const { name, color, ink } = clusterOf(cluster);
  const made = html("span", { class: "chip" }, html("bdi", {}, name));
  made.style.background = color;
  made.style.color = ink;
  return made;
}

function rowHeading(who, leaf) {
  const heading = html("h2", { id: "traced" }, [`${who} `, chip(leaf.cluster)]);
  if (data.kind !== "image") return heading;
  const url = rowUrl(state.rowId === null ? `t${Array.from(state.row)}` : state.rowId, state.row);
  return html("div", { class: "pair" }, [heading, bigPicture(url, who)]);
}

// The nearest changes of one number or level that lead to another leaf, and to another cluster.
function changes(leaf) {
  const nearest = nearestChange(nodes(), state.row);
  if (!nearest) {
    const text = "No change of a single feature within its observed range leads to another leaf.";
    return [html("p", { id: "change" }, text)];
  }
  const found = [changeText(nearest, "change", "Nearest change: ")];
  if (nearest.leaf.cluster !== leaf.cluster) return found;
  const other = nearestChange(nodes(), state.row, (end) => end.cluster !== leaf.cluster);
  return other ? [...found, changeText(other, "other", "To another cluster: ")] : found;
}

function changeText({ node, feature, from, value, cost, leaf }, id, title) {
  const category = categoryOf.get(feature);
  const spread = node.spreads && !category ? ` (${number(cost, 2)} sd)` : "";
  const change = category
    ? [named(category.name), " from ", named(levelText(category)), " to ",
      named(category.levels[category.features.indexOf(feature)])]
    : [named(data.names[feature]), ` from ${number(from, 4)} to ${number(value, 12)}`];
  const end = `crosses the threshold of test ${node.id}, and the row ends in leaf ${leaf.id}: `;
  return html("p", {
    id, "data-feature": feature, "data-value": value, "data-leaf": leaf.id,
  }, [
    html("b", {}, title),
    ...change, `${spread} ${end}`, chip(leaf.cluster),
  ]);
}

// The level of the traced row in a categorical column.
function levelText(category) {
  const own = levelOf(category, state.row);
  return own < 0 ? "another level" : category.levels[own];
}

function stepPart({ node, sum, isLeft }) {
  const side = branch(isLeft);
  const verdict = node.test ? [...conditionOf(node, isLeft ? "left" : "right"), `: ${side}`]
    : [`sum ${number(sum, 5)} ${isLeft ? "≤" : ">"} ${number(node.threshold, 5)}: ${side}`];
  const link = button(`test ${node.id}`, () => goTo(node.id), "link");
  const heading = html("h3", {}, [link, " ", ...verdict]);
  const attributes = { class: "step", "data-step": node.id, "data-sum": String(sum) };
  return html("section", attributes, [heading, node.test ? oneValue(node) : waterfall(node, sum)]);
}

function oneValue(node) {
  const j = node.features[0];
  const category = categoryOf.get(j);
  const text = category ? [named(category.name), " is ", named(levelText(category))]
    : [named(data.names[j]), ` is ${number(state.row[j], 6)}`];
  return html("p", { class: "one" }, text);
}

function leafPart(leaf) {
  return html("section", { class: "step end" }, html("h3", {}, [
    button(`leaf ${leaf.id}`, () => goTo(leaf.id), "link"), " ", chip(leaf.cluster),
  ]));
}

// Each bar starts where the previous one ends. The last bar is the sum, the line the threshold.
function waterfall(node, sum) {
  const { top, nRest, rest } = termsOf(node, state.row, MOST_TERMS);
  const lines = top.map(({ feature, weight, value, term }) => ({
    name: data.names[feature], text: `${number(weight, 2)} × ${number(value, 3)}`, term,
  }));
  if (nRest) lines.push({ name: plural(nRest, "others"), text: number(rest, 3), term: rest });
  let total = 0;
  for (const one of lines) {
    one.from = total;
    total += one.term;
  }
  const ends = [0, sum, node.threshold, ...lines.map(({ from, term }) => from + term)];
  const [low, high] = [Math.min(...ends), Math.max(...ends)];
  const room = TRACE.width - TRACE.names - 12;
  const at = (x) => TRACE.names + 6 + (high > low ? ((x - low) / (high - low)) * room : 0);
  const height = (lines.length + 1) * TRACE.line + 20;
  const drawing = svg("svg", {
    viewBox: `0 0 ${TRACE.width} ${height}`, class: "waterfall", role: "img",
    "aria-label": lines.map(({ name, text, term }) => `${isolated(name)}: ${text} = ${number(term)}`).join("; ")
      + `; sum ${number(sum, 5)}, threshold ${number(node.threshold, 5)}`,
  });
  lines.forEach((one, i) => drawing.append(...termLine(one, i * TRACE.line, at)));
  const y = lines.length * TRACE.line;
  drawing.append(...termLine({ name: "sum", text: number(sum, 5), from: 0, term: sum }, y, at, "sum"));
  const x = at(node.threshold);
  const anchor = x > (TRACE.width + TRACE.names) / 2 ? "end" : "start";
  drawing.append(
    svg("line", { x1: at(0), x2: at(0), y1: 0, y2: height - 18, class: "axis" }),
    svg("line", { x1: x, x2: x, y1: 0, y2: height - 14, class: "threshold" }),
    textAt(x, height - 3, `threshold ${number(node.threshold, 4)}`, "tiny", anchor),
  );
  return drawing;
}

function termLine({ name, text, from, term }, y, at, kind = "") {
  const [a, b] = [at(from), at(from + term)];
  const bar = { x: Math.min(a, b), y: y + 3, width: Math.max(1, Math.abs(b - a)), height: 11 };
  const room = TRACE.names - 14 - widthOf(text, 11);
  return [
    textAt(2, y + 12, isolated(fitted(shortName(name), room, 11.5)), `name ${kind}`, "start"),
    textAt(TRACE.names - 4, y + 12, text, `tiny ${kind}`, "end"),
    svg("rect", { ...bar, class: kind ? "whole" : term > 0 ? "right" : "left", style: kind ? "" : `fill:${pushColor(term)}` }),
  ];
}

function setRow(row, id) {
  state.row = row;
  state.rowId = id;
  if (row) for (const { node } of route(nodes(), row)) if (!node.isLeaf) state.open.add(node.id);
  draw(state.root);
  showTrace();
  if (row) showTab("row");
  else say("");
}
