// HTML and SVG elements, number formats, and texts that are cut to a width.

const byId = (id) => document.getElementById(id);

function make(name, attributes, content, space) {
  const made = space ? document.createElementNS(space, name) : document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  for (const part of Array.isArray(content) ? content : [content]) {
    if (part !== null && part !== undefined) made.append(part);
  }
  return made;
}

const svg = (name, attributes = {}, content = null) =>
  make(name, attributes, content, "http://www.w3.org/2000/svg");
const html = (name, attributes = {}, content = null) => make(name, attributes, content, null);

const minus = (text) => text.replace(/-/g, "−");
const number = (x, digits = 3) => minus(Number(x.toPrecision(digits)).toString());
const signedNumber = (x, digits = 2) => (x > 0 ? "+" : "") + number(x, digits);
const percent = (x) => `${(100 * x).toFixed(1)} %`;
const plural = (n, what, digits = 6) =>
  `${number(n, digits)} ${n === 1 ? what.replace(/aves$/, "af").replace(/s( |$)/, "$1") : what}`;

const ruler = document.createElement("canvas").getContext("2d");
function widthOf(text, size, weight = "") {
  ruler.font = `${weight} ${size}px system-ui, sans-serif`;
  return ruler.measureText(text).width;
}

// Cuts the middle of a text that is wider than the room in pixels.
function fitted(text, room, size, weight = "") {
  if (widthOf(text, size, weight) <= room) return text;
  const parts = [...text]; // whole characters
  const cut = (n) => `${parts.slice(0, Math.ceil(n / 2)).join("")}…${parts.slice(parts.length - Math.floor(n / 2)).join("")}`;
  return cut(longest(parts.length, (n) => widthOf(cut(n), size, weight) <= room));
}

// The largest number below `end` that satisfies a monotone predicate, which 0 is taken to do.
function longest(end, isShort) {
  let [fits, tooLong] = [0, end];
  while (tooLong - fits > 1) {
    const middle = (fits + tooLong) >> 1;
    if (isShort(middle)) fits = middle;
    else tooLong = middle;
  }
  return fits;
}

// Lines of at most a width in pixels, broken at spaces; a longer word is a line of its own.
function wrapped(text, room, size, weight = "600") {
  const lines = [];
  for (const word of text.split(" ")) {
    const longer = lines.length ? `${lines[lines.length - 1]} ${word}` : word;
    if (lines.length && widthOf(longer, size, weight) <= room) lines[lines.length - 1] = longer;
    else lines.push(word);
  }
  return lines;
}

// ---------------------------------------------------------------- names

// A name as it is drawn: without the beginning that most long names share.
const { prefix } = data.abbreviation;
const shortName = (name) => (prefix ? name.split(prefix).join("…") : name);

// A line of a name can break behind spaces, "_", ":" and "-", but not inside a unit such as "mg/l".
const piecesOf = (name) => name.split(/(?<=[\s_:-])|(?<=\.)(?=[A-Za-z])/);

// A name as at most two lines; the middle of a longer one is cut.
function nameLines(name, room, size, weight = "") {
  if (widthOf(name, size, weight) <= room) return [name];
  const lines = [""];
  for (const piece of piecesOf(name)) {
    const longer = lines[lines.length - 1] + piece;
    if (lines[lines.length - 1] === "" || widthOf(longer.trimEnd(), size, weight) <= room) {
      lines[lines.length - 1] = longer;
    } else lines.push(piece);
  }
  const fits = (line) => widthOf(line.trimEnd(), size, weight) <= room;
  if (lines.length <= 2 && lines.every(fits)) return lines.map((line) => line.trimEnd());
  const parts = [...name];
  const whole = longest(parts.length, (some) => fits(parts.slice(0, some).join("")));
  const rest = parts.slice(whole).join("");
  if (whole && fits(rest)) return [parts.slice(0, whole).join(""), rest];
  const start = (n) => `${parts.slice(0, n).join("")}…`;
  const end = (n) => `…${parts.slice(parts.length - n).join("")}`;
  return [start, end].map((cut) => cut(longest(parts.length, (n) => fits(cut(n)))));
}

// Names that are written from right to left must not reorder the text around them. Isolating
// characters do in drawings and labels what <bdi> does in the panel.
const RIGHT_TO_LEFT = /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc\u{10800}-\u{10fff}\u{1e800}-\u{1efff}]/u;
const isolated = (name) => (RIGHT_TO_LEFT.test(name) ? `\u2068${name}\u2069` : name);

const UNBROKEN = 16; // characters of the longest piece of a name in which no line breaks

// A name in the panel.
function named(name) {
  const parts = piecesOf(name).flatMap((piece) => [
    piece.length > UNBROKEN ? piece : html("span", { class: "piece" }, piece), html("wbr"),
  ]);
  return html("bdi", {}, parts.slice(0, -1));
}

// The parts of a condition of one column, with its name isolated; `isolate` marks the name.
function conditionOf(node, side, isolate = named) {
  const [name] = node.test.lines;
  const text = node.test[side];
  return text.startsWith(name) ? [isolate(name), text.slice(name.length)] : [isolate(text)];
}
const conditionText = (node, side) => conditionOf(node, side, isolated).join("");

// Colours of the diverging scale, -1 to 1.
const stops = data.colors.map((color) =>
  [1, 3, 5].map((start) => parseInt(color.slice(start, start + 2), 16)));
function signedColor(t) {
  const at = ((Math.max(-1, Math.min(1, t)) + 1) / 2) * (stops.length - 1);
  const k = Math.min(Math.floor(at), stops.length - 2);
  return stops[k].map((low, c) => Math.round(low + (at - k) * (stops[k + 1][c] - low)));
}

function say(text, isFault = false) {
  byId("message").textContent = text;
  byId("message").className = isFault ? "fault" : "";
}

// Makes the buttons of a list one stop of the tab key; arrow keys, Home and End move inside it.
function oneStop(list) {
  const buttons = [...list.querySelectorAll("button")];
  buttons.forEach((one, i) => { one.tabIndex = i === 0 ? 0 : -1; });
  list.onkeydown = (event) => {
    const at = buttons.indexOf(document.activeElement);
    const to = {
      ArrowDown: at + 1, ArrowRight: at + 1, ArrowUp: at - 1, ArrowLeft: at - 1,
      Home: 0, End: buttons.length - 1,
    }[event.key];
    if (at < 0 || to === undefined || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    if (!buttons[to]) return;
    buttons[at].tabIndex = -1;
    buttons[to].tabIndex = 0;
    buttons[to].focus();
  };
}
