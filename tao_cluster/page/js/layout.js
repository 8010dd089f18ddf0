// Positions of the open nodes: one line per level, with subtrees as close as their outlines allow.

const GAP = 22; // between boxes beside each other
const LEVEL_GAP = 54; // between levels, for edges and their signs
const MARGIN = 14;

// Parents are centred over their children (Reingold & Tilford, Tidier Drawings of Trees, 1981). An
// outline holds the leftmost and the rightmost centre of every level below a node.
function tidy(order, slot) {
  const offset = new Map();
  const outlines = new Map();
  for (const node of [...order].reverse()) { // children come after their parent
    const children = childrenOf(node);
    if (!children.length) {
      outlines.set(node.id, { left: [0], right: [0] });
      continue;
    }
    const [a, b] = children.map((child) => outlines.get(child));
    let half = slot / 2;
    for (let d = 0; d < Math.min(a.right.length, b.left.length); d += 1) {
      half = Math.max(half, (a.right[d] - b.left[d] + slot) / 2);
    }
    offset.set(children[0], -half).set(children[1], half);
    const join = (own, ownAt, other, otherAt) => {
      const outer = own.map((x) => x + ownAt);
      return outer.concat(other.slice(outer.length).map((x) => x + otherAt));
    };
    outlines.set(node.id, {
      left: [0, ...join(a.left, -half, b.left, half)],
      right: [0, ...join(b.right, half, a.right, -half)],
    });
    for (const child of children) outlines.delete(child);
  }
  const x = new Map([[order[0].id, 0]]);
  for (const node of order) {
    for (const child of childrenOf(node)) x.set(child, x.get(node.id) + offset.get(child));
  }
  return x;
}

// Boxes {x: middle, y: top, width, height} by node, and the size of all of them.
function layoutDown() {
  const [width, heightOf] = [WIDTH, (node) => (node.isLeaf ? leafHeight() : testHeight())];
  const order = visibleNodes();
  const x = tidy(order, width + GAP);
  const top = nodeOf(state.root).depth;
  const heights = [];
  for (const node of order) {
    const level = node.depth - top;
    heights[level] = Math.max(heights[level] || 0, heightOf(node));
  }
  const tops = [MARGIN];
  heights.forEach((height, level) => { tops.push(tops[level] + height + LEVEL_GAP); });
  const least = Math.min(...x.values()) - width / 2 - MARGIN;
  const boxes = new Map();
  for (const node of order) {
    const place = { x: x.get(node.id) - least, y: tops[node.depth - top] };
    boxes.set(node.id, { ...place, width, height: heightOf(node) });
  }
  const all = [...boxes.values()];
  return {
    order,
    boxes,
    width: Math.max(...all.map((box) => box.x)) + width / 2 + MARGIN,
    height: Math.max(...all.map((box) => box.y + box.height)) + MARGIN + 14,
  };
}
