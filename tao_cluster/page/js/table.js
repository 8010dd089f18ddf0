// The choice of a row: a table that can be searched.

const MOST_LISTED = 100;
const leaves = []; // leaf of each row of the page, in the model that is shown
const thumbs = new Map();

function sortRows() {
  leaves.length = 0;
  for (let i = 0; i < nRows; i += 1) leaves.push(leafOf(nodes(), rowAt(i)));
}

// A number finds the row, "leaf 4" the rows of a leaf, and other text clusters and classes.
function isFound(i, query) {
  const id = String(data.rows.ids[i]);
  if (/^\d+$/.test(query)) return id.startsWith(query);
  const leaf = /^leaf (\d+)$/.exec(query);
  if (leaf) return leaves[i].id === Number(leaf[1]);
  const name = clusterOf(leaves[i].cluster).name.toLowerCase();
  const isCluster = /\d$/.test(query) ? name === query : name.includes(query);
  return isCluster || (data.rows.classes !== null && className(i).toLowerCase() === query);
}

const className = (i) => data.classes[data.rows.classes[i]];

function listRows() {
  const query = byId("find").value.trim().toLowerCase();
  const found = data.rows.ids.map((_, i) => i).filter((i) => !query || isFound(i, query));
  byId("rows").replaceChildren(...found.slice(0, MOST_LISTED).map(rowLine));
  oneStop(byId("list"));
  const of = nRows < data.rows.n_rows ? ` of the ${nRows} rows on this page, out of ${data.rows.n_rows}` : ` of ${nRows} rows`;
  byId("found").textContent = `${found.length}${of}${found.length > MOST_LISTED ? `, ${MOST_LISTED} listed` : ""}`;
}

function rowLine(i) {
  const id = data.rows.ids[i];
  const pick = button(`row ${id}`, () => setRow(rowAt(i), id), "link");
  const cells = [];
  if (data.kind === "image") {
    if (!thumbs.has(i)) thumbs.set(i, rowUrl(id, rowAt(i)));
    cells.push(html("td", {}, html("img", { src: thumbs.get(i), class: "pixels thumb", alt: "" })));
  }
  for (const one of [pick, `leaf ${leaves[i].id}`]) cells.push(html("td", { class: "piece" }, one));
  cells.push(html("td", {}, chip(leaves[i].cluster)));
  if (data.rows.classes) cells.push(html("td", {}, named(className(i))));
  return html("tr", { "data-row": id }, cells);
}

// The headers of the cells that `rowLine` makes.
function rowHeaders() {
  const names = [...data.kind === "image" ? ["image"] : [], "row", "leaf", "cluster",
    ...data.rows.classes ? ["class"] : []];
  return html("tr", {}, names.map((name) => html("th", { scope: "col", class: "piece" }, name)));
}

function startTable() {
  byId("picker").hidden = !nRows;
  byId("clear").addEventListener("click", () => setRow(null, null));
  if (!nRows) return;
  byId("headers").replaceChildren(rowHeaders());
  byId("find").placeholder += `, ${model().clusters[0].name}`;
  sortRows();
  listRows();
  byId("find").addEventListener("input", listRows);
}
