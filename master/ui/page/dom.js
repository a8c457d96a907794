// Elements out of data. Text is only ever set as text: what a task is called
// can't become markup.

const svgSpace = "http://www.w3.org/2000/svg";

// h makes an element: h("a", {href, class, onclick}, "text", child, [children]).
export function h(tag, props = {}, ...children) {
  return fill(document.createElement(tag), props, children);
}

// s does the same for SVG.
export function s(tag, props = {}, ...children) {
  return fill(document.createElementNS(svgSpace, tag), props, children);
}

function fill(node, props, children) {
  for (const [name, value] of Object.entries(props)) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else node.setAttribute(name, value === true ? "" : value);
  }
  add(node, children);
  return node;
}

// add appends children; null and false are left out, lists are opened.
export function add(node, children) {
  for (const child of [children].flat(Infinity)) {
    if (child === null || child === undefined || child === false) continue;
    node.append(child instanceof Node ? child : document.createTextNode(String(child)));
  }
  return node;
}

// replace puts children in the place of what a node holds.
export function replace(node, ...children) {
  node.textContent = "";
  return add(node, children);
}

// table makes a table in a box that scrolls by itself, so that the page never does.
export function table(caption, columns, rows, attributes = {}) {
  const body = h("tbody", {}, rows);
  const head = columns.map((c) => (typeof c === "string" ? h("th", { scope: "col" }, c) : c));
  const all = h("table", {}, h("caption", {}, caption), h("thead", {}, h("tr", {}, head)), body);
  const box = h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": caption, ...attributes }, all);
  return { box, body };
}

// row makes one row: the first cell heads it.
export function row(cells, attributes = {}) {
  return h("tr", attributes, cells.map((c, i) => (i === 0 ? h("th", { scope: "row" }, c) : h("td", {}, c))));
}

// facts makes a list of names and values, without the empty ones.
export function facts(pairs) {
  const shown = pairs.filter(([, value]) => value !== undefined && value !== null && value !== "");
  return h("dl", { class: "facts" }, shown.map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", {}, value))));
}

// bar draws a part of a whole with the numbers beside it. Nearly all is a
// warning, or where that is wanted good.
export function bar(part, whole, text, wanted = false) {
  const share = whole > 0 ? Math.min(1, part / whole) : 0;
  const inner = h("span", { class: wanted ? "fill wanted" : share > 0.9 ? "fill full" : "fill" });
  inner.style.width = `${(share * 100).toFixed(1)}%`;
  const outer = h("span", { class: "track", role: "meter", "aria-label": text, "aria-valuemin": 0, "aria-valuemax": 100, "aria-valuenow": Math.round(share * 100) }, inner);
  return h("span", { class: "bar" }, outer, h("span", { class: "amount" }, text));
}

// badge is a state in its colour; the word says it too.
export function badge(state) {
  return h("span", { class: `badge ${state}` }, state);
}

// empty says in a sentence why there is nothing.
export function empty(text) {
  return h("p", { class: "empty" }, text);
}
