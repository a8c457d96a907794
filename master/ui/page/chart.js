// What was used, offered and there of one kind over the last hour.

import { h, s } from "./dom.js";
import { amount, quota } from "./format.js";

const width = 300;
const height = 72;
const hour = 3600e3; // ms

// seriesOf reads one kind out of samples: [{time, total, used, offered}].
export function seriesOf(kind, samples) {
  const of = (v) => v[kind] ?? v.devices?.[kind]?.memory ?? 0;
  return samples.map((p) => ({ time: new Date(p.time).getTime(), total: of(p.total), used: of(p.used), offered: of(p.offered) }));
}

// chart draws a series up to the time now.
export function chart(kind, name, series, now) {
  const last = series.at(-1) ?? { total: 0, used: 0, offered: 0 };
  const text = kind === "cpus" ? amount : quota;
  const top = Math.max(1e-9, ...series.map((p) => Math.max(p.total, p.used + p.offered)));
  const x = (time) => (width * Math.max(0, time - now + hour)) / hour;
  const y = (n) => height - (height * n) / (top * 1.04);
  const line = (value) => series.map((p) => `${x(p.time).toFixed(1)},${y(value(p)).toFixed(1)}`);
  const area = (low, high) => [...line(high), ...line(low).reverse()].join(" ");
  const free = Math.max(0, last.total - last.used - last.offered);
  const picture = s("svg", { viewBox: `0 0 ${width} ${height}`, preserveAspectRatio: "none", role: "img", "aria-label": `${name} over the last hour: now ${text(kind, last.used)} used, ${text(kind, last.offered)} offered, ${text(kind, free)} free of ${text(kind, last.total)}` },
    s("polygon", { class: "used", points: area(() => 0, (p) => p.used) }),
    s("polygon", { class: "offered", points: area((p) => p.used, (p) => p.used + p.offered) }),
    s("polygon", { class: "free", points: area((p) => p.used + p.offered, (p) => p.total) }),
    s("polyline", { class: "total", points: line((p) => p.total).join(" ") }));
  const value = (label, n, key) => h("div", {}, h("dt", {}, h("span", { class: `swatch ${key}` }), label), h("dd", {}, text(kind, n)));
  return h("figure", { class: "chart card" },
    h("figcaption", {}, name, h("span", { class: "count" }, `${text(kind, last.total)} in all`)),
    picture,
    h("div", { class: "axis", "aria-hidden": "true" }, h("span", {}, "1 h ago"), h("span", {}, "now")),
    h("dl", { class: "key" }, value("used", last.used, "used"), value("offered", last.offered, "offered"), value("free", free, "free")));
}
