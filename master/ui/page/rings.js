// The rings of one kind, drawn as rings: in the middle who has nothing free,
// farther out who has more. An agent is a dot, which moves when tasks start
// and end. 10,000 dots are drawn as fast as ten, but they jump.

import { h, replace } from "./dom.js";
import { amount, percent, short, title } from "./format.js";
import { freeOf, live, ringed, wholeOf } from "./live.js";

const many = 1500; // dots, from which they jump
const pause = 200; // ms between two drawings of so many, at least
const idle = 8; // times as long as a drawing of so many took, the page is left to others
const travel = 450; // ms that a move takes
const golden = (Math.sqrt(5) - 1) / 2; // of a turn, spreads dots evenly, however many come
const spoke = 0.09; // of a turn, at the top, that is left to the labels
const band = 7; // px, and more, that a band is wide
const label = 20; // px between two labels, at least
const hole = 0.1; // of the radius, so that full agents don't meet in one point

// steps of use, each with its colour; the legend names them.
export const steps = [
  { upTo: 0, name: "unused" },
  { upTo: 0.5, name: "up to half used" },
  { upTo: 0.9, name: "up to 90 % used" },
  { upTo: Infinity, name: "nearly or wholly used" },
];

const places = new Map(); // id of an agent: its number, which gives its angle
function angleOf(id) {
  if (!places.has(id)) places.set(id, places.size);
  const turn = spoke / 2 + (1 - spoke) * ((places.get(id) * golden + 0.13) % 1);
  return 2 * Math.PI * (turn - 0.25);
}

// kinds are those that any agent has some of.
export function kinds() {
  const agents = [...live.agents.values()];
  return live.rings.map((r) => r.name).filter((name) => agents.some((a) => wholeOf(a, name) > 0));
}

// ringOf is the position of the ring, from 0, that so much free room is in.
export function ringOf(from, free) {
  let low = 0;
  for (let high = from.length; high - low > 1; ) {
    const middle = (low + high) >> 1;
    if (from[middle] <= free) low = middle;
    else high = middle;
  }
  return low;
}

// RingSet is one figure. It belongs to a view, which calls update and close.
export class RingSet {
  constructor(kind, { open }) {
    this.kind = kind;
    this.open = open;
    this.dots = new Map();
    this.frame = 0;
    this.drawn = 0;
    this.cost = 0; // ms that the last drawing took
    this.side = 0; // px, as it was drawn last
    this.at = null; // the dot that is pointed at
    this.canvas = h("canvas", { tabindex: "0", role: "group", "aria-roledescription": "picture of rings" });
    this.tip = h("div", { class: "tip", role: "status", hidden: true });
    this.caption = h("figcaption", {}, h("a", { href: `#/rings/${encodeURIComponent(kind)}` }, title(kind)), h("span", { class: "count" }));
    this.node = h("figure", { class: "rings" }, this.caption, h("div", { class: "plate" }, this.canvas, this.tip));
    this.listen();
    this.resize = new ResizeObserver(() => {
      if (this.canvas.clientWidth !== this.side) this.plan();
    });
    this.resize.observe(this.canvas);
    this.theme = matchMedia("(prefers-color-scheme: dark)");
    this.themed = () => this.plan();
    this.theme.addEventListener("change", this.themed);
    this.update(null);
  }

  close() {
    this.resize.disconnect();
    this.theme.removeEventListener("change", this.themed);
    cancelAnimationFrame(this.frame);
    clearTimeout(this.later);
  }

  // update takes in what changed of these agents, null for all.
  update(changed) {
    this.from = live.rings.find((r) => r.name === this.kind)?.from ?? [0];
    const most = [...(changed ? [] : live.agents.values())].reduce((m, a) => Math.max(m, wholeOf(a, this.kind)), 0);
    if (!changed) this.most = most;
    this.shown = ringOf(this.from, this.most) + 1;
    if (!changed) {
      for (const id of this.dots.keys()) if (!live.agents.has(id)) this.dots.delete(id);
    }
    for (const id of changed ?? live.agents.keys()) this.place(id);
    this.caption.lastChild.textContent = `${short(this.dots.size)} agent${this.dots.size === 1 ? "" : "s"}`;
    this.canvas.setAttribute("aria-label", `Rings of ${title(this.kind)}: ${this.dots.size} agents in ${this.shown} rings. Arrow keys go from agent to agent, Enter opens one.`);
    this.plan();
  }

  place(id) {
    const a = live.agents.get(id);
    const free = a && ringed(a) ? freeOf(a, this.kind) : null;
    if (free === null) {
      this.dots.delete(id);
      return;
    }
    const whole = wholeOf(a, this.kind);
    const used = whole > 0 ? 1 - free / whole : 0;
    const to = this.radius(free);
    const dot = this.dots.get(id) ?? { id, cos: Math.cos(angleOf(id)), sin: Math.sin(angleOf(id)), r: to, from: to, began: 0 };
    if (dot.to !== to) {
      dot.from = dot.r;
      dot.began = performance.now();
    }
    Object.assign(dot, { to, free, whole, step: steps.findIndex((s) => used <= s.upTo + 1e-9), name: a.name });
    dot.big = this.most > 0 ? Math.sqrt(whole / this.most) : 1;
    this.dots.set(id, dot);
  }

  // radius is where so much free room lies, 0 to 1.
  radius(free) {
    const i = Math.min(ringOf(this.from, free), this.shown - 1);
    const low = this.from[i];
    const high = i + 1 < this.from.length ? this.from[i + 1] : Math.max(this.most, low + 1);
    const within = high > low ? Math.min(1, Math.max(0, (free - low) / (high - low))) : 0;
    return hole + ((1 - hole) * (i + 0.25 + 0.5 * within)) / this.shown;
  }

  // plan draws with the next frame, or soon where there is much to draw.
  plan() {
    if (this.frame || this.later) return;
    const wait = this.dots.size > many ? Math.max(pause, idle * this.cost) - (performance.now() - this.drawn) : 0;
    if (wait > 0) {
      this.later = setTimeout(() => {
        this.later = 0;
        this.plan();
      }, wait);
      return;
    }
    this.frame = requestAnimationFrame((now) => {
      this.frame = 0;
      const began = performance.now();
      const moving = this.draw(now);
      this.drawn = performance.now();
      this.cost = this.drawn - began;
      if (moving) this.plan();
    });
  }

  // draw reports whether dots are still on their way.
  draw(now) {
    const side = this.canvas.clientWidth;
    this.side = side;
    if (!side) return false;
    const scale = devicePixelRatio || 1;
    if (this.canvas.width !== Math.round(side * scale)) this.canvas.width = this.canvas.height = Math.round(side * scale);
    const paint = this.canvas.getContext("2d");
    paint.setTransform(scale, 0, 0, scale, 0, 0);
    paint.clearRect(0, 0, side, side);
    const style = getComputedStyle(this.canvas);
    const colour = (name) => style.getPropertyValue(name);
    this.middle = side / 2;
    this.unit = side / 2 - 10;
    this.circles(paint, colour);
    this.labels(paint, colour);
    const moving = this.scatter(paint, colour, now);
    if (this.at) this.mark(paint, colour);
    return moving;
  }

  edge(i) {
    return this.unit * (hole + ((1 - hole) * i) / this.shown);
  }

  // every says of how many rings one is drawn, for those to be so many pixels apart.
  every(apart) {
    return Math.max(1, Math.ceil(apart / (this.edge(1) - this.edge(0))));
  }

  // circles draws bands: of a ring, or of several where one would be a hairline.
  circles(paint, colour) {
    const every = this.every(band);
    for (let n = Math.ceil(this.shown / every); n > 0; n--) {
      paint.beginPath();
      paint.arc(this.middle, this.middle, this.edge(Math.min(n * every, this.shown)), 0, 2 * Math.PI);
      paint.fillStyle = colour(n % 2 ? "--ring-odd" : "--ring-even");
      paint.fill();
      paint.strokeStyle = colour("--ring-line");
      paint.lineWidth = 1;
      paint.stroke();
    }
  }

  scatter(paint, colour, now) {
    let moving = false;
    const jump = this.dots.size > many || matchMedia("(prefers-reduced-motion: reduce)").matches;
    const size = Math.max(1.2, Math.min(6, 60 / Math.sqrt(this.dots.size + 1)));
    const groups = steps.map(() => []);
    for (const d of this.dots.values()) {
      const part = jump || !d.began ? 1 : Math.min(1, (now - d.began) / travel);
      moving ||= part < 1;
      d.r = d.from + (d.to - d.from) * (1 - (1 - part) ** 3);
      d.x = this.middle + this.unit * d.r * d.cos;
      d.y = this.middle + this.unit * d.r * d.sin;
      d.size = Math.max(1.2, size * (0.55 + 0.45 * d.big));
      groups[d.step].push(d);
    }
    const round = this.dots.size <= many;
    groups.forEach((dots, i) => {
      paint.fillStyle = colour(`--dot-${i}`);
      if (round) this.circled(paint, dots, colour("--plate"));
      else for (const d of dots) paint.fillRect(d.x - d.size, d.y - d.size, 2 * d.size, 2 * d.size);
    });
    return moving;
  }

  // circled draws round dots, each by itself: one path of all is far slower.
  circled(paint, dots, edge) {
    paint.strokeStyle = edge;
    paint.lineWidth = 1;
    for (const d of dots) {
      paint.beginPath();
      paint.arc(d.x, d.y, d.size, 0, 2 * Math.PI);
      paint.fill();
      if (this.dots.size < 400) paint.stroke();
    }
  }

  // labels write where bands begin, straight up from the middle, as many as have room.
  labels(paint, colour) {
    const rings = this.every(band);
    const every = rings * Math.ceil(this.every(label) / rings);
    paint.font = "11px system-ui, sans-serif";
    paint.textAlign = "center";
    paint.textBaseline = "middle";
    for (let i = 0; i < this.shown; i += every) {
      const text = amount(this.kind, this.from[i]);
      const y = this.middle - (i === 0 ? 0 : this.edge(i));
      const wide = paint.measureText(text).width / 2 + 4;
      paint.fillStyle = colour("--plate");
      paint.globalAlpha = 0.82;
      paint.beginPath();
      paint.roundRect(this.middle - wide, y - 8, 2 * wide, 16, 8);
      paint.fill();
      paint.globalAlpha = 1;
      paint.fillStyle = colour("--faint");
      paint.fillText(text, this.middle, y);
    }
  }

  // mark puts a circle around the dot that is pointed at, and what is known of
  // it beside.
  mark(paint, colour) {
    const { x, y } = this.at;
    this.tip.style.left = `${Math.min(Math.max(x, 110), 2 * this.middle - 110)}px`;
    this.tip.style.top = `${y + (y < 90 ? 14 : -14)}px`;
    this.tip.classList.toggle("below", y < 90);
    paint.beginPath();
    paint.arc(x, y, this.at.size + 4, 0, 2 * Math.PI);
    paint.strokeStyle = colour("--text");
    paint.lineWidth = 2;
    paint.stroke();
  }

  listen() {
    this.canvas.addEventListener("pointermove", (e) => this.point(this.nearest(e.offsetX, e.offsetY)));
    this.canvas.addEventListener("pointerleave", () => this.point(null));
    this.canvas.addEventListener("blur", () => this.point(null));
    this.canvas.addEventListener("click", (e) => {
      const dot = this.nearest(e.offsetX, e.offsetY);
      if (dot) this.open(dot.id);
    });
    this.canvas.addEventListener("keydown", (e) => this.key(e));
  }

  nearest(x, y) {
    let best = null;
    let least = 144; // 12 px
    for (const d of this.dots.values()) {
      const far = (d.x - x) ** 2 + (d.y - y) ** 2;
      if (far < least) [best, least] = [d, far];
    }
    return best;
  }

  key(e) {
    const by = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[e.key];
    if (e.key === "Enter" && this.at) this.open(this.at.id);
    if (!by || this.dots.size === 0) return;
    e.preventDefault();
    const inOrder = [...this.dots.values()].sort((a, b) => a.free - b.free || (a.name < b.name ? -1 : 1));
    const i = inOrder.indexOf(this.at);
    this.point(inOrder[i < 0 ? 0 : (i + by + inOrder.length) % inOrder.length]);
  }

  // point shows what is known of a dot.
  point(dot) {
    this.canvas.style.cursor = dot ? "pointer" : "default";
    if (dot === this.at) return;
    this.at = dot;
    this.tip.hidden = !dot;
    if (dot) {
      const i = ringOf(this.from, dot.free);
      const upTo = i + 1 < this.from.length ? `to ${amount(this.kind, this.from[i + 1])}` : "and more";
      replace(this.tip,
        h("strong", {}, dot.name),
        h("span", {}, `${amount(this.kind, dot.free)} of ${amount(this.kind, dot.whole)} free (${percent(dot.whole ? dot.free / dot.whole : 0)})`),
        h("span", {}, `ring ${i + 1}: ${amount(this.kind, this.from[i])} ${upTo}`));
    }
    this.plan();
  }
}

// legend says in a few words how to read the picture.
export function legend() {
  const swatch = (i) => h("span", { class: `swatch step-${i}` });
  return h("div", { class: "legend" },
    h("p", {}, "Each dot is an agent, each band a ring, or a few: agents with about as much free. ", h("strong", {}, "Full agents sit in the middle; the farther out, the more is free."),
      " A dot moves in when a task starts and out when one ends. The bigger the dot, the more the agent has in all."),
    h("ul", {}, steps.map((step, i) => h("li", {}, swatch(i), step.name))));
}
