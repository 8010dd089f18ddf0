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

// Cuts the end of a text that is wider than the room in pixels.
function fitted(text, room, size, weight = "") {
  if (widthOf(text, size, weight) <= room) return text;
  let [fits, tooLong] = [0, text.length];
  while (tooLong - fits > 1) {
    const middle = (fits + tooLong) >> 1;
    if (widthOf(`${text.slice(0, middle)}…`, size, weight) <= room) fits = middle;
    else tooLong = middle;
  }
  return `${text.slice(0, fits)}…`;
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

// Colours of the diverging scale, -1 to 1.
const stops = data.colors.signed.map((color) =>
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
