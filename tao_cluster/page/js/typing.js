// The field for the values of a row.

// All values in order, or "name = value" for some features; the others are then 0.
function typedRow(text) {
  return /=/.test(text) ? namedRow(text) : plainRow(text);
}

// A number as the page writes it, with the typographic minus sign, or as keyboards do.
function numberOf(text) {
  const value = Number(text.replace(/−/g, "-"));
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

// What the name of a feature, or of a categorical column, sets in a row to a typed value.
const setters = new Map([
  ...data.names.map((name, j) => [name, (row, text) => { row[j] = numberOf(text); }]),
  ...data.categories.map((one) => [one.name, (row, text) => setLevel(row, one, text.trim())]),
]);
const names = [...setters.keys()].sort((a, b) => b.length - a.length); // the longest that fits is meant

function setLevel(row, { name, features, levels, ones }, text) {
  const isSame = [(a, b) => a === b, (a, b) => a.toLowerCase() === b.toLowerCase()];
  const [at] = isSame.map((same) => levels.findIndex((level) => same(level, text))).filter((i) => i >= 0);
  if (at === undefined) {
    throw new Error(`“${text}” is not a level of ${isolated(name)}; it has ${levels.slice(0, 20).join(", ")}.`);
  }
  for (const j of features) row[j] = 0;
  row[features[at]] = ones[at];
}

// The name that a text assigns a value to, and the position of the value; null if it starts otherwise.
function assignmentAt(text, start) {
  for (const name of names) {
    if (!text.startsWith(name, start)) continue;
    const sign = /^\s*=\s*/.exec(text.slice(start + name.length));
    if (sign) return { name, start, end: start + name.length + sign[0].length };
  }
  return null;
}

// Names and levels may contain the signs that separate assignments. A separator is therefore one
// only before a name that is followed by "=".
function assignments(text) {
  const found = [];
  for (const { index, 0: separator } of text.matchAll(/^\s*|[,;\n]\s*/g)) {
    const at = index + separator.length;
    const last = found[found.length - 1];
    const next = !last || at >= last.end ? assignmentAt(text, at) : null;
    if (next) found.push({ ...next, separator: index });
  }
  return found.map((one, i) => {
    const end = i + 1 < found.length ? found[i + 1].separator : text.length;
    return { ...one, value: text.slice(one.end, end).replace(/[,;\s]+$/, "") };
  });
}

function namedRow(text) {
  const row = new Float64Array(data.names.length);
  const found = assignments(text);
  const [first] = found;
  if (!first || text.slice(0, first.start).trim()) {
    throw new Error(`No feature here is called “${text.split("=")[0].trim()}”.`);
  }
  for (const { name, value } of found) {
    const unknown = /[,;\n]\s*([^,;\n=]+?)\s*=/.exec(value);
    if (unknown) throw new Error(`No feature here is called “${unknown[1]}”.`);
    setters.get(name)(row, value);
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

function startTyping() {
  const [category] = data.categories;
  if (category) byId("values").placeholder += `, ${category.name} = ${category.levels[0]}`;
  byId("go").addEventListener("click", traceTyped);
  byId("values").addEventListener("keydown", (event) => {
    if (event.key === "Enter" && !event.shiftKey) { event.preventDefault(); traceTyped(); }
  });
}
