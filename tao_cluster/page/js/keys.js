// Input: mouse and touch on the stage, keys on the tree.

const STEP = 60; // pixels that an arrow moves the stage
const STILL = 6; // pixels that a resting finger may move
const LONG = 500; // milliseconds until a press is long

function fold(id) {
  toggle(id);
  draw(id);
}

// ---------------------------------------------------------------- mouse and touch

const fingers = new Map();
let press = null; // {x, y, id, button, timer, moved, done}

const offsetIn = (event) => {
  const box = stage.getBoundingClientRect();
  return { x: event.clientX - box.left, y: event.clientY - box.top };
};

function pressDown(event) {
  if (event.button !== 0) return;
  fingers.set(event.pointerId, offsetIn(event));
  if (fingers.size > 1) {
    if (press) { clearTimeout(press.timer); press.moved = true; }
    return;
  }
  const node = event.target.closest("[data-node]");
  const knob = event.target.closest("[data-toggle]");
  press = { ...offsetIn(event), id: node && Number(node.dataset.node), isKnob: Boolean(knob) };
  if (press.id !== null && !nodeOf(press.id).isLeaf && event.pointerType !== "mouse") {
    press.timer = setTimeout(() => { press.done = true; fold(press.id); }, LONG);
  }
}

function pressMove(event) {
  const before = fingers.get(event.pointerId);
  if (!event.buttons) fingers.delete(event.pointerId); // the button was released outside of the stage
  if (!before || !event.buttons) return;
  const now = offsetIn(event);
  if (fingers.size === 2) pinch(event.pointerId, before, now);
  else if (press && (press.moved || Math.hypot(now.x - press.x, now.y - press.y) > STILL)) {
    if (!press.moved) stage.setPointerCapture(event.pointerId);
    press.moved = true;
    clearTimeout(press.timer);
    pan(now.x - before.x, now.y - before.y);
  } else return;
  fingers.set(event.pointerId, now);
}

function pinch(id, before, now) {
  const [other] = [...fingers].filter(([key]) => key !== id).map(([, at]) => at);
  const apart = (a) => Math.max(10, Math.hypot(a.x - other.x, a.y - other.y));
  zoom(apart(now) / apart(before), (now.x + other.x) / 2, (now.y + other.y) / 2);
  pan((now.x - before.x) / 2, (now.y - before.y) / 2);
}

function pressUp(event) {
  if (!fingers.delete(event.pointerId) || !press) return;
  clearTimeout(press.timer);
  const { id, isKnob, moved, done } = press;
  if (!fingers.size) press = null;
  if (moved || done || id === null || event.type === "pointercancel") return;
  if (isKnob) fold(id);
  else select(id);
}

// Screen readers click without a pointer.
function readerClick(event) {
  const node = event.target.closest("[data-node]");
  if (event.detail === 0 && node) select(Number(node.dataset.node));
}

function listenToHands() {
  stage.addEventListener("pointerdown", pressDown);
  stage.addEventListener("pointermove", pressMove);
  for (const name of ["pointerup", "pointercancel"]) stage.addEventListener(name, pressUp);
  stage.addEventListener("click", readerClick);
  stage.addEventListener("contextmenu", (event) => event.preventDefault());
  stage.addEventListener("wheel", (event) => {
    event.preventDefault();
    const { x, y } = offsetIn(event);
    const lines = event.deltaMode === 1 ? 20 : 1;
    zoom(Math.exp(-event.deltaY * lines * (event.ctrlKey ? 0.01 : 0.0015)), x, y);
  }, { passive: false });
}

// ---------------------------------------------------------------- keys

// Nodes of the same level, from left to right.
function beside(id, by) {
  const level = place.order.filter((node) => node.depth === nodeOf(id).depth);
  const [x, y] = ["x", "y"].map((side) => (a, b) => place.boxes.get(a.id)[side] - place.boxes.get(b.id)[side]);
  level.sort((a, b) => x(a, b) || y(a, b));
  return level[level.findIndex((node) => node.id === id) + by];
}

const walks = {
  ArrowUp: (node) => (node.id === state.root ? null : nodeOf(node.parent)),
  ArrowDown: (node) => {
    if (node.isLeaf) return null;
    if (isFolded(node)) fold(node.id);
    return nodeOf(node.children[0]);
  },
  ArrowLeft: (node) => beside(node.id, -1),
  ArrowRight: (node) => beside(node.id, 1),
  Home: () => nodeOf(state.root),
  End: () => place.order[place.order.length - 1],
};

const views = {
  "+": () => zoom(1.25), "=": () => zoom(1.25), "-": () => zoom(0.8), 0: home, f: fit,
};
const moves = {
  ArrowUp: [0, STEP], ArrowDown: [0, -STEP], ArrowLeft: [STEP, 0], ArrowRight: [-STEP, 0],
};

function nodeKey(event, id) {
  const walk = walks[event.key];
  if (walk && !event.shiftKey) {
    const to = walk(nodeOf(id));
    if (to) moveTo(to.id);
  } else if (event.key === "Enter") select(id);
  else if (event.key === " ") { if (!nodeOf(id).isLeaf) fold(id); } else return false;
  return true;
}

function stageKey(event) {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const group = event.target.closest("[data-node]");
  let isOurs = group !== null && nodeKey(event, Number(group.dataset.node));
  if (!isOurs && views[event.key]) { views[event.key](); isOurs = true; }
  if (!isOurs && moves[event.key]) { pan(...moves[event.key]); isOurs = true; }
  if (isOurs) event.preventDefault();
}

// Arrow keys switch between the two tabs.
function tabKey(event) {
  if (!["ArrowLeft", "ArrowRight"].includes(event.key)) return;
  const name = event.target.id === "nodeTab" ? "row" : "node";
  showTab(name);
  byId(`${name}Tab`).focus();
}
