// The visible part of the drawing: moving, zooming, and the small map.

const view = { x: 0, y: 0, scale: 1 };
const [LEAST, MOST] = [0.05, 4];
const READABLE = 0.72; // scale below which text is hard to read
const stage = byId("stage");
const canvas = byId("tree");

const stageSize = () => ({ width: stage.clientWidth || 800, height: stage.clientHeight || 500 });

function screenOf(id) {
  const box = place.boxes.get(id);
  return { x: view.x + box.x * view.scale, y: view.y + box.y * view.scale };
}

function showView() {
  byId("world").setAttribute("transform", `translate(${view.x},${view.y}) scale(${view.scale})`);
  moveFrame();
}

// Keeps the point (x, y) of the stage where it is.
function zoom(factor, x = stageSize().width / 2, y = stageSize().height / 2) {
  const scale = Math.min(MOST, Math.max(LEAST, view.scale * factor));
  view.x = x - ((x - view.x) * scale) / view.scale;
  view.y = y - ((y - view.y) * scale) / view.scale;
  view.scale = scale;
  showView();
}

function pan(dx, dy) {
  view.x += dx;
  view.y += dy;
  showView();
}

// Fits all open nodes, however small they become.
function fit() {
  const { width, height } = stageSize();
  view.scale = Math.min(1.2, width / place.width, height / place.height);
  view.x = (width - place.width * view.scale) / 2;
  view.y = Math.max(0, (height - place.height * view.scale) / 2);
  showView();
}

// Puts the root at the top centre, as large as fits but never too small to be legible.
function home() {
  const { width, height } = stageSize();
  view.scale = Math.max(READABLE, Math.min(1.1, width / place.width, height / place.height));
  const root = place.boxes.get(state.root);
  const isWhole = place.width * view.scale <= width;
  view.x = width / 2 - (isWhole ? place.width / 2 : root.x) * view.scale;
  view.y = Math.max(0, Math.min(24, (height - place.height * view.scale) / 2));
  showView();
}

// Moves the stage by the least distance that shows the node, above what the window hides.
function reveal(id) {
  const { width } = stageSize();
  const seen = stage.getBoundingClientRect();
  const top = Math.max(0, -seen.top);
  const height = Math.max(top + 120, Math.min(seen.height, innerHeight - seen.top));
  const box = place.boxes.get(id);
  const at = screenOf(id);
  const half = (box.width / 2) * view.scale;
  const tall = box.height * view.scale + 4;
  const into = (low, high, start, end) => (low < start + 4 ? start + 4 - low : Math.min(0, end - 4 - high));
  pan(into(at.x - half, at.x + half, 0, width), into(at.y, at.y + tall, top, height));
}

// ---------------------------------------------------------------- the small map

const MAP = { width: 190, height: 120 };
let mapScale = 1;

function drawMap() {
  const room = Math.min(1, stageSize().width / 700); // smaller on a phone
  mapScale = room * Math.min(MAP.width / place.width, MAP.height / place.height);
  const [width, height] = [place.width * mapScale, place.height * mapScale];
  byId("map").setAttribute("width", width);
  byId("map").setAttribute("height", height);
  byId("map").setAttribute("viewBox", `0 0 ${place.width} ${place.height}`);
  byId("mapNodes").replaceChildren(...place.order.map((node) => {
    const box = place.boxes.get(node.id);
    const size = { x: box.x - box.width / 2, y: box.y, width: box.width, height: box.height };
    const color = node.isLeaf ? `fill:${clusterOf(node.cluster).color}` : "";
    return svg("rect", { ...size, class: matches(node) ? "hit" : "test", style: color });
  }));
}

function moveFrame() {
  const { width, height } = stageSize();
  const frame = {
    x: -view.x / view.scale, y: -view.y / view.scale,
    width: width / view.scale, height: height / view.scale,
  };
  for (const [key, value] of Object.entries(frame)) byId("frame").setAttribute(key, value);
  const isWhole = frame.x <= 0 && frame.y <= 0
    && frame.x + frame.width >= place.width && frame.y + frame.height >= place.height;
  byId("map").toggleAttribute("hidden", isWhole);
}

function jump(event) {
  const box = byId("map").getBoundingClientRect();
  const { width, height } = stageSize();
  view.x = width / 2 - ((event.clientX - box.left) / mapScale) * view.scale;
  view.y = height / 2 - ((event.clientY - box.top) / mapScale) * view.scale;
  showView();
}

function listenToMap() {
  byId("map").addEventListener("pointerdown", (event) => {
    event.stopPropagation();
    byId("map").setPointerCapture(event.pointerId);
    jump(event);
  });
  byId("map").addEventListener("pointermove", (event) => { if (event.buttons) jump(event); });
}
