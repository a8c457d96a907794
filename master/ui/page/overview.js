// The cluster at a glance: who leads, what is used, the rings, what happens.

import { get } from "./api.js";
import { chart, seriesOf } from "./chart.js";
import { badge, empty, h, replace, row, table } from "./dom.js";
import { sentence } from "./events.js";
import { clock, short } from "./format.js";
import { live } from "./live.js";
import { kinds, legend, RingSet } from "./rings.js";

const pause = 1000; // ms between two counts
const shown = 12; // of the latest events

export function overview(view) {
  view.title("Overview");
  const tiles = h("div", { class: "tiles" });
  const masters = table("Masters", ["Master", "Role", "HTTP", "Raft"], []);
  const term = h("span", { class: "count" });
  const charts = h("div", { class: "charts" });
  const rings = h("div", { class: "ringsets" });
  const latest = h("ol", { class: "events" });
  let samples = null; // until they came
  let due = 0;

  const count = () => {
    due = 0;
    replace(tiles, tilesOf(live.status));
    replace(masters.body, mastersOf(live.status));
    term.textContent = `term ${live.status.term}`;
    if (samples) replace(charts, chartsOf(samples));
  };
  const soon = () => (due ||= setTimeout(count, pause));
  const tell = () => replace(latest, live.latest.length ? live.latest.slice(0, shown).map(eventLine) : h("li", {}, empty("Nothing has happened since this page was opened.")));
  let sets = [];
  const draw = () => {
    for (const set of sets) set.close();
    sets = kinds().map((kind) => new RingSet(kind, { open: (id) => view.go(`#/agents/${encodeURIComponent(id)}`) }));
    replace(rings, sets.length ? sets.map((set) => h("div", { class: "card" }, set.node)) : empty("No agent has come yet. Start one with: ringmaster agent --masters HOST:PORT"));
  };
  view.owns({ close: () => { clearTimeout(due); for (const set of sets) set.close(); } });
  let seen = live.status;
  view.hear(({ changed, events, reset }) => {
    if (reset) draw();
    else if (changed.size > 0) for (const set of sets) set.update(changed);
    if (live.status !== seen) {
      seen = live.status;
      samples &&= [...samples, { ...seen, time: new Date().toISOString() }].slice(-240);
    }
    if (events.length > 0) tell();
    soon();
  });
  count();
  tell();
  draw();
  view.later(() => {
    view.reads({ path: "/v1/status", pause: 2000, wants: (e) => /^(framework_|leader_|agent_)/.test(e.type), show: (status) => {
      live.status = seen = status;
      count();
    } });
    view.load(async (signal) => {
      samples = (await get("/v1/usage", signal)).samples;
      count();
    });
  });
  return h("section", {},
    h("h1", { class: "unseen" }, "Overview"),
    tiles,
    h("h2", {}, "Rings"), legend(), rings,
    h("h2", {}, "The last hour"), charts,
    h("div", { class: "split" },
      h("div", { class: "card" }, h("h2", {}, "Latest"), latest),
      h("div", { class: "card" }, h("h2", {}, "Masters ", term), masters.box)));
}

function tile(name, value, note, href) {
  return h("a", { class: "tile", href }, h("span", { class: "name" }, name), h("span", { class: "value" }, value), h("span", { class: "note" }, note));
}

function tilesOf(status) {
  const agents = [...live.agents.values()];
  const tasks = agents.reduce((n, a) => n + a.tasks, 0);
  const states = {};
  for (const a of agents) states[a.state] = (states[a.state] ?? 0) + 1;
  const others = Object.entries(states).filter(([s]) => s !== "active").map(([s, n]) => `${n} ${s}`);
  const waiting = Object.entries(status.pending).map(([kind, n]) => `${n} waiting for ${kind}`);
  const failed = status.tasks.failed ?? 0;
  return [
    tile("Leader", status.leader?.name ?? "none", `of ${status.masters.length} master${status.masters.length === 1 ? "" : "s"}`, "#/"),
    tile("Agents", short(states.active ?? 0), others.join(", ") || "all active", "#/agents"),
    tile("Tasks alive", short(tasks), `${status.tasks.finished ?? 0} finished, ${failed} failed`, "#/tasks"),
    tile("Frameworks", status.frameworks, `${status.offers} offers out`, "#/frameworks"),
    tile("Demands that wait", short(status.waiting), waiting.join(", ") || "none", "#/frameworks"),
  ];
}

function mastersOf(status) {
  return status.masters.map((m) => row([m.name, badge(m.role), m.address, m.raft]));
}

// chartsOf ends every line with what is used now.
function chartsOf(samples) {
  const now = Date.now();
  const used = { cpus: 0, mem: 0, disk: 0, bandwidth: 0, devices: {} };
  for (const a of live.agents.values()) {
    if (a.state === "unreachable") continue;
    for (const kind of ["cpus", "mem", "disk", "bandwidth"]) used[kind] += a.used[kind];
    for (const [name, c] of Object.entries(a.devices ?? {})) {
      used.devices[name] ??= { memory: 0 };
      used.devices[name].memory += c.used.reduce((x, y) => x + y, 0);
    }
  }
  const { total, offered } = live.status;
  const all = [...samples, { time: now, total, offered, used }];
  const names = { cpus: "CPU cores", mem: "Memory", disk: "Disk", bandwidth: "Bandwidth" };
  const wanted = ["cpus", "mem", "disk", "bandwidth"].filter((k) => total[k] > 0);
  const classes = Object.keys(total.devices ?? {});
  return [...wanted, ...classes].map((k) => chart(k, names[k] ?? `${k} memory`, seriesOf(k, all), now));
}

function eventLine(e) {
  return h("li", {}, h("time", { datetime: e.time ?? "" }, clock(e.time)), " ", sentence(e));
}
