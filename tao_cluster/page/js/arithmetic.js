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
  if (indicators.has(j)) return crosses(1 - row[j]) ? 1 - row[j] : null;
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

// The smallest change of one feature, in standard deviations at the test, that crosses a threshold
// on the path of the row and leads to an accepted leaf, within the observed range; null without any.
function nearestChange(nodes, row, isWanted = () => true) {
  const candidates = [];
  for (const step of route(nodes, row)) {
    if (step.node.isLeaf) continue;
    step.node.features.forEach((j, i) => {
      const spread = spreadAt(step.node, i);
      const needed = (step.node.threshold - step.sum) / step.node.weights[i];
      const by = indicators.has(j) ? 1 : Math.abs(needed);
      const isPossible = indicators.has(j) || isInRange(j, row[j] + needed);
      if (spread > 0 && Number.isFinite(needed) && isPossible) {
        candidates.push({ step, i, exact: row[j] + needed, cost: by / spread });
      }
    });
  }
  candidates.sort((a, b) => a.cost - b.cost);
  for (const { step, i, exact, cost } of candidates) {
    const feature = step.node.features[i];
    const value = crossingValue(step, row, i, exact);
    if (value !== null) {
      const changed = Float64Array.from(row);
      changed[feature] = value;
      const leaf = leafOf(nodes, changed);
      if (isWanted(leaf)) return { node: step.node, feature, from: row[feature], value, cost, leaf };
    }
  }
  return null;
}
