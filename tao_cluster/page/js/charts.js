// The values that a test compares, over a sample of the rows of its node, in the colours of clusters.

const CHART = { width: 350, height: 158, top: 20, bottom: 34, side: 10 };
const SCATTER = { width: 350, height: 260, top: 20, bottom: 36, left: 48, right: 10 };
const LEVELS = { line: 18, names: 130, most: 12 };
const N_BINS = 24;
const NARROW_RANGE = 60; // integers with at most this range get bins of integer width

function distribution(node) {
  const sample = unpacked(node);
  const [drawer, title] = {
    levels: [levelBars, () => ["Rows by level of ", named(categoryOf.get(node.features[0]).name)]],
    scatter: [scatter, () => ["Rows in the two columns"]],
    histogram: [histogram, () => (node.features.length > 1 ? ["Histogram of the sum"]
      : ["Histogram of ", named(data.names[node.features[0]])])],
  }[node.sample.kind];
  const n = sample.clusters.length;
  const drawing = drawer(node, sample);
  const count = plural(node.sample.n, "rows");
  const text = n < node.sample.n ? `A sample of ${n} of ${count}.` : `All ${count} of the node.`;
  const hint = `${text} Colours are clusters; grey: ${branch(true)}.`;
  drawing.setAttribute("role", "img");
  drawing.setAttribute("aria-label", `${text} ${sample.nLeft} to the ${branch(true)}, ${n - sample.nLeft} to the ${branch(false)}.`);
  return section(title(), drawing, html("p", { class: "hint" }, hint));
}

function unpacked({ sample }) {
  return {
    clusters: shortsOf(sample.clusters),
    nLeft: sample.n_left,
    axes: sample.axes.map((axis) => floatsOf(axis.values).map((offset) => axis.low + offset)),
  };
}

const drawingOf = ({ width, height }) => svg("svg", { viewBox: `0 0 ${width} ${height}`, class: "chart" });

// A bar of the rows of each cluster on top of, or beside, each other.
function stack(counts, rectOf) {
  let from = 0;
  return [...counts].sort((a, b) => a[0] - b[0]).map(([cluster, count]) => {
    const box = rectOf(from, from + count);
    from += count;
    return svg("rect", { ...box, class: "part", style: `fill:${clusterOf(cluster).color}` });
  });
}

function addTo(counts, cluster) {
  counts.set(cluster, (counts.get(cluster) || 0) + 1);
}

// About n round numbers between two numbers.
function roundNumbers(low, high, n) {
  const rough = (high - low) / n;
  const unit = 10 ** Math.floor(Math.log10(rough));
  const step = unit * [1, 2, 5, 10].find((factor) => factor * unit >= rough);
  const found = [];
  for (let k = Math.ceil(low / step); k * step <= high && found.length <= 2 * n; k += 1) found.push(k * step);
  return found.map((x) => Number(x.toPrecision(12)));
}

// ---------------------------------------------------------------- histograms

// Bins of which the threshold is an edge. Every row is in a bin on its own side.
function binsOf(values, threshold, nLeft, isLeftLower) {
  const low = Math.min(threshold, ...values);
  const high = Math.max(threshold, ...values);
  let step = (high - low) / N_BINS || Math.abs(threshold) || 1;
  if (high - low <= NARROW_RANGE && values.every(Number.isInteger)) step = Math.max(1, Math.ceil(step));
  const binsIn = (range) => Math.max(1, Math.ceil(range / step - 1e-9));
  const [nLower, nUpper] = [binsIn(threshold - low), binsIn(high - threshold)];
  const places = Array.from(values, (value, i) => {
    const at = (value - threshold) / step;
    const place = nLower + (isLeftLower ? Math.ceil(at) - 1 : Math.floor(at));
    const isLower = i < nLeft === isLeftLower;
    return isLower ? Math.max(0, Math.min(place, nLower - 1))
      : Math.min(nLower + nUpper - 1, Math.max(place, nLower));
  });
  return { places, start: threshold - step * nLower, step, n: nLower + nUpper };
}

function histogram(node, { axes: [values], clusters, nLeft }) {
  const isSum = node.features.length > 1;
  const threshold = isSum ? node.threshold : node.threshold / node.weights[0];
  const isLeftLower = isSum || node.weights[0] > 0;
  const { places, start, step, n } = binsOf(values, threshold, nLeft, isLeftLower);
  const bins = Array.from({ length: n }, () => new Map());
  places.forEach((place, i) => addTo(bins[place], clusters[i]));
  const most = Math.max(...bins.map((bin) => [...bin.values()].reduce((a, b) => a + b, 0)));

  const { width, height, top, bottom, side } = CHART;
  const floor = height - bottom;
  const at = (x) => side + ((x - start) / (step * n)) * (width - 2 * side);
  const up = (count) => floor - (count / most) * (floor - top);
  const own = drawingOf(CHART);
  const middle = at(threshold);
  own.append(shade(isLeftLower ? side : middle, top, isLeftLower ? middle : width - side, floor));
  bins.forEach((bin, k) => {
    const [a, b] = [at(start + k * step), at(start + (k + 1) * step)];
    own.append(...stack(bin, (from, to) => ({ x: a, width: b - a, y: up(to), height: up(from) - up(to) })));
  });
  own.append(
    svg("line", { x1: side, x2: width - side, y1: floor, y2: floor, class: "axis" }),
    svg("line", { x1: middle, x2: middle, y1: top - 4, y2: floor + 5, class: "cut" }),
    ...sidesAt(middle, isLeftLower),
  );
  const limit = isSum ? minus(node.limit) : node.test.lines[1].replace(/^\S+ /, "");
  own.append(...histogramAxis(node.sample.axes[0].ends, start, start + n * step, at, middle, limit));
  return own;
}

const shade = (x0, y0, x1, y1) =>
  svg("rect", { x: x0, y: y0, width: Math.max(0, x1 - x0), height: y1 - y0, class: "side" });

// The names of the branches on both sides of a threshold, where there is space.
function sidesAt(middle, isLeftLower) {
  const words = [branch(isLeftLower), branch(!isLeftLower)];
  const [low, high] = words.map((word) => widthOf(word, 11) + 24);
  const made = [];
  if (middle > low) made.push(textAt(middle - 8, 12, `← ${words[0]}`, "small", "end"));
  if (middle < CHART.width - high) made.push(textAt(middle + 8, 12, `${words[1]} →`, "small", "start"));
  return made;
}

// The threshold in bold, and round numbers, or two dates, where they leave space for it.
function histogramAxis(ends, low, high, at, middle, limit) {
  const y = CHART.height - CHART.bottom + 17;
  const half = widthOf(limit, 12, "600") / 2;
  const x = Math.max(half + 2, Math.min(CHART.width - half - 2, middle));
  const made = [textAt(x, y, limit, "sum")];
  const ticks = ends ? [[CHART.side, ends[0], "start"], [CHART.width - CHART.side, ends[1], "end"]]
    : roundNumbers(low, high, 5).map((value) => [at(value), number(value, 6), "middle"]);
  for (const [place, text, anchor] of ticks) {
    const wide = widthOf(text, 10.5);
    const left = place - { start: 0, middle: wide / 2, end: wide }[anchor];
    const isFree = left + wide < x - half - 6 || left > x + half + 6;
    if (isFree && left >= 0 && left + wide <= CHART.width) made.push(textAt(place, y, text, "tiny", anchor));
    if (anchor === "middle") made.push(svg("line", { x1: place, x2: place, y1: y - 17, y2: y - 13, class: "axis" }));
  }
  return made;
}

// ---------------------------------------------------------------- two columns

function scatter(node, { axes, clusters }) {
  const { width, height, top, bottom, left, right } = SCATTER;
  const ranges = axes.map((values) => {
    const [low, high] = [Math.min(...values), Math.max(...values)];
    const space = 0.05 * (high - low) || Math.abs(low) * 0.1 || 1;
    return [low - space, high + space];
  });
  const [[x0, x1], [y0, y1]] = ranges;
  const across = (x) => left + ((x - x0) / (x1 - x0)) * (width - left - right);
  const up = (y) => height - bottom - ((y - y0) / (y1 - y0)) * (height - bottom - top);
  const own = drawingOf(SCATTER);
  const { polygon, line: cut } = leftPart([[x0, y0], [x1, y0], [x1, y1], [x0, y1]], node);
  const onPaper = (points) => points.map(([x, y]) => `${across(x)},${up(y)}`).join(" ");
  if (polygon.length > 2) own.append(svg("polygon", { points: onPaper(polygon), class: "side" }));
  own.append(
    svg("rect", { x: left, y: top, width: width - left - right, height: height - top - bottom, class: "frame" }),
    ...scatterAxes(node, ranges, across, up),
  );
  const order = [...clusters.keys()].sort((a, b) => ((a * 7919) % 1009) - ((b * 7919) % 1009)); // mixed
  for (const i of order) {
    own.append(svg("circle", {
      cx: across(axes[0][i]), cy: up(axes[1][i]), r: 3, class: "part",
      style: `fill:${clusterOf(clusters[i]).color}`,
    }));
  }
  if (cut.length === 2) {
    own.append(svg("polyline", { points: onPaper(cut), class: "cut" }));
    const centre = [0, 1].map((k) => polygon.reduce((sum, point) => sum + point[k], 0) / polygon.length);
    own.append(textAt(left + 2, 12, across(centre[0]) < width / 2 ? "← left of the line" : "left of the line →", "small", "start"));
  }
  return own;
}

// The part of a polygon whose points go left at a test of two features, and the line that ends it.
function leftPart(corners, { features, weights, threshold }) {
  const over = ([x, y]) => weights[0] * x + weights[1] * y - threshold;
  const [polygon, line] = [[], []];
  corners.forEach((a, i) => {
    const b = corners[(i + 1) % corners.length];
    const [da, db] = [over(a), over(b)];
    if (da <= 0) polygon.push(a);
    if (da <= 0 === db <= 0 || features.length !== 2) return;
    const t = da / (da - db);
    const point = [a[0] + t * (b[0] - a[0]), a[1] + t * (b[1] - a[1])];
    polygon.push(point);
    line.push(point);
  });
  return { polygon, line };
}

function scatterAxes(node, [xs, ys], across, up) {
  const { width, height, top, bottom, left, right } = SCATTER;
  const floor = height - bottom;
  const made = [];
  const [xEnds, yEnds] = node.sample.axes.map((axis) => axis.ends);
  const ticksOf = (ends, [low, high], n) => (ends ? [[low, ends[0]], [high, ends[1]]]
    : roundNumbers(low, high, n).map((value) => [value, number(value, 6)]));
  ticksOf(xEnds, xs, 4).forEach(([value, text], i) => {
    const anchor = xEnds ? ["start", "end"][i] : "middle";
    made.push(textAt(across(value), floor + 14, text, "tiny", anchor));
  });
  for (const [value, text] of ticksOf(yEnds, ys, 4)) {
    made.push(numbersAt(left - 4, up(value) + 4, text, "tiny", left - 6, 10.5, "end"));
  }
  const [xName, yName] = node.features.map((j) => shortName(data.names[j]));
  const middle = (top + floor) / 2;
  const vertical = textAt(0, 0, isolated(fitted(yName, floor - top, 11)), "name");
  vertical.setAttribute("transform", `translate(10,${middle}) rotate(-90)`);
  made.push(
    textAt((left + width - right) / 2, height - 6, isolated(fitted(xName, width - left, 11)), "name"), vertical,
  );
  return made;
}

// ---------------------------------------------------------------- levels

function levelBars(node, { axes: [codes], clusters }) {
  const category = categoryOf.get(node.features[0]);
  const goesLeft = new Set(node.sample.left);
  const bars = new Map();
  codes.forEach((code, i) => {
    if (!bars.has(code)) bars.set(code, { code, n: 0, counts: new Map() });
    bars.get(code).n += 1;
    addTo(bars.get(code).counts, clusters[i]);
  });
  const nameOf = ({ code }) => (code < 0 ? "other levels" : category.levels[code]);
  const sides = ["left", "right"].map((side) => ({
    side,
    lines: gathered([...bars.values()].filter(({ code }) => goesLeft.has(code) === (side === "left"))
      .sort((a, b) => b.n - a.n).map((bar) => ({ ...bar, name: nameOf(bar) }))),
  }));
  const height = LEVELS.line * sides.reduce((sum, { lines }) => sum + lines.length + 1, 0) + 4;
  const own = drawingOf({ width: CHART.width, height });
  const most = Math.max(...sides.flatMap(({ lines }) => lines.map(({ n }) => n)));
  const across = (n) => LEVELS.names + (n / most) * (CHART.width - LEVELS.names - 40);
  let y = 0;
  for (const { side, lines } of sides) {
    const end = y + LEVELS.line * (lines.length + 1);
    if (side === "left") own.append(shade(0, y, CHART.width, end));
    own.append(textAt(4, y + 13, branch(side === "left"), "small", "start"));
    y += LEVELS.line;
    for (const { name, n, counts } of lines) {
      own.append(
        textAt(LEVELS.names - 6, y + 13, isolated(fitted(name, LEVELS.names - 16, 11)), "name", "end"),
        ...stack(counts, (from, to) => ({ x: across(from), width: across(to) - across(from), y: y + 3, height: 12 })),
        textAt(across(n) + 5, y + 13, String(n), "tiny", "start"),
      );
      y += LEVELS.line;
    }
  }
  return own;
}

// The first bars, and one bar of all others if there are too many.
function gathered(bars) {
  if (bars.length <= LEVELS.most) return bars;
  const rest = { name: `${bars.length - LEVELS.most + 1} more levels`, n: 0, counts: new Map() };
  for (const { n, counts } of bars.slice(LEVELS.most - 1)) {
    rest.n += n;
    for (const [cluster, count] of counts) rest.counts.set(cluster, (rest.counts.get(cluster) || 0) + count);
  }
  return [...bars.slice(0, LEVELS.most - 1), rest];
}
