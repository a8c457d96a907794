// The agents in a table, with what is used of each.

import { badge, bar, empty, h, replace, row, table } from "./dom.js";
import { amount, short, size } from "./format.js";
import { live } from "./live.js";

const step = 200; // rows that are shown at first, and more by each asking
const pause = 500; // ms between two orderings

const words = new Intl.Collator("en", { numeric: true }); // a-2 before a-10

const orders = {
  name: (a, b) => words.compare(a.name, b.name),
  state: (a, b) => (a.state < b.state ? -1 : a.state > b.state ? 1 : orders.name(a, b)),
  tasks: (a, b) => b.tasks - a.tasks || orders.name(a, b),
  cpus: (a, b) => part(b, "cpus") - part(a, "cpus") || orders.name(a, b),
  mem: (a, b) => part(b, "mem") - part(a, "mem") || orders.name(a, b),
};

const part = (a, kind) => (a.total[kind] > 0 ? a.used[kind] / a.total[kind] : 0);

export function agentsView(view) {
  view.title("Agents");
  let order = "name";
  let wanted = "";
  let limit = step;
  const rows = new Map(); // by id, of those shown
  const heading = (key, text) => h("th", { scope: "col", "aria-sort": key === order ? "ascending" : "none" },
    h("button", { class: "sort", onclick: (e) => sort(key, e.target) }, text));
  const columns = [heading("name", "Agent"), heading("state", "State"), heading("tasks", "Tasks"), heading("cpus", "CPU cores used"), heading("mem", "Memory used"), "Devices"];
  const list = table("Agents", columns, []);
  const more = h("button", { class: "quiet", hidden: true, onclick: () => { limit += step; fillIn(); } });
  const none = empty("No agent is called so.");
  const search = h("input", { type: "search", id: "search", placeholder: "Name, id or state", oninput: () => { wanted = search.value.trim().toLowerCase(); fillIn(); } });

  function sort(key, button) {
    order = key;
    for (const th of list.box.querySelectorAll("th[aria-sort]")) th.setAttribute("aria-sort", th.contains(button) ? "ascending" : "none");
    fillIn();
  }

  let due = 0;
  function fillIn() {
    clearTimeout(due);
    due = 0;
    const found = [...live.agents.values()].filter((a) => !wanted || [a.name, a.id, a.state].some((t) => t.toLowerCase().includes(wanted)));
    found.sort(orders[order]);
    rows.clear();
    for (const a of found.slice(0, limit)) rows.set(a.id, agentRow(a));
    replace(list.body, [...rows.values()]);
    none.hidden = found.length > 0;
    more.hidden = found.length <= limit;
    more.textContent = `Show more of ${short(found.length)}`;
  }
  view.owns({ close: () => clearTimeout(due) });
  view.hear(({ changed, reset }) => {
    for (const id of changed) {
      const old = rows.get(id);
      const a = live.agents.get(id);
      if (!old || !a) continue;
      const fresh = agentRow(a);
      if (old.contains(document.activeElement)) continue; // it is brought up to date with the order
      old.replaceWith(fresh);
      rows.set(id, fresh);
    }
    if (reset || [...changed].some((id) => !live.agents.has(id))) due ||= setTimeout(fillIn, pause);
  });
  fillIn();
  return h("section", {},
    h("div", { class: "headline" }, h("h1", {}, "Agents"), h("label", { class: "unseen", for: "search" }, "Search agents"), search),
    h("div", { class: "card" }, list.box, none, more));
}

function agentRow(a) {
  const state = a.state !== "active" ? a.state : !a.online ? "offline" : a.closed ? "closed" : "active";
  return row([
    h("a", { href: `#/agents/${encodeURIComponent(a.id)}` }, a.name), badge(state), a.tasks,
    usage(a, "cpus"), usage(a, "mem"), deviceStrips(a),
  ]);
}

export function usage(a, kind) {
  return bar(a.used[kind], a.total[kind], `${amount(kind, a.used[kind])} of ${amount(kind, a.total[kind])}`);
}

// deviceStrips draws every device as a bar of its own.
export function deviceStrips(a) {
  const classes = Object.entries(a.devices ?? {});
  if (classes.length === 0) return h("span", { class: "faint" }, "none");
  return h("span", { class: "strips" }, classes.map(([name, c]) => {
    const used = c.used.reduce((x, y) => x + y, 0);
    const whole = c.capacity.reduce((x, y) => x + y, 0);
    const text = `${name}: ${size(used)} of ${size(whole)} on ${c.capacity.length} used`;
    return h("span", { class: "strip", role: "img", "aria-label": text, title: text }, c.capacity.map((n, i) => {
      const inner = h("span", {});
      inner.style.height = `${n > 0 ? Math.min(100, (100 * c.used[i]) / n) : 0}%`;
      return h("span", { class: "device" }, inner);
    }));
  }));
}
