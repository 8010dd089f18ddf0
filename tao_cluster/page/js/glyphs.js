// The content of nodes: images, words or bars, the clusters below a test, the classes in a leaf.

const WIDTH = { image: 122, words: 164, bars: 194 }[data.kind];
const SIDE = 92; // side of an image
const LINE = 15;
const MOST_LINES = { words: 5, bars: 5 }[data.kind];
const MOST_CLASSES = 3;
const CHIP = 20; // height of the coloured name of a leaf
const STRIP = 7;
const CONDITION = 13; // size of the text of a written test

// ---------------------------------------------------------------- pictures

const urls = new Map();

// Pixels as an image URL; equal images are made once.
function imageUrl(key, colorOf) {
  if (!urls.has(key)) {
    const [height, width] = data.image_shape;
    const canvas = html("canvas", { width, height });
    const context = canvas.getContext("2d");
    const image = context.createImageData(width, height);
    for (let j = 0; j < width * height; j += 1) image.data.set([...colorOf(j), 255], 4 * j);
    context.putImageData(image, 0, 0);
    urls.set(key, canvas.toDataURL());
  }
  return urls.get(key);
}

const limitOf = (node) => Math.max(...node.weights.map((_, i) => Math.abs(shown(node, i))), 1e-300);

function weightsUrl(node) {
  const limit = limitOf(node);
  const at = new Map(node.features.map((j, i) => [j, shown(node, i) / limit]));
  return imageUrl(`w${state.model}/${node.id}`, (j) => signedColor(at.get(j) || 0));
}

function meanUrl(node) {
  const bytes = bytesOf(node.top.image);
  return imageUrl(`m${state.model}/${node.id}`, (j) => Array(3).fill(255 - bytes[j]));
}

function rowUrl(key, row) {
  const [low, high] = data.limits || [Math.min(...row), Math.max(...row)];
  const scale = high > low ? 255 / (high - low) : 0;
  return imageUrl(`r${key}`, (j) => Array(3).fill(255 - Math.round((row[j] - low) * scale)));
}

function pictureBox(y) {
  const [height, width] = data.image_shape;
  const scale = SIDE / Math.max(height, width);
  const size = { width: width * scale, height: height * scale };
  return { x: -size.width / 2, y: y + (SIDE - size.height) / 2, ...size };
}

function drawPicture(group, url, y, color) {
  const box = pictureBox(y);
  group.append(svg("image", { ...box, href: url, class: "pixels", preserveAspectRatio: "none" }));
  group.append(svg("rect", { ...box, class: "frame", ...(color && { style: `stroke:${color}` }) }));
}

// ---------------------------------------------------------------- words and bars

const textAt = (x, y, content, kind, anchor = "middle") =>
  svg("text", { x, y, class: kind, "text-anchor": anchor }, content);

// Words in sizes that follow their values, in the given order.
function drawWords(group, y, features, values, kindOf) {
  const most = Math.max(...values.map(Math.abs), 1e-300);
  features.forEach((j, i) => {
    const size = 10.5 + (3.5 * Math.abs(values[i])) / most;
    const text = fitted(data.names[j], WIDTH - 14, size);
    const line = textAt(0, y + LINE * (i + 0.8), text, kindOf(i));
    line.style.fontSize = `${size}px`;
    group.append(line);
  });
}

// The name and the text of a category in a leaf, such as "84 % (overall 15 %)"; null for numbers.
const shareOf = (node, i) => (node.top.shares ? node.top.shares[i] : null);

// A category of a leaf: a pale bar for its share of the rows, and a mark for its share overall. The
// word "overall" is left out if the name would be cut otherwise.
function drawShare(group, y, { name, text, overall }, share, color) {
  const full = WIDTH - 12;
  const bar = { x: -full / 2, y: y + 1, width: full * share, height: LINE - 2 };
  const x = full * (overall - 0.5);
  const freeBeside = (shown) => full - 10 - widthOf(shown, 10.5);
  const label = widthOf(name, 11) <= freeBeside(text) ? text : text.replace("overall ", "");
  group.append(
    svg("rect", { ...bar, style: `fill:${color};opacity:0.35` }),
    svg("line", { x1: x, x2: x, y1: y + LINE - 5, y2: y + LINE - 1, class: "axis" }),
    textAt(8 - WIDTH / 2, y + LINE * 0.75, fitted(name, freeBeside(label), 11), "name", "start"),
    textAt(full / 2 - 2, y + LINE * 0.75, label, "tiny", "end"),
  );
}

// Names on the left, and bars from a zero line with their numbers on the other side of it.
// `lines` are their lines below y.
function drawBars(group, y, features, values, texts, colorOf, lines = [...features.keys()]) {
  const half = 38;
  const zero = WIDTH / 2 - half - 7;
  const most = Math.max(...values.map(Math.abs), 1e-300);
  features.forEach((j, i) => {
    const base = y + LINE * (lines[i] + 0.75);
    const ends = { x1: zero, x2: zero, y1: base - 11, y2: base + 4 };
    const name = fitted(data.names[j], WIDTH - 2 * half - 22, 11);
    const width = Math.max(0.5, (half * Math.abs(values[i])) / most);
    const isRight = values[i] > 0;
    const bar = { x: isRight ? zero : zero - width, y: base - 9, width, height: 10 };
    group.append(
      textAt(8 - WIDTH / 2, base, name, "name", "start"),
      svg("rect", { ...bar, style: `fill:${colorOf(i)}` }),
      textAt(zero + (isRight ? -3 : 3), base, texts[i], "tiny", isRight ? "end" : "start"),
      svg("line", { ...ends, class: "axis" }),
    );
  });
}

// ---------------------------------------------------------------- tests

const pushColor = (value) => (value > 0 ? data.colors.positive : data.colors.negative);

function mostTerms() {
  return Math.max(1, ...nodes().map((node) => (node.isLeaf || node.test ? 0 : node.features.length)));
}

// The lines of a written test: the name of its column, and the rest; a long set of levels is wrapped.
function conditionLines(node) {
  const [name, rest] = node.test.lines;
  const lines = [name, ...wrapped(rest, WIDTH - 12, CONDITION)];
  return lines.length <= MOST_LINES ? lines
    : [...lines.slice(0, MOST_LINES - 1), lines.slice(MOST_LINES - 1).join(" ")];
}

function testLines() {
  const written = nodes().filter((node) => node.test).map((node) => conditionLines(node).length);
  return Math.min(MOST_LINES, Math.max(2, mostTerms(), ...written));
}
const testHeight = () => (data.kind === "image" ? SIDE : testLines() * LINE) + 42;

function drawTest(group, node) {
  const height = testHeight();
  const content = height - 42;
  if (data.kind === "image") drawPicture(group, weightsUrl(node), 6);
  else if (node.test) drawCondition(group, node, 6 + content / 2);
  else drawTerms(group, node);
  group.append(textAt(0, height - 19, fitted(limitText(node), WIDTH - 8, 11), "small"));
  drawStrip(group, height - 11, composition(node), (k) => clusterOf(k).color);
}

function drawTerms(group, node) {
  const count = Math.min(testLines(), node.features.length);
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
    const text = fitted(line, WIDTH - 12, CONDITION, "600");
    group.append(textAt(0, middle - (LINE * lines.length) / 2 + 13 + height * i, text, "one"));
  });
}

// The last line of a test: the threshold of its sum, and the number of features.
function limitText(node) {
  if (node.test) return data.kind === "image" ? node.test.left : "";
  const n = node.features.length;
  const limit = `≤ ${minus(node.limit)}`;
  return data.kind === "image" ? `${limit} · ${n} px` : `sum ${limit} · ${plural(n, "features")}`;
}

// ---------------------------------------------------------------- leaves

function classesOf(node) {
  return (node.classes || []).map((share, c) => [c, share])
    .filter(([, share]) => share > 0).sort((a, b) => b[1] - a[1] || a[0] - b[0]);
}

const classLines = () =>
  Math.max(0, ...nodes().map((node) => Math.min(MOST_CLASSES, classesOf(node).length)));

function leafContent() {
  if (!nodes().some((node) => node.top)) return 0;
  const most = Math.max(...nodes().map((node) => (node.top && node.top.of ? node.top.of.length : 0)));
  return data.kind === "image" ? SIDE : Math.min(MOST_LINES, most) * LINE;
}

function leafHeight() {
  const leaf = nodes().find((node) => node.isLeaf);
  return leafContent() + (leafContent() ? 10 : 6) + CHIP + (leaf.count === null ? 6 : 22)
    + classLines() * 14 + (leaf.histogram ? STRIP + 5 : 0);
}

function drawLeaf(group, node) {
  const { color, ink, name } = clusterOf(node.cluster);
  let y = 6;
  if (leafContent()) {
    if (node.top) drawMean(group, node, y, color);
    else if (node.count === 0) group.append(textAt(0, y + leafContent() / 2, "no rows", "small"));
    y += leafContent() + 4;
  }
  const chip = { x: 6 - WIDTH / 2, y, width: WIDTH - 12, height: CHIP, rx: 4 };
  group.append(svg("rect", { ...chip, style: `fill:${color}` }));
  const label = textAt(0, y + 14.5, fitted(name, WIDTH - 20, 12, "600"), "chip");
  label.style.fill = ink;
  group.append(label);
  y += CHIP;
  if (node.count !== null) {
    const text = fitted(`${node.size} · ${percent(node.share)}`, WIDTH - 6, 11);
    group.append(textAt(0, y + 14, text, "small"));
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
    drawPicture(group, meanUrl(node), y, color);
    return;
  }
  const features = node.top.of.slice(0, MOST_LINES);
  const values = node.top.values.slice(0, MOST_LINES);
  if (data.kind === "words") drawWords(group, y, features, values, () => "word");
  else {
    const lines = [...features.keys()].filter((i) => !shareOf(node, i));
    const texts = lines.map((i) => signedNumber(Number(values[i].toFixed(1)), 2));
    const some = (all) => lines.map((i) => all[i]);
    drawBars(group, y, some(features), some(values), texts, () => color, lines);
    features.forEach((_, i) => {
      const share = shareOf(node, i);
      if (share) drawShare(group, y + LINE * i, share, node.top.means[i], color);
    });
  }
}

function drawClasses(group, node, y) {
  classesOf(node).slice(0, MOST_CLASSES).forEach(([c, share], i) => {
    const top = y + 14 * i + 2;
    const bar = { x: 6 - WIDTH / 2, y: top, width: (WIDTH - 12) * share, height: 12 };
    group.append(
      svg("rect", { ...bar, class: "share" }),
      textAt(9 - WIDTH / 2, top + 10, fitted(data.classes[c], WIDTH - 56, 10.5), "name", "start"),
      textAt(WIDTH / 2 - 8, top + 10, `${Math.round(100 * share)} %`, "tiny", "end"),
    );
  });
  return classLines() * 14;
}

// Shares side by side, as a thin bar.
function drawStrip(group, y, parts, colorOf) {
  const full = WIDTH - 12;
  const total = parts.reduce((sum, [, share]) => sum + share, 0) || 1;
  let x = -full / 2;
  for (const [key, share] of parts) {
    const width = (full * share) / total;
    if (width > 0) {
      const box = { x, y, width, height: STRIP, class: "part" };
      group.append(svg("rect", { ...box, style: `fill:${colorOf(key)}` }));
    }
    x += width;
  }
}
