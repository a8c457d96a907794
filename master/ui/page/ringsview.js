// One kind's rings in full, with the same in numbers.

import { h, replace, row, table } from "./dom.js";
import { amount, short, title } from "./format.js";
import { freeOf, live, ringed } from "./live.js";
import { kinds, legend, ringOf, RingSet } from "./rings.js";

const named = 8; // agents that a ring's row names
const pause = 1000; // ms between two tables

export function ringsView(view, [asked]) {
  const all = kinds();
  const kind = all.includes(asked) ? asked : all[0];
  view.title(kind ? `Rings of ${title(kind)}` : "Rings");
  if (!kind) {
    return h("section", {}, h("h1", {}, "Rings"), h("p", { class: "empty" }, "There are no agents yet. Start one with ringmaster agent."));
  }
  const set = view.owns(new RingSet(kind, { open: (id) => view.go(`#/agents/${encodeURIComponent(id)}`) }));
  set.node.classList.add("large");
  const numbers = table("Rings in numbers", ["Ring", "Free", "Agents", "Who"], []);
  let due = 0;
  const count = () => {
    due = 0;
    replace(numbers.body, rows(kind));
  };
  count();
  view.owns({ close: () => clearTimeout(due) });
  view.hear(({ changed, reset }) => {
    if (!reset && changed.size === 0) return;
    set.update(reset ? null : changed);
    due ||= setTimeout(count, pause);
  });
  const tabs = all.map((k) => h("a", { href: `#/rings/${encodeURIComponent(k)}`, "aria-current": k === kind ? "page" : null }, title(k)));
  return h("section", {},
    h("h1", {}, "Rings"),
    h("nav", { class: "tabs", "aria-label": "Kinds" }, tabs),
    h("div", { class: "split" }, h("div", { class: "card" }, set.node, legend()), h("div", { class: "card" }, h("h2", {}, "In numbers"), numbers.box)));
}

function rows(kind) {
  const from = live.rings.find((r) => r.name === kind)?.from ?? [];
  const rings = from.map(() => []);
  for (const a of live.agents.values()) {
    const free = ringed(a) ? freeOf(a, kind) : null;
    if (free !== null) rings[ringOf(from, free)].push(a);
  }
  const out = [];
  rings.forEach((agents, i) => {
    if (agents.length === 0) return;
    const range = i + 1 < from.length ? `${amount(kind, from[i])} to ${amount(kind, from[i + 1])}` : `${amount(kind, from[i])} and more`;
    const links = agents.slice(0, named).flatMap((a) => [h("a", { href: `#/agents/${encodeURIComponent(a.id)}` }, a.name), " "]);
    out.push(row([i + 1, range, short(agents.length), [links, agents.length > named ? `and ${agents.length - named} more` : ""]]));
  });
  return out;
}
