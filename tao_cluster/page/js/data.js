// The unpacked data of the page: exact numbers of tests and rows, and the shape of the trees.

const data = JSON.parse(document.getElementById("data").textContent);

function bytesOf(text) {
  return Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
}

// Numbers have eight bytes, the least significant first.
function doublesOf(text) {
  const view = new DataView(bytesOf(text).buffer);
  return Float64Array.from({ length: view.byteLength / 8 }, (_, i) => view.getFloat64(8 * i, true));
}

function floatsOf(text) {
  const view = new DataView(bytesOf(text).buffer);
  return Float64Array.from({ length: view.byteLength / 4 }, (_, i) => view.getFloat32(4 * i, true));
}

function shortsOf(text) {
  const bytes = bytesOf(text);
  return Array.from({ length: bytes.length / 2 }, (_, i) => bytes[2 * i] + 256 * bytes[2 * i + 1]);
}

// Parents are numbered before their children.
function unpackTree(nodes) {
  nodes.forEach((node, id) => {
    Object.assign(node, { id, isLeaf: !node.children, children: node.children || [] });
    if (id === 0) Object.assign(node, { parent: null, depth: 0 });
    node.children.forEach((child, side) => {
      Object.assign(nodes[child], { parent: id, depth: node.depth + 1, side });
    });
    if (node.isLeaf) return;
    node.weights = doublesOf(node.weights);
    // Terms are sorted by decreasing effect, but sums run over the features in increasing order.
    node.order = node.features.map((_, i) => i)
      .sort((a, b) => node.features[a] - node.features[b]);
  });
  for (const node of [...nodes].reverse()) {
    node.nLeaves = node.isLeaf ? 1 : 0;
    node.amounts = new Map();
    if (node.isLeaf) node.amounts.set(node.cluster, node.count === null ? 1 : node.count);
    for (const child of node.children) {
      node.nLeaves += nodes[child].nLeaves;
      for (const [cluster, amount] of nodes[child].amounts) {
        node.amounts.set(cluster, (node.amounts.get(cluster) || 0) + amount);
      }
    }
  }
}

// Shares of the clusters below a node, in the order of the clusters.
function composition(node) {
  const parts = [...node.amounts].sort((a, b) => a[0] - b[0]);
  const total = parts.reduce((sum, [, amount]) => sum + amount, 0);
  return parts.map(([cluster, amount]) => [cluster, total ? amount / total : 1 / parts.length]);
}

for (const one of data.models) unpackTree(one.nodes);

const nRows = data.rows ? data.rows.ids.length : 0;
const rowCodes = data.rows && data.rows.codes ? bytesOf(data.rows.codes) : null;
// The categorical column that each feature of a level belongs to.
const categoryOf = new Map(data.categories.flatMap((one) => one.features.map((j) => [j, one])));

// Values of a row, in the numbering of the features of this page.
function rowAt(i) {
  const row = new Float64Array(data.names.length);
  if (rowCodes) {
    const start = i * row.length;
    for (let j = 0; j < row.length; j += 1) row[j] = data.rows.levels[rowCodes[start + j]];
  } else {
    const [features, text] = data.rows.values[i];
    const values = doublesOf(text);
    features.forEach((j, k) => { row[j] = values[k]; });
  }
  return row;
}
