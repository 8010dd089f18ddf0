"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const byId = (id) => document.getElementById(id);
  const [WIDTH, HEIGHT, GAP, LEVEL] = [112, 74, 12, 128];
  const LINES = 3; // weights shown in a node
  const IN_TIP = 24; // weights with a bar in a tooltip; others follow as text
  const LEGIBLE = 0.45; // a tree that fits at this scale or above is made to fit
  const state = { model: 0, folded: new Set(), row: null };

  const number = (x, digits = 3) => Number(x.toPrecision(digits)).toString();
  const percent = (x) => `${(100 * x).toFixed(1)} %`;
  const color = (k) => `hsl(${(k * 137.508 + 205) % 360} 58% ${k % 2 ? 46 : 58}%)`;

  function element(name, attributes = {}, text = null, svg = true) {
    const made = svg
      ? document.createElementNS("http://www.w3.org/2000/svg", name)
      : document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    if (text !== null) made.textContent = text;
    return made;
  }
  const short = (text, most) => (text.length > most ? `${text.slice(0, most - 1)}…` : text);
  const html = (name, attributes, text) => element(name, attributes, text, false);

  const model = () => data.models[state.model];
  const nodeOf = (id) => model().nodes[id];
  const isFolded = (node) => state.folded.has(node.id) && !node.is_leaf;
  const below = (node) => (isFolded(node) ? [] : node.children);

  // Features are ranked by weight times spread, and shown with that only if asked for.
  const effect = (node, i) => node.weights[i] * (node.spreads ? node.spreads[i] : 1);
  const shown = (node, i) => (data.scaled ? effect(node, i) : node.weights[i]);

  // Leaves, folded tests among them, stand side by side; a parent stands over its children.
  function positions() {
    const place = new Map();
    let next = 0;
    const todo = [[0, 0, false]];
    while (todo.length) {
      const [id, depth, isDone] = todo.pop();
      const children = below(nodeOf(id));
      if (!children.length) place.set(id, [next++, depth]);
      else if (isDone) {
        const xs = children.map((child) => place.get(child)[0]);
        place.set(id, [(xs[0] + xs[1]) / 2, depth]);
      } else {
        todo.push([id, depth, true]);
        for (const child of [...children].reverse()) todo.push([child, depth + 1, false]);
      }
    }
    return place;
  }

  // The sum runs over features in increasing order, as the library adds it up.
  function sumAt(node, row) {
    const order = node.features.map((_, i) => i).sort((a, b) => node.features[a] - node.features[b]);
    return order.reduce((total, i) => total + node.weights[i] * (row[node.features[i]] || 0), 0);
  }

  function route(row) {
    const path = [];
    let id = 0;
    for (;;) {
      const node = nodeOf(id);
      if (node.is_leaf) return [...path, { id }];
      const sum = sumAt(node, row);
      path.push({ id, sum });
      id = node.children[sum <= node.threshold ? 0 : 1];
    }
  }

  function signed(t) { // -1 blue, 0 white, 1 red
    const [r, g, b] = t > 0 ? [178, 24, 43] : [33, 102, 172];
    const mix = (c) => Math.round(255 + (c - 255) * Math.sqrt(Math.abs(t)));
    return [mix(r), mix(g), mix(b), 255];
  }

  function picture(node) {
    const [height, width] = data.image_shape;
    const canvas = html("canvas", { width, height });
    const context = canvas.getContext("2d");
    const image = context.createImageData(width, height);
    image.data.fill(255);
    const most = Math.max(...node.weights.map((_, i) => Math.abs(shown(node, i))), 1e-300);
    node.features.forEach((j, i) => image.data.set(signed(shown(node, i) / most), 4 * j));
    context.putImageData(image, 0, 0);
    return canvas;
  }

  function drawTest(group, node) {
    if (data.image_shape) {
      const side = HEIGHT - 22;
      const [height, width] = data.image_shape;
      const scale = side / Math.max(height, width);
      const box = { x: (-width * scale) / 2, y: 4, width: width * scale, height: height * scale };
      const image = element("image", { ...box, href: picture(node).toDataURL() });
      image.style.imageRendering = "pixelated";
      group.append(image, element("rect", { ...box, fill: "none", stroke: "#c9ccd1" }));
    } else if (node.test) {
      node.test.lines.forEach((line, i) => {
        group.append(element("text", { y: 30 + 17 * i, class: "one" }, short(line, 15)));
      });
    } else {
      node.features.slice(0, LINES).forEach((j, i) => {
        const weight = shown(node, i);
        const name = short(data.names[j], 13);
        const text = weight === 1 ? name : `${number(weight, 2)} ${name}`;
        const sign = node.weights[i] > 0 ? "plus" : "minus";
        group.append(element("text", { y: 16 + 14 * i, class: sign }, text));
      });
    }
    const hidden = data.image_shape ? node.features.length : node.features.length - LINES;
    const rest = hidden > 0 ? ` · ${data.image_shape ? "" : "+"}${hidden}` : "";
    const line = node.test ? (data.image_shape ? node.test.left : "")
      : `≤ ${number(node.threshold)}${rest}`;
    group.append(element("text", { y: HEIGHT - 7, class: "small" }, line));
    if (isFolded(node)) {
      const label = `${leavesBelow(node)} leaves folded`;
      group.append(element("text", { y: HEIGHT + 13, class: "small fold" }, label));
    }
  }

  function leavesBelow(node) {
    if (node.is_leaf) return 1;
    return node.children.reduce((total, child) => total + leavesBelow(nodeOf(child)), 0);
  }

  function drawLeaf(group, node) {
    group.querySelector("rect").style.stroke = color(node.cluster);
    const bar = { x: 8 - WIDTH / 2, y: 8, width: WIDTH - 16, height: 9, rx: 3 };
    group.append(element("rect", { ...bar, fill: "#eef0f2" }));
    if (node.share !== null) {
      const width = Math.max(1, (WIDTH - 16) * node.share);
      group.append(element("rect", { ...bar, width, fill: color(node.cluster) }));
    }
    group.append(element("text", { y: 39, class: "big" }, short(node.name, 14)));
    if (node.share !== null) {
      const text = `${number(node.count, 6)} ${node.counted}, ${percent(node.share)}`;
      group.append(element("text", { y: 57, class: "small" }, text));
    }
  }

  function draw() {
    const place = positions();
    const path = state.row ? route(state.row) : [];
    const isOn = new Set(path.map((step) => step.id));
    const xs = [...place.values()].map(([x]) => x);
    const depth = Math.max(...[...place.values()].map(([, d]) => d));
    const size = [(Math.max(...xs) + 1) * (WIDTH + GAP) + GAP, depth * LEVEL + HEIGHT + 40];
    const svg = element("svg", {
      viewBox: `0 0 ${size[0]} ${size[1]}`, width: size[0], height: size[1], id: "tree",
      class: byId("fit").checked ? "fit" : "",
    });
    const at = (id) => {
      const [x, d] = place.get(id);
      return [GAP + x * (WIDTH + GAP) + WIDTH / 2, 16 + d * LEVEL];
    };
    const nodes = [...place.keys()].map(nodeOf);
    for (const node of nodes) {
      for (const child of below(node)) {
        const [[x0, y0], [x1, y1]] = [at(node.id), at(child)];
        const [top, middle] = [y0 + HEIGHT, (y0 + HEIGHT + y1) / 2];
        const share = nodeOf(child).share;
        svg.append(element("path", {
          class: isOn.has(node.id) && isOn.has(child) ? "edge on" : "edge",
          d: `M${x0},${top} C${x0},${middle} ${x1},${middle} ${x1},${y1}`,
          "stroke-width": 1 + 13 * (share === null ? 0.1 : share),
        }));
      }
    }
    for (const node of nodes) {
      const [x, y] = at(node.id);
      const kind = node.is_leaf ? "leaf" : "test";
      const group = element("g", {
        class: `node ${kind}${isOn.has(node.id) ? " on" : ""}`, transform: `translate(${x},${y})`,
        tabindex: 0, "data-node": node.id, role: node.is_leaf ? "img" : "button",
        "aria-label": describe(node),
      });
      group.append(element("rect", {
        class: "box", x: -WIDTH / 2, y: 0, width: WIDTH, height: HEIGHT, rx: 8,
      }));
      (node.is_leaf ? drawLeaf : drawTest)(group, node);
      const step = path.find((one) => one.id === node.id && "sum" in one);
      if (step) group.append(element("text", { y: -5, class: "small" }, traced(node, step.sum)));
      listen(group, node);
      svg.append(group);
    }
    byId("stage").replaceChildren(svg);
    byId("tip").hidden = true;
    summarise(path);
  }

  // The sum of one feature is its value, with its sign turned where the weight is -1.
  function traced(node, sum) {
    return node.test ? `value ${number(sum / node.weights[0], 6)}` : `sum ${number(sum, 4)}`;
  }

  function describe(node) {
    if (node.is_leaf) return `leaf ${node.id}, ${node.name}`;
    return `test ${node.id} of ${node.features.length} features, ${isFolded(node) ? "folded" : "open"}`;
  }

  function listen(group, node) {
    const toggle = () => {
      if (node.is_leaf) return;
      if (!state.folded.delete(node.id)) state.folded.add(node.id);
      draw();
      byId("stage").querySelector(`[data-node="${node.id}"]`).focus({ preventScroll: true });
      byId("tip").hidden = true;
    };
    group.addEventListener("click", toggle);
    group.addEventListener("keydown", (event) => {
      if (event.key === "Enter" || event.key === " ") { event.preventDefault(); toggle(); }
      if (event.key === "Escape") byId("tip").hidden = true;
    });
    const show = () => showTip(group, node);
    group.addEventListener("mouseenter", show);
    group.addEventListener("focus", show);
    for (const name of ["mouseleave", "blur"]) {
      group.addEventListener(name, () => { byId("tip").hidden = true; });
    }
  }

  function showTip(group, node) {
    const tip = byId("tip");
    const heading = node.is_leaf ? `leaf ${node.id}: ${node.name}` : `test ${node.id}`;
    tip.replaceChildren(html("h2", {}, heading));
    if (node.count !== null) {
      tip.append(html("div", {}, `${number(node.count, 6)} ${node.counted}, ${percent(node.share)} of all`));
    }
    if (node.is_leaf) tip.append(histogram(node));
    else {
      if (data.image_shape) tip.append(picture(node));
      if (!node.test) tip.append(weights(node));
      const rule = `left where the sum is at most ${number(node.threshold, 6)}`;
      tip.append(html("div", {}, node.test
        ? `left where ${node.test.left}, right where ${node.test.right}` : rule));
    }
    tip.hidden = false;
    const [box, own] = [group.getBoundingClientRect(), tip.getBoundingClientRect()];
    const right = box.right + 10 + own.width < innerWidth;
    tip.style.left = `${Math.max(4, right ? box.right + 10 : box.left - 10 - own.width)}px`;
    tip.style.top = `${Math.max(4, Math.min(box.top, innerHeight - own.height - 6))}px`;
  }

  function weights(node) {
    const table = html("table");
    const most = Math.max(...node.weights.map((_, i) => Math.abs(effect(node, i))), 1e-300);
    node.features.slice(0, IN_TIP).forEach((j, i) => {
      const line = html("tr");
      const mark = html("span", { class: "mark" });
      mark.style.width = `${Math.max(1, (70 * Math.abs(effect(node, i))) / most)}px`;
      mark.style.background = node.weights[i] > 0 ? "var(--red)" : "var(--blue)";
      const cell = html("td");
      cell.append(mark);
      line.append(html("td", { class: "name" }, data.names[j]));
      line.append(html("td", { class: "number" }, number(shown(node, i), 4)), cell);
      table.append(line);
    });
    if (node.features.length > IN_TIP) {
      const line = html("tr");
      const rest = node.features.slice(IN_TIP).map(
        (j, i) => `${data.names[j]} ${number(shown(node, IN_TIP + i), 2)}`,
      );
      const text = `and ${rest.length} smaller: ${rest.join(", ")}`;
      line.append(html("td", { colspan: 3, class: "rest" }, text));
      table.append(line);
    }
    return table;
  }

  function histogram(node) {
    const table = html("table");
    (node.histogram || []).forEach((share, k) => {
      if (share <= 0) return;
      const line = html("tr");
      line.append(html("td", {}, model().clusters[k]), html("td", { class: "number" }, percent(share)));
      table.append(line);
    });
    return table;
  }

  function summarise(path) {
    const { summary } = model();
    const parts = [
      `${summary.n_leaves} leaves`, `depth ${summary.depth}`, `${summary.n_parameters} parameters`,
      `${number(summary.features_per_split)} features a test`,
    ];
    if (summary.cost_increase !== null && summary.cost_increase !== undefined) {
      const percentage = `${summary.cost_increase.toFixed(2)} %`;
      parts.push(summary.explains_labels ? `${percentage} of the rows have another label`
        : `cost ${percentage} over the free clustering`);
    }
    byId("summary").textContent = parts.join(" · ");
    const lambda = summary.lambda;
    byId("which").textContent = lambda === null || lambda === undefined
      ? `${state.model + 1} of ${data.models.length}` : `λ = ${number(lambda)}`;
    if (path.length) {
      const leaf = nodeOf(path[path.length - 1].id);
      say(`${path.length - 1} tests lead to leaf ${leaf.id}: ${leaf.name}`);
    }
  }

  function say(text, isFault = false) {
    byId("message").textContent = text;
    byId("message").className = isFault ? "fault" : "";
  }

  function trace() {
    const cells = byId("values").value.split(/[,;\s]+/).filter((cell) => cell !== "");
    const row = cells.map(Number);
    if (row.length !== data.names.length) {
      say(`${row.length} values for ${data.names.length} features.`, true);
    } else if (!row.every(Number.isFinite)) {
      say(`“${cells[row.findIndex((x) => !Number.isFinite(x))]}” is not a number.`, true);
    } else {
      state.row = row;
      draw();
    }
  }

  function start() {
    byId("slider").max = data.models.length - 1;
    byId("path").hidden = data.models.length < 2;
    byId("slider").addEventListener("input", (event) => {
      state.model = Number(event.target.value);
      state.folded.clear();
      draw();
    });
    byId("samples").hidden = !data.samples.length;
    data.samples.forEach(({ row }, i) => byId("sample").append(html("option", { value: i }, row)));
    byId("sample").addEventListener("change", (event) => {
      if (event.target.value === "") return;
      const { features, values } = data.samples[Number(event.target.value)];
      state.row = {};
      features.forEach((j, i) => { state.row[j] = values[i]; });
      draw();
    });
    byId("trace").addEventListener("click", trace);
    byId("values").addEventListener("keydown", (event) => { if (event.key === "Enter") trace(); });
    byId("clear").addEventListener("click", () => { state.row = null; say(""); draw(); });
    byId("fold").addEventListener("click", () => {
      state.folded = new Set(nodeOf(0).children.filter((child) => !nodeOf(child).is_leaf));
      draw();
    });
    byId("unfold").addEventListener("click", () => { state.folded.clear(); draw(); });
    byId("fit").addEventListener("change", draw);
    draw();
    const stage = byId("stage");
    byId("fit").checked = stage.clientWidth / stage.scrollWidth > LEGIBLE;
    draw();
    const root = stage.querySelector('[data-node="0"]').getBoundingClientRect();
    const middle = stage.getBoundingClientRect();
    stage.scrollLeft += root.left + root.width / 2 - middle.left - middle.width / 2;
  }

  start();
})();
