// The choices of the reader: model, subtree, open tests, row, node and search text.

const state = {
  model: 0, root: 0, open: new Set(), row: null, rowId: null, selected: null, at: 0, query: "",
};

const model = () => data.models[state.model];
const nodes = () => model().nodes;
const nodeOf = (id) => nodes()[id];
const clusterOf = (k) => model().clusters.at(k);  // -1, "no segment", is the last one
const isFolded = (node) => !node.isLeaf && !state.open.has(node.id);
const childrenOf = (node) => (isFolded(node) ? [] : node.children);

function* nodesBelow(id, go = () => true) {
  const todo = [id];
  while (todo.length) {
    const node = nodeOf(todo.pop());
    yield node;
    if (go(node)) todo.push(...[...node.children].reverse());
  }
}

// Open nodes in the order of drawing: parents first, from left to right.
const visibleNodes = () => [...nodesBelow(state.root, (node) => !isFolded(node))];

// Closing a test closes what is below it, so that it opens by one level again.
function toggle(id) {
  if (!state.open.has(id)) state.open.add(id);
  else for (const node of nodesBelow(id)) state.open.delete(node.id);
}

function openPathTo(id) {
  for (let node = nodeOf(id); node.parent !== null; node = nodeOf(node.parent)) {
    state.open.add(node.parent);
  }
}

// Opens tests, those with most rows first, up to a number of visible end nodes.
function openSome(most) {
  state.open.clear();
  const size = (id) => nodeOf(id).count ?? nodeOf(id).nLeaves;
  const waiting = [state.root];
  let ends = 1;
  while (waiting.length && ends < most) {
    waiting.sort((a, b) => size(b) - size(a) || a - b);
    const node = nodeOf(waiting.shift());
    if (node.isLeaf) continue;
    state.open.add(node.id);
    ends += 1;
    waiting.push(...node.children);
  }
}

function openAll() {
  for (const node of nodesBelow(state.root)) if (!node.isLeaf) state.open.add(node.id);
}

// Tests that use a feature whose name contains the search text.
function matches(node) {
  if (!state.query || node.isLeaf) return false;
  const found = matchingFeatures();
  return node.features.some((j) => found.has(j));
}

let known = { query: "", found: new Set() };
function matchingFeatures() {
  if (known.query !== state.query) {
    const query = state.query.toLowerCase();
    const found = new Set();
    data.names.forEach((name, j) => { if (name.toLowerCase().includes(query)) found.add(j); });
    known = { query: state.query, found };
  }
  return known.found;
}
