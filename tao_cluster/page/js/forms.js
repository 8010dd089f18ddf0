// Forms of the drawing. An ordinary tree is drawn downwards. Where that is not legible as a whole,
// small nodes stand in columns, or below each other in an indented list as on a phone.

const LEGIBLE = 0.96; // scale from which the smallest text, of 10.5 pixels, is legible
const DOWN = { name: "down" };
const SMALLEST = { across: [data.kind === "image" ? 112 : 140, 34], list: [170, 24] }; // width, height
const LARGEST = { across: 240, list: 400 }; // width
const APART = { across: 8, list: 4 }; // between nodes below each other
const WIDER = 24; // by how much leaves in columns are wider than tests
const BESIDE = 28; // between columns, for edges and their signs
const INDENT = 30; // of a level in a list
const ROW = 15; // height of a line of text in a small node
let form = DOWN;

// The branches of a test, as the form draws them.
const branch = (isLeft) => (form === DOWN ? ["right", "left"] : ["lower branch", "upper branch"])[Number(isLeft)];
const upperCase = (text) => text[0].toUpperCase() + text.slice(1);

// The form {name, width, height, nLevels} in which the open nodes are legible on a sheet; null without any.
function formFor({ width, height }) {
  const order = visibleNodes();
  const down = layoutDown();
  if (Math.min(width / down.width, height / down.height) >= LEGIBLE) return DOWN;
  const nLevels = Math.max(...order.map(({ depth }) => depth)) - nodeOf(state.root).depth + 1;
  const nEnds = order.filter((node) => !childrenOf(node).length).length;
  const tallest = data.kind === "image" ? 76 : 8 + (1 + MOST_LINES) * ROW;
  const [wide, high] = [width - 2 * MARGIN, height - 2 * MARGIN];
  const boxes = {
    across: [(wide - WIDER + BESIDE) / nLevels - BESIDE, high / nEnds - APART.across],
    list: [wide - INDENT * (nLevels - 1) - 12, high / order.length - APART.list],
  };
  const name = Object.keys(boxes).find((one) => boxes[one].every((size, i) => size >= SMALLEST[one][i]));
  if (!name) return null;
  const [w, h] = boxes[name];
  return { name, width: Math.min(w, LARGEST[name]), height: Math.min(h, tallest), nLevels };
}

// Opens all nodes below the root, or else as many as a form can show.
function openLegibly() {
  const { width, height } = stageSize();
  const inList = ((height - 2 * MARGIN) / (SMALLEST.list[1] + APART.list) + 1) / 2; // ends of a list
  const least = Math.max(2, Math.floor(width / ((WIDTH + GAP) * READABLE)));
  openAll();
  let found = formFor({ width, height });
  for (let most = Math.floor(Math.max(least, inList)); !found && most >= least; most -= 1) {
    openSome(most);
    found = formFor({ width, height });
  }
  form = found || DOWN;
}

// Boxes of small nodes. In columns, a parent stands in the middle beside its children.
function layoutSmall({ name, width, height, nLevels }) {
  const order = visibleNodes();
  const inLine = name === "list" ? order : order.filter((node) => !childrenOf(node).length);
  const lines = new Map(inLine.map(({ id }, i) => [id, i]));
  for (const { id, children } of [...order].reverse()) {
    if (!lines.has(id)) lines.set(id, (lines.get(children[0]) + lines.get(children[1])) / 2);
  }
  const step = name === "list" ? INDENT : width + BESIDE;
  const boxes = new Map(order.map(({ id, depth, isLeaf }) => {
    const level = depth - nodeOf(state.root).depth;
    const left = MARGIN + level * step;
    const own = name === "list" ? Math.max(100, width + (nLevels - 1 - level) * INDENT) : width + (isLeaf ? WIDER : 0);
    return [id, { x: left + own / 2, y: MARGIN + lines.get(id) * (height + APART[name]), width: own, height }];
  }));
  const most = (end) => Math.max(...[...boxes.values()].map(end));
  const [right, bottom] = [most((box) => box.x + box.width / 2), most((box) => box.y + height)];
  return { order, boxes, width: right + MARGIN + (name === "list" ? 12 : 0), height: bottom + MARGIN };
}

// The edge of small nodes, and the place of its sign of a length: beside the parent, or below its left end.
function smallEdge(a, b, width, side, long) {
  const [left, y] = [b.x - b.width / 2, b.y + b.height / 2];
  if (form.name === "list") {
    const x = left - INDENT + 6;
    return { d: `M${x},${a.y + a.height} V${y} H${left}`, x: left - 3 - long / 2, y: y - 3 - width / 2 };
  }
  const [start, from] = [a.x + a.width / 2, a.y + a.height / 2];
  const bend = (start + left) / 2;
  return { d: `M${start},${from} C${bend},${from} ${bend},${y} ${left},${y}`, x: left - 3 - long / 2, y: y + (side ? 12 + width / 2 : -3 - width / 2) };
}

// ---------------------------------------------------------------- small nodes

function drawSmall(group, node) {
  const { width, height } = place.boxes.get(node.id);
  const bottom = node.isLeaf ? 0 : 5;
  const side = Math.min(height - 8 - bottom, 0.4 * width);
  let left = 7 - width / 2;
  if (data.kind === "image" && (!node.isLeaf || node.top)) {
    const box = drawPicture(group, node.isLeaf ? meanUrl(node) : weightsUrl(node), (height - bottom - side) / 2, side, left + side / 2);
    left += box.width + (side - box.width) / 2 + 7;
  }
  const room = width / 2 - left - (node.isLeaf ? 6 : 18);
  const n = Math.max(1, Math.floor((height - bottom - 5) / ROW));
  const lines = (node.isLeaf ? smallLeaf : smallTest)(node, room, n).slice(0, n);
  const top = (height - bottom - ROW * lines.length) / 2;
  lines.forEach(({ text, kind, numbers = "", isName, end }, i) => {
    const y = top + ROW * i + 11.5;
    if (isName) {
      const { color, ink } = clusterOf(node.cluster);
      const wide = end ? Math.min(room, widthOf(text, 12, "600") + 12) : room;
      group.append(svg("rect", { x: left, y: y - 12.5, width: wide, height: ROW + 1, rx: 4, class: "part", style: `fill:${color}` }));
      const label = textAt(left + 6, y, isolated(text), "chip", "start");
      label.style.fill = ink;
      group.append(label);
      if (end) group.append(textAt(left + room, y, end, "small", "end"));
    } else {
      const [size, weight] = kind === "sum" ? [12, "600"] : [11, ""];
      const name = text && isolated(fitted(text, Math.max(30, room - widthOf(` ${numbers}`, size, weight)), size, weight));
      group.append(numbersAt(left, y, [name, numbers].filter(Boolean).join(" "), kind, room, size, "start", weight));
    }
  });
  if (!node.isLeaf) drawStrip(group, height - 6, composition(node), (k) => clusterOf(k).color, 4, width - 12);
}

// The lines of a leaf: its name, its rows, its largest class, and what is typical of it.
function smallLeaf(node, room, n) {
  const share = node.count === null ? "" : percent(node.share);
  const { name } = clusterOf(node.cluster);
  const long = share && `${node.size} · ${share}`;
  const free = (text) => room - 12 - (text ? widthOf(text, 11) + 8 : 0);
  const end = n > 1 ? "" : widthOf(name, 12, "600") < free(long) ? long : share;
  const lines = [{ text: fitted(name, free(end), 12, "600"), isName: true, end }];
  if (share && n > 1) lines.push({ numbers: widthOf(long, 11) <= room ? long : share, kind: "small" });
  for (const [c, part] of classesOf(node).slice(0, 1)) {
    lines.push({ text: `${data.classes[c]}:`, numbers: `${Math.round(100 * part)} %`, kind: "name" });
  }
  if (data.kind !== "image" && node.top) {
    node.top.of.slice(0, MOST_LINES).forEach((_, i) => {
      lines.push({ text: shortName(topName(node, i)), numbers: (node.top.texts || [])[i], kind: "name" });
    });
  }
  return lines;
}

// The lines of a test: its condition, or the features of its sum and the threshold.
function smallTest(node, room, n) {
  const bold = (numbers, text = "") => ({ text, numbers, kind: "sum" });
  if (node.test) {
    const [name, rest] = node.test.lines;
    const lines = conditionLines(node, room, 12);
    return n > 1 && lines.length <= n ? lines.map((one) => (/^[<>≤≥] /.test(one) ? bold(one) : bold("", one)))
      : [/^[<>≤≥] /.test(rest) ? bold(rest, shortName(name)) : bold("", node.test.left)];
  }
  const limit = `≤ ${minus(node.limit)}`;
  if (data.kind === "image" && n === 1) return [bold(limitText(node))];
  if (data.kind === "image") return [bold(limit), { numbers: `${node.features.length} px`, kind: "small" }];
  const names = node.features.map((j) => shortName(data.names[j]));
  if (n === 1) return [bold(`sum ${limit}`, names.join(", "))];
  const kind = (i) => (effect(node, i) > 0 ? "name plus" : "name minus");
  const terms = names.slice(0, n - 1).map((text, i) => ({ text, numbers: signedNumber(shown(node, i)), kind: kind(i) }));
  return [...terms, bold(limitText(node, terms.length))];
}
