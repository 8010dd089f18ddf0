// The content of nodes: images, words or bars, the clusters below a test, the classes in a leaf.

const WIDTH = { image: 122, words: 164, bars: 194 }[data.kind];
const SIDE = 92; // side of an image
const LINE = 15;
const MOST_LINES = { words: 5, bars: 5 }[data.kind];
const MOST_CLASSES = 3;
const CHIP = 20; // height of the coloured name of a leaf, of one line
const CHIP_LINE = 14; // height of its second line
const STRIP = 7;
const DIFFERENCE = 23; // height of a feature of a leaf with its bar
const CONDITION = 13; // size of the text of a written test

// ---------------------------------------------------------------- pictures

const urls = new Map();

// Pixels as an image URL; equal images are made once. The file is written byte by byte, since
// browsers that resist fingerprinting change what a canvas returns.
function imageUrl(key, colorOf) {
  if (!urls.has(key)) urls.set(key, bitmapUrl(...data.image_shape, colorOf));
  return urls.get(key);
}

// A bitmap file (BMP) with 24 bits per pixel: blue, green, red, from the last line to the first.
function bitmapUrl(height, width, colorOf) {
  const start = 54;
  const line = 4 * Math.ceil((3 * width) / 4); // lines are padded to whole words
  const bytes = new Uint8Array(start + line * height);
  const view = new DataView(bytes.buffer);
  bytes.set([66, 77]); // "BM"
  for (const [at, value] of [[2, bytes.length], [10, start], [14, 40], [18, width], [22, height]]) {
    view.setUint32(at, value, true);
  }
  view.setUint16(26, 1, true); // planes
  view.setUint16(28, 24, true); // bits per pixel
  for (let j = 0; j < width * height; j += 1) {
    const row = height - 1 - Math.floor(j / width);
    bytes.set([...colorOf(j)].reverse(), start + row * line + 3 * (j % width));
  }
  let text = "";
  for (const byte of bytes) text += String.fromCharCode(byte);
  return `data:image/bmp;base64,${btoa(text)}`;
}

const limitOf = (node) => Math.max(...node.weights.map((_, i) => Math.abs(shown(node, i))), 1e-300);

const PALE = 0.4; // darkness of the largest value of a mean below weights, 1 for black
const SOLID = [0.55, 0.45]; // opacity of a weight w over a mean: 0.55 + 0.45 |w| / max |w|

// The weights of a test over the pale mean of its rows.
function weightsUrl(node) {
  const limit = limitOf(node);
  const at = new Map(node.features.map((j, i) => [j, shown(node, i) / limit]));
  const means = meanOf(node);
  return imageUrl(`w${state.model}/${node.id}`, (j) => {
    const below = means ? 255 - PALE * means[j] : 255;
    const t = at.get(j) || 0;
    const opacity = t ? SOLID[0] + SOLID[1] * Math.abs(t) : 0;
    return signedColor(t).map((value) => Math.round(below + opacity * (value - below)));
  });
}

// The mean of the rows of a node, from 0 to 255; null without rows. That of a test is the weighted
// mean of its children.
const meansOf = new Map();
function meanOf(node) {
  const key = `${state.model}/${node.id}`;
  if (!meansOf.has(key)) meansOf.set(key, node.isLeaf ? leafMean(node) : testMean(node));
  return meansOf.get(key);
}

const leafMean = (leaf) => (leaf.top ? Float64Array.from(bytesOf(leaf.top.image)) : null);

function testMean(node) {
  const parts = node.children.map((id) => [nodeOf(id).count, meanOf(nodeOf(id))])
    .filter(([count, means]) => count > 0 && means);
  if (!parts.length) return null;
  const total = parts.reduce((sum, [count]) => sum + count, 0);
  return parts[0][1].map((_, j) =>
    parts.reduce((sum, [count, means]) => sum + (count / total) * means[j], 0));
}

function meanUrl(node) {
  const means = meanOf(node);
  return imageUrl(`m${state.model}/${node.id}`, (j) => Array(3).fill(255 - Math.round(means[j])));
}

function rowUrl(key, row) {
  const [low, high] = data.limits || [Math.min(...row), Math.max(...row)];
  const scale = high > low ? 255 / (high - low) : 0;
  return imageUrl(`r${key}`, (j) => Array(3).fill(255 - Math.round((row[j] - low) * scale)));
}

// Draws a picture into a square whose top centre is (x, y), and returns its box.
function drawPicture(group, url, y, side = SIDE, x = 0) {
  const [height, width] = data.image_shape;
  const scale = side / Math.max(height, width);
  const size = { width: width * scale, height: height * scale };
  const box = { x: x - size.width / 2, y: y + (side - size.height) / 2, ...size };
  group.append(svg("image", { ...box, href: url, class: "pixels", preserveAspectRatio: "none" }));
  group.append(svg("rect", { ...box, class: "frame" }));
  return box;
}

// ---------------------------------------------------------------- words and bars

const textAt = (x, y, content, kind, anchor = "middle") =>
  svg("text", { x, y, class: kind, "text-anchor": anchor }, content);

// A text with numbers, which is made smaller where it is too wide, and never cut.
function numbersAt(x, y, content, kind, room, size, anchor = "middle", weight = "") {
  const text = textAt(x, y, content, kind, anchor);
  const width = widthOf(content, size, weight);
  if (width > room) text.style.fontSize = `${(size * room) / width}px`;
  return text;
}

// A name in one or two lines, beside the middle of a bar.
function nameAt(x, middle, j, kind, room, size) {
  const lines = nameLines(shortName(data.names[j]), room, size);
  return svg("g", {}, [
    svg("title", {}, isolated(data.names[j])),
    ...lines.map((line, i) => textAt(
      x, middle + 4 + (i - (lines.length - 1) / 2) * (size + 1), isolated(line), kind, "start",
    )),
  ]);
}

// The height of a bar with its name: two lines of text if a name in the tree needs them.
const HALF = 38; // length of the longest bar
const NAME_ROOM = WIDTH - 2 * HALF - 22;
let barHeight = null;
function barLine() {
  if (barHeight === null) {
    const drawn = data.models.flatMap((one) => one.nodes).flatMap((node) =>
      (node.features || []).slice(0, MOST_LINES));
    const isLong = (j) => widthOf(shortName(data.names[j]), 11) > NAME_ROOM;
    barHeight = data.kind === "bars" && [...new Set(drawn)].some(isLong) ? 27 : LINE;
  }
  return barHeight;
}

// Words in sizes that follow their values, in the given order.
function drawWords(group, y, features, values, kindOf) {
  const most = Math.max(...values.map(Math.abs), 1e-300);
  features.forEach((j, i) => {
    const size = 10.5 + (3.5 * Math.abs(values[i])) / most;
    const text = fitted(shortName(data.names[j]), WIDTH - 14, size);
    const line = textAt(0, y + LINE * (i + 0.8), isolated(text), kindOf(i));
    line.style.fontSize = `${size}px`;
    group.append(line);
  });
}

// The name of a feature in a leaf; that of a category has its level.
const topName = (node, i) => (node.top.names && node.top.names[i]) || data.names[node.top.of[i]];

// A feature of a leaf: its name, both means in its units, and below them a bar for their distance.
function drawDifference(group, y, name, text, share, color) {
  const half = WIDTH / 2 - 8;
  const bar = { y: y + 15, width: Math.max(1, half * Math.abs(share)), height: 5 };
  const free = 2 * half - Math.min(half * 1.3, widthOf(text, 10.5)) - 6;
  group.append(
    textAt(-half, y + 11, isolated(fitted(shortName(name), free, 11)), "name", "start"),
    numbersAt(half, y + 11, text, "tiny", half * 1.3, 10.5, "end"),
    svg("rect", { ...bar, x: share > 0 ? 0 : -bar.width, class: "part", style: `fill:${color}` }),
    svg("line", { x1: 0, x2: 0, y1: y + 13, y2: y + 22, class: "axis" }),
  );
}

// Names on the left, and bars from a zero line with their numbers on the other side of it.
function drawBars(group, y, features, values, texts, colorOf) {
  const zero = WIDTH / 2 - HALF - 7;
  const most = Math.max(...values.map(Math.abs), 1e-300);
  features.forEach((j, i) => {
    const middle = y + barLine() * (i + 0.5);
    const ends = { x1: zero, x2: zero, y1: middle - barLine() / 2, y2: middle + barLine() / 2 };
    const width = Math.max(0.5, (HALF * Math.abs(values[i])) / most);
    const isRight = values[i] > 0;
    const bar = { x: isRight ? zero : zero - width, y: middle - 5, width, height: 10 };
    group.append(
      nameAt(8 - WIDTH / 2, middle, j, "name", NAME_ROOM, 11),
      svg("rect", { ...bar, class: "part", style: `fill:${colorOf(i)}` }),
      numbersAt(zero + (isRight ? -3 : 3), middle + 4, texts[i], "tiny", HALF, 10.5, isRight ? "end" : "start"),
      svg("line", { ...ends, class: "axis" }),
    );
  });
}

// ---------------------------------------------------------------- tests

const pushColor = (value) => (value > 0 ? "var(--red)" : "var(--blue)");

function mostTerms() {
  return Math.max(1, ...nodes().map((node) => (node.isLeaf || node.test ? 0 : node.features.length)));
}

// The lines of a written test: the name of its column, and the rest; a long set of levels is wrapped.
function conditionLines(node, room = WIDTH - 12, size = CONDITION) {
  const [name, rest] = node.test.lines;
  const names = nameLines(shortName(name), room, size, "600").map(isolated);
  const lines = [...names, ...wrapped(rest, room, size)];
  return lines.length <= MOST_LINES ? lines
    : [...lines.slice(0, MOST_LINES - 1), lines.slice(MOST_LINES - 1).join(" ")];
}

// A height that all nodes of a model share, which is computed once.
const heights = new Map();
function once(name, compute) {
  const key = `${state.model}/${name}`;
  if (!heights.has(key)) heights.set(key, compute());
  return heights.get(key);
}

// The number of lines of written tests and of words, and of weights as bars.
const testLines = () => once("lines", () => {
  const written = nodes().filter((node) => node.test).map((node) => conditionLines(node).length);
  return Math.max(2, ...written);
});
const termLines = () => Math.min(MOST_LINES, mostTerms());
const testContent = () => once("test", () => (data.kind === "image" ? SIDE
  : Math.max(testLines() * LINE, termLines() * barLine())));
const testHeight = () => testContent() + 42;

function drawTest(group, node) {
  const height = testHeight();
  const content = testContent();
  if (data.kind === "image") drawPicture(group, weightsUrl(node), 6);
  else if (node.test) drawCondition(group, node, 6 + content / 2);
  else drawTerms(group, node);
  group.append(numbersAt(0, height - 19, limitText(node), "small", WIDTH - 8, 11));
  drawStrip(group, height - 11, composition(node), (k) => clusterOf(k).color);
}

function drawTerms(group, node) {
  const count = Math.min(termLines(), node.features.length);
  let some = node.features.slice(0, count).map((_, i) => i);
  if (data.kind === "words") {
    some = [...some.filter((i) => node.weights[i] > 0), ...some.filter((i) => node.weights[i] <= 0)];
  }
  const features = some.map((i) => node.features[i]);
  const effects = some.map((i) => effect(node, i));
  if (data.kind === "words") {
    drawWords(group, 6, features, effects, (i) => (effects[i] > 0 ? "plus" : "minus"));
  } else {
    const texts = some.map((i) => number(shown(node, i), 2));
    drawBars(group, 6, features, effects, texts, (i) => pushColor(effects[i]));
  }
}

function drawCondition(group, node, middle) {
  const lines = conditionLines(node);
  const height = lines.length > 2 ? LINE : LINE + 2;
  lines.forEach((line, i) => {
    const y = middle - (LINE * lines.length) / 2 + 13 + height * i;
    // Sets of levels are cut, numbers are not.
    group.append(/^[<>≤≥] /.test(line) ? numbersAt(0, y, line, "one", WIDTH - 12, CONDITION)
      : textAt(0, y, fitted(line, WIDTH - 12, CONDITION, "600"), "one"));
  });
}

function moreOf(n) {
  const counted = data.kind === "words" ? "word" : "feature";
  return `${n} more ${counted}${n === 1 ? "" : "s"}`;
}

// The last line of a test: the threshold of its sum, and the number of features that are not drawn.
function limitText(node, drawn = termLines()) {
  if (node.test) return data.kind === "image" ? pixelText(node) : "";
  const n = node.features.length;
  const limit = `≤ ${minus(node.limit)}`;
  if (data.kind === "image") return `${limit} · ${n} px`;
  return `sum ${limit}${n > drawn ? ` · ${moreOf(n - drawn)}` : ""}`;
}

function pixelText(node, room = WIDTH - 14) {
  const [name, rest] = node.test.lines;
  return `${isolated(fitted(shortName(name), room - widthOf(rest, 11), 11))} ${rest}`;
}

// ---------------------------------------------------------------- leaves

function classesOf(node) {
  return (node.classes || []).map((share, c) => [c, share])
    .filter(([, share]) => share > 0).sort((a, b) => b[1] - a[1] || a[0] - b[0]);
}

const classLines = () => once("classes", () =>
  Math.max(0, ...nodes().map((node) => Math.min(MOST_CLASSES, classesOf(node).length))));

const leafContent = () => once("content", () => {
  if (!nodes().some((node) => node.top)) return 0;
  const most = Math.max(...nodes().map((node) => (node.top && node.top.of ? node.top.of.length : 0)));
  return data.kind === "image" ? SIDE : Math.min(MOST_LINES, most) * (data.kind === "bars" ? DIFFERENCE : LINE);
});

// The lines of the coloured name of a leaf; if one name is long, all leaves have space for two.
const chipLines = ({ name }) => nameLines(name, WIDTH - 20, 12, "600");

const chipHeight = () => once("chip", () =>
  CHIP + CHIP_LINE * (Math.max(...model().clusters.map((one) => chipLines(one).length)) - 1));

const leafHeight = () => once("leaf", () => {
  const leaf = nodes().find((node) => node.isLeaf);
  return leafContent() + (leafContent() ? 10 : 6) + chipHeight() + (leaf.count === null ? 6 : 22)
    + classLines() * 14 + (leaf.histogram ? STRIP + 5 : 0);
});

function drawLeaf(group, node) {
  const cluster = clusterOf(node.cluster);
  const { color, ink } = cluster;
  let y = 6;
  if (leafContent()) {
    if (node.top) drawMean(group, node, y, color);
    else if (node.count === 0) group.append(textAt(0, y + leafContent() / 2, "no rows", "small"));
    y += leafContent() + 4;
  }
  const chip = { x: 6 - WIDTH / 2, y, width: WIDTH - 12, height: chipHeight(), rx: 4 };
  group.append(svg("rect", { ...chip, class: "part", style: `fill:${color}` }));
  const lines = chipLines(cluster);
  y += chipHeight();
  lines.forEach((line, i) => {
    const up = chipHeight() / 2 + CHIP_LINE * ((lines.length - 1) / 2 - i);
    const label = textAt(0, y - up + 4.5, isolated(line), "chip");
    label.style.fill = ink;
    group.append(label);
  });
  if (node.count !== null) {
    const text = `${node.size} · ${percent(node.share)}`;
    group.append(numbersAt(0, y + 14, text, "small", WIDTH - 8, 11));
    y += 18;
  }
  y += drawClasses(group, node, y);
  if (node.histogram) {
    const parts = node.histogram.map((share, k) => [k, share]);
    drawStrip(group, y + 1, parts, (k) => clusterOf(k).color);
  }
}

function drawMean(group, node, y, color) {
  if (data.kind === "image") {
    drawPicture(group, meanUrl(node), y);
    return;
  }
  const features = node.top.of.slice(0, MOST_LINES);
  const values = node.top.values.slice(0, MOST_LINES);
  if (data.kind === "words") drawWords(group, y, features, values, () => "word");
  else {
    const most = Math.max(...values.map(Math.abs), 1e-300);
    features.forEach((_, i) => drawDifference(
      group, y + DIFFERENCE * i, topName(node, i), node.top.texts[i], values[i] / most, color,
    ));
  }
}

function drawClasses(group, node, y) {
  classesOf(node).slice(0, MOST_CLASSES).forEach(([c, share], i) => {
    const top = y + 14 * i + 2;
    const bar = { x: 6 - WIDTH / 2, y: top, width: (WIDTH - 12) * share, height: 12 };
    group.append(
      svg("rect", { ...bar, class: "share" }),
      textAt(9 - WIDTH / 2, top + 10, isolated(fitted(data.classes[c], WIDTH - 56, 10.5)), "name", "start"),
      textAt(WIDTH / 2 - 8, top + 10, `${Math.round(100 * share)} %`, "tiny", "end"),
    );
  });
  return classLines() * 14;
}

// Shares side by side, as a thin bar.
function drawStrip(group, y, parts, colorOf, height = STRIP, full = WIDTH - 12) {
  const total = parts.reduce((sum, [, share]) => sum + share, 0) || 1;
  let x = -full / 2;
  for (const [key, share] of parts) {
    const width = (full * share) / total;
    if (width > 0) {
      const box = { x, y, width, height, class: "part" };
      group.append(svg("rect", { ...box, style: `fill:${colorOf(key)}` }));
    }
    x += width;
  }
}
