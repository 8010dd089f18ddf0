// Printing: the whole open tree on one sheet or, if its text would be too small, on several sheets.

const PAPER = { width: 1040, height: 580 }; // of the drawing on a landscape sheet, in CSS pixels
const PRINTED = 0.6; // scale below which printed text is hard to read

function toPaper() {
  const scale = Math.min(PAPER.width / place.width, PAPER.height / place.height);
  const isSplit = scale < PRINTED && place.order.length > 3;
  document.body.classList.toggle("split", isSplit);
  if (isSplit) byId("sheets").replaceChildren(...drawSheets(sheetsOf()));
  canvas.setAttribute("viewBox", `0 0 ${place.width} ${place.height}`);
  byId("world").removeAttribute("transform");
}

function toScreen() {
  document.body.classList.remove("split");
  byId("sheets").replaceChildren();
  canvas.removeAttribute("viewBox");
  showView();
}

// The parts {root, open, from} of the open tree, each for one sheet. A part that does not fit ends in
// tests whose own parts follow on later sheets; `from` is the number of the sheet before.
function sheetsOf() {
  const most = Math.max(2, Math.floor(PAPER.width / PRINTED / (WIDTH + GAP)));
  const level = Math.max(testHeight(), leafHeight()) + LEVEL_GAP;
  const deepest = Math.max(2, Math.floor(PAPER.height / PRINTED / level));
  const sheets = [{ root: state.root, from: null }];
  for (let i = 0; i < sheets.length; i += 1) {
    const sheet = sheets[i];
    sheet.open = new Set();
    let ends = [sheet.root];
    const isFull = (id) => isFolded(nodeOf(id))
      || nodeOf(id).depth - nodeOf(sheet.root).depth >= deepest - 1;
    while (ends.length < most) {
      const inside = ends.filter((id) => !nodeOf(id).isLeaf && !isFull(id));
      if (!inside.length) break;
      const id = inside.reduce((a, b) => (nodeOf(b).nLeaves > nodeOf(a).nLeaves ? b : a));
      sheet.open.add(id);
      ends = ends.flatMap((end) => (end === id ? nodeOf(id).children : [end]));
    }
    for (const id of ends) if (state.open.has(id)) sheets.push({ root: id, from: i + 1 });
  }
  return sheets;
}

// Draws parts of the tree; afterwards the state and the layout are as before.
function drawSheets(sheets) {
  const kept = { ...state };
  const screen = place;
  const made = sheets.map(({ root, open, from }, i) => {
    Object.assign(state, { root, open });
    place = layout(WIDTH, nodeHeight);
    const own = svg("svg", { viewBox: `0 0 ${place.width} ${place.height}` }, drawn());
    for (const [number, next] of sheets.entries()) {
      if (next.from !== i + 1) continue;
      const box = place.boxes.get(next.root);
      own.append(textAt(box.x, box.y + box.height + 14, `sheet ${number + 1}`, "sum"));
    }
    const origin = from === null ? "" : `, test ${root} of sheet ${from} and the part below it`;
    return html("section", { class: "sheet" }, [
      html("p", {}, `Sheet ${i + 1} of ${sheets.length}${origin}`), own,
    ]);
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
