// Start-up: the actions of the controls, and the first view.

function search() {
  state.query = byId("search").value.trim();
  draw();
  const found = nodes().filter(matches);
  if (!state.query) say("");
  else say(`${found.length} ${found.length === 1 ? "test uses" : "tests use"} “${state.query}”`);
}

// Opens and selects the next test that the search finds.
function nextFound() {
  const found = nodes().filter(matches);
  if (!found.length) return;
  const next = found.find((node) => state.selected !== null && node.id > state.selected) || found[0];
  goTo(next.id);
  byId("search").focus();
}

function showModel(index) {
  Object.assign(state, { model: index, root: 0, selected: null, at: 0 });
  summarise(); // the texts above the stage limit its height
  drawCrumbs();
  openLegibly();
  if (nRows) { sortRows(); listRows(); }
  showDetails();
  if (state.row) setRow(state.row, state.rowId);
  else draw();
  home();
}

function start() {
  byId("slider").max = data.models.length - 1;
  byId("path").hidden = data.models.length < 2;
  byId("slider").addEventListener("input", (event) => showModel(Number(event.target.value)));
  byId("search").addEventListener("input", search);
  byId("search").addEventListener("keydown", (event) => { if (event.key === "Enter") nextFound(); });
  const acts = {
    closer: () => zoom(1.25), farther: () => zoom(0.8), fit,
    unfold: () => { openAll(); draw(); fit(); },
    fold: () => { state.open = new Set([state.root]); draw(); home(); },
    help: () => byId("keys").showModal(), close: () => byId("keys").close(),
  };
  for (const [id, act] of Object.entries(acts)) byId(id).addEventListener("click", act);
  for (const name of ["node", "row"]) {
    byId(`${name}Tab`).addEventListener("click", () => showTab(name));
    byId(`${name}Tab`).addEventListener("keydown", tabKey);
  }
  stage.addEventListener("keydown", stageKey);
  stage.addEventListener("keydown", (event) => { if (event.key === "?") byId("keys").showModal(); });
  listenToHands();
  listenToMap();
  listenToPrint();
  startTable();
  startTyping();
  showTab(nRows ? "row" : "node");
  showModel(0);
  followSize();
}

// An iframe may get its size after the first view. The view is then fitted again, unless the reader
// has already used the page.
function followSize() {
  let isTouched = false;
  let shown = stageSize();
  for (const name of ["pointerdown", "wheel", "keydown"]) {
    document.addEventListener(name, () => { isTouched = true; }, { capture: true, passive: true });
  }
  new ResizeObserver(() => {
    const size = stageSize();
    const isOther = size.width !== shown.width || size.height !== shown.height;
    shown = size;
    if (isOther && !isTouched) showModel(state.model);
    else moveFrame();
  }).observe(stage);
}

start();
