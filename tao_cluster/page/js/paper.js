// Printing: the whole open tree on one sheet or, if its text would be too small, in several parts.

const PAPER = { width: 1040, height: 590 }; // of the drawing on A4 landscape, in CSS pixels
const LEAST_PRINTED = 0.5; // scale below which printed text is hard to read
const PRINTED = 0.6; // scale of the parts of a tree

// A browser can tell of printing twice, by an event and by its media; the second time changes nothing.
let isOnPaper = false;
let onScreen = DOWN; // the form there

function toPaper() {
  if (isOnPaper) return;
  isOnPaper = true;
  onScreen = form;
  form = formFor(PAPER) || DOWN;
  draw();
  const scale = Math.min(PAPER.width / place.width, PAPER.height / place.height);
  const isSplit = scale < LEAST_PRINTED && place.order.length > 3;
  document.body.classList.toggle("split", isSplit);
  if (isSplit) byId("parts").replaceChildren(...drawParts(partsOf()));
  canvas.setAttribute("viewBox", `0 0 ${place.width} ${place.height}`);
  byId("world").removeAttribute("transform");
}

function toScreen() {
  if (!isOnPaper) return;
  isOnPaper = false;
  document.body.classList.remove("split");
  byId("parts").replaceChildren();
  canvas.removeAttribute("viewBox");
  form = onScreen;
  draw();
}

// The parts {root, open, from} of the open tree that fit on a sheet. A part ends in leaves, or in tests
// that start parts of their own; `from` is the number of the part that ends in the root of a part.
function partsOf() {
  const most = Math.max(2, Math.floor(PAPER.width / PRINTED / (WIDTH + GAP)));
  const level = Math.max(testHeight(), leafHeight()) + LEVEL_GAP;
  const deepest = Math.max(2, Math.floor(PAPER.height / PRINTED / level));
  const parts = [{ root: state.root, from: null }];
  for (let i = 0; i < parts.length; i += 1) {
    const part = parts[i];
    part.open = new Set();
    let ends = [part.root];
    const lowest = nodeOf(part.root).depth + deepest - 1;
    while (ends.length < most) {
      const inside = ends.filter((id) => state.open.has(id) && nodeOf(id).depth < lowest);
      if (!inside.length) break;
      const id = inside.reduce((a, b) => (nodeOf(b).nLeaves > nodeOf(a).nLeaves ? b : a));
      part.open.add(id);
      ends = ends.flatMap((end) => (end === id ? nodeOf(id).children : [end]));
    }
    for (const id of ends) if (state.open.has(id)) parts.push({ root: id, from: i + 1 });
  }
  return parts;
}

// Draws the parts, of which several may stand on a sheet. The state and the layout stay as they were.
function drawParts(parts) {
  const kept = { ...state };
  const screen = place;
  const made = parts.map(({ root, open, from }, i) => {
    Object.assign(state, { root, open });
    place = layout();
    const { width, height } = place;
    const scale = Math.min(PRINTED, PAPER.width / width, PAPER.height / height);
    const size = { width: width * scale, height: height * scale };
    const own = svg("svg", { viewBox: `0 0 ${width} ${height}`, ...size }, drawn());
    for (const [number, next] of parts.entries()) {
      if (next.from !== i + 1) continue;
      const box = place.boxes.get(next.root);
      own.append(textAt(box.x, box.y + box.height + 14, `part ${number + 1}`, "sum"));
    }
    const title = from === null ? `Part 1 of ${parts.length}` : `Part ${i + 1}: test ${root} of part ${from}`;
    return html("section", { class: "printed" }, [html("p", {}, title), own]);
  });
  Object.assign(state, kept);
  place = screen;
  return made;
}

function listenToPrint() {
  addEventListener("beforeprint", toPaper);
  addEventListener("afterprint", toScreen);
  matchMedia("print").addEventListener("change", ({ matches: isPaper }) => {
    (isPaper ? toPaper : toScreen)();
  });
}
