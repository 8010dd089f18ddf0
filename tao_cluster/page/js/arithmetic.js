// The arithmetic of `predict`: sums, the decision path of a row, and the nearest change of a row.

// Sums run over the features in increasing order, as in the library.
function sumAt(node, row) {
  return node.order.reduce((total, i) => total + node.weights[i] * row[node.features[i]], 0);
}

// Steps {node, sum, ...} from the root to a leaf; the step of the leaf has no sum.
function route(nodes, row) {
  const steps = [];
  let node = nodes[0];
  while (!node.isLeaf) {
    const sum = sumAt(node, row);
    const isLeft = sum <= node.threshold;
    steps.push({ node, sum, isLeft });
    node = nodes[node.children[isLeft ? 0 : 1]];
  }
  return [...steps, { node }];
}

function leafOf(nodes, row) {
  const steps = route(nodes, row);
  return steps[steps.length - 1].node;
}

// Features are ranked by weight times standard deviation, and shown so only if `scaled` is set.
const spreadAt = (node, i) => (node.spreads ? node.spreads[i] : 1);
const effect = (node, i) => node.weights[i] * spreadAt(node, i);
const shown = (node, i) => (data.scaled ? effect(node, i) : node.weights[i]);

// Weight times value of the features of a row, the largest first. Terms beyond `most` are added up
// as others, with those that are 0.
function termsOf(node, row, most) {
  const terms = node.features.map((feature, i) => ({
    feature, weight: node.weights[i], value: row[feature], term: node.weights[i] * row[feature],
  })).filter(({ term }) => term !== 0);
  terms.sort((a, b) => Math.abs(b.term) - Math.abs(a.term));
  const nTop = terms.length > most ? most - 1 : terms.length;
  const rest = terms.slice(nTop).reduce((sum, { term }) => sum + term, 0);
  return { top: terms.slice(0, nTop), nRest: node.features.length - nTop, rest };
}

// The two nearest numbers with the given digits at x or beyond it in a direction.
function roundedBeyond(x, digits, direction) {
  const unit = 10 ** (digits - 1 - Math.floor(Math.log10(Math.abs(x) || 1)));
  const whole = direction > 0 ? Math.ceil(x * unit) : Math.floor(x * unit);
  return [whole, whole + direction].map((some) => Number((some / unit).toPrecision(digits + 1)));
}

// The value of one feature with the fewest digits that sends the row to the other side, if it lies
// within the observed range.
function crossingValue({ node, isLeft }, row, i, exact) {
  const j = node.features[i];
  const direction = (isLeft ? 1 : -1) * Math.sign(node.weights[i]);
  const changed = Float64Array.from(row);
  const crosses = (value) => {
    changed[j] = value;
    return (sumAt(node, changed) <= node.threshold) !== isLeft;
  };
  for (let digits = 3; digits <= 16; digits += 1) {
    const value = roundedBeyond(exact, digits, direction).find(crosses);
    if (value !== undefined && isInRange(j, value)) return value;
  }
  return null;
}

function isInRange(j, value) {
  if (!data.rows) return true;
  const [low, high] = data.rows.ranges;
  return value >= low[j] && value <= high[j];
}

// The position, in a categorical column, of the level of a row; -1 if its level has no feature.
const levelOf = (category, row) => category.features.findIndex((j) => row[j] !== 0);

// The row with the level of feature j in its column.
function withLevel(row, j) {
  const category = categoryOf.get(j);
  const own = levelOf(category, row);
  const changed = Float64Array.from(row);
  for (const other of category.features) changed[other] = 0;
  changed[j] = own < 0 ? 1 : row[category.features[own]];
  return changed;
}

// The features whose values may change so that a row crosses the threshold of a test, each with its
// position i in the test: its numbers, and all levels of its categorical columns.
function changeable(node) {
  const found = new Map();
  node.features.forEach((j, i) => {
    const category = categoryOf.get(j);
    for (const one of category ? category.features : [j]) {
      const before = found.get(one);
      if (before === undefined || spreadAt(node, i) > spreadAt(node, before)) found.set(one, i);
    }
  });
  return found;
}

// The smallest change of one number or level, in standard deviations at the test, that crosses a
// threshold on the path of the row and leads to an accepted leaf, within the observed range; null
// without any.
function nearestChange(nodes, row, isWanted = () => true) {
  const candidates = [];
  for (const step of route(nodes, row)) {
    if (step.node.isLeaf) continue;
    for (const [j, i] of changeable(step.node)) {
      const isLevel = categoryOf.has(j);
      const spread = spreadAt(step.node, i);
      const needed = (step.node.threshold - step.sum) / step.node.weights[i];
      const by = isLevel ? 1 : Math.abs(needed);
      const isPossible = isLevel ? row[j] === 0 : isInRange(j, row[j] + needed);
      if (spread > 0 && Number.isFinite(needed) && isPossible) {
        candidates.push({ step, i, feature: j, exact: row[j] + needed, cost: by / spread });
      }
    }
  }
  candidates.sort((a, b) => a.cost - b.cost);
  for (const { step, i, feature, exact, cost } of candidates) {
    const changed = changedRow(step, row, i, feature, exact);
    if (changed !== null) {
      const leaf = leafOf(nodes, changed);
      const [from, value] = [row[feature], changed[feature]];
      if (isWanted(leaf)) return { node: step.node, feature, from, value, cost, leaf };
    }
  }
  return null;
}

// The row with another level, or another number, that sends it to the other side; null without any.
function changedRow(step, row, i, feature, exact) {
  if (categoryOf.has(feature)) {
    const changed = withLevel(row, feature);
    return (sumAt(step.node, changed) <= step.node.threshold) !== step.isLeft ? changed : null;
  }
  const value = crossingValue(step, row, i, exact);
  if (value === null) return null;
  const changed = Float64Array.from(row);
  changed[feature] = value;
  return changed;
}
