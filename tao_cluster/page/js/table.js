// The choice of a row: a table that can be searched, and a field for typed values.

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
  cells.push(html("td", {}, pick), html("td", {}, `leaf ${leaves[i].id}`), html("td", {}, chip(leaves[i].cluster)));
  if (data.rows.classes) cells.push(html("td", {}, className(i)));
  return html("tr", { "data-row": id }, cells);
}

// ---------------------------------------------------------------- typed values

// All values in order, or "name = value" for some features; the others are then 0.
function typedRow(text) {
  return /=/.test(text) ? namedRow(text) : plainRow(text);
}

function numberOf(text) {
  const value = Number(text);
  if (text.trim() === "" || !Number.isFinite(value)) throw new Error(`“${text.trim()}” is not a number.`);
  return value;
}

function plainRow(text) {
  const cells = text.split(/[,;\s]+/).filter((cell) => cell !== "");
  if (cells.length !== data.n_features) {
    throw new Error(`${cells.length} values for ${data.n_features} features.`);
  }
  const values = cells.map(numberOf);
  return Float64Array.from(data.names, (_, j) => values[data.features ? data.features[j] : j]);
}

function namedRow(text) {
  const row = new Float64Array(data.names.length);
  for (const part of text.split(/[;,\n]+/).filter((one) => one.trim() !== "")) {
    const cut = part.lastIndexOf("=");
    const name = part.slice(0, cut).trim();
    const j = data.names.indexOf(name);
    if (cut < 0 || j < 0) throw new Error(`No feature here is called “${cut < 0 ? part.trim() : name}”.`);
    row[j] = numberOf(part.slice(cut + 1));
  }
  return row;
}

function traceTyped() {
  try {
    setRow(typedRow(byId("values").value), null);
  } catch (fault) {
    say(fault.message, true);
  }
}

function startTable() {
  byId("picker").hidden = !nRows;
  if (nRows) {
    sortRows();
    listRows();
    byId("find").addEventListener("input", listRows);
  }
  byId("go").addEventListener("click", traceTyped);
  byId("clear").addEventListener("click", () => setRow(null, null));
  byId("values").addEventListener("keydown", (event) => {
    if (event.key === "Enter" && !event.shiftKey) { event.preventDefault(); traceTyped(); }
  });
}
