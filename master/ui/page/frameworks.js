// Who shares the cluster: roles with their quotas, frameworks with their
// dominant shares.

import { badge, bar, empty, facts, h, replace, row, table } from "./dom.js";
import { amount, moment, percent, quota, short, size } from "./format.js";
import { live } from "./live.js";
import { taskList } from "./tasks.js";

const pause = 2000; // ms between two readings
const moved = (e) => /^(task_launched|task_ended|framework_|role_)/.test(e.type);

export function frameworksView(view) {
  view.title("Frameworks");
  const frameworks = table("Frameworks", ["Framework", "Connection", "Role", "Tasks", "Dominant share", "Demands", "Id"], []);
  const roles = table("Roles", ["Role", "Weight", "Dominant share", "Used of limit", "Guaranteed", "Frameworks", "Placement"], []);
  const waiting = table("Demands that wait", ["Demand", "Framework", "Role", "Wants", "Units left", "Where", "What stops it"], []);
  const noneWaits = empty("None: whatever was asked for has its place.");
  const none = empty("No framework is registered. ringmaster run, ringmaster jobs and your own are such.");
  const noRole = empty("No role is in use.");
  let names = new Map(); // of frameworks, by id
  let waits = [];
  const drawWaits = () => replace(waiting.body, waits.map((d) => waitingRow(d, names.get(d.framework_id))));
  view.reads({ path: "/v1/frameworks", pause, wants: moved, show: ({ frameworks: list }) => {
    names = new Map(list.map((f) => [f.id, f.name]));
    drawWaits();
    replace(frameworks.body, list.map(frameworkRow));
    frameworks.box.hidden = list.length === 0;
    none.hidden = list.length > 0;
  } });
  view.reads({ path: "/v1/roles", pause, wants: moved, show: ({ roles: list }) => {
    replace(roles.body, list.map(roleRow));
    roles.box.hidden = list.length === 0;
    noRole.hidden = list.length > 0;
  } });
  const again = view.reads({ path: "/v1/explain?limit=200", pause, wants: moved, show: ({ demands: list }) => {
    waits = list;
    drawWaits();
    waiting.box.hidden = list.length === 0;
    noneWaits.hidden = list.length > 0;
  } });
  let pending = "";
  view.hear(() => { // no event tells of a demand; how many wait comes with the status
    const now = JSON.stringify(live.status?.pending);
    if (now !== pending) again();
    pending = now;
  });
  none.hidden = noRole.hidden = noneWaits.hidden = true;
  return h("section", {},
    h("h1", {}, "Frameworks and roles"),
    h("p", { class: "legend" }, "A share is what somebody has of the kind that they have most of, ", h("strong", {}, "their dominant share"), ". Whoever has the least for their weight is offered next. Offers count."),
    h("div", { class: "card" }, h("h2", {}, "Frameworks"), frameworks.box, none),
    h("div", { class: "card" }, h("h2", {}, "Demands that wait"), waiting.box, noneWaits),
    h("div", { class: "card" }, h("h2", {}, "Roles"), roles.box, noRole));
}

const share = (v) => bar(v.share, 1, v.share > 0 ? `${percent(v.share)} of ${v.dominant}` : "nothing");
const connection = (f) => badge(f.removed ? "removed" : f.connected ? "connected" : "disconnected");

function frameworkRow(f) {
  return row([h("a", { href: `#/frameworks/${encodeURIComponent(f.id)}` }, f.name), connection(f), f.role, short(f.tasks), share(f),
    f.suppressed ? "suppressed" : short(f.demands), h("code", {}, f.id)]);
}

// roleRow sets a role off by how deep it is.
function roleRow(r) {
  const depth = r.name.split("/").length - 1;
  const limits = Object.entries(r.quota.limit).map(([kind, most]) => bar(r.used[kind] ?? 0, most, `${quota(kind, r.used[kind] ?? 0)} of ${quota(kind, most)} ${kind}`));
  const guarantees = Object.entries(r.quota.guarantee).map(([kind, n]) => h("div", {}, `${quota(kind, n)} ${kind}`));
  return row([h("span", { class: `depth-${Math.min(depth, 4)}` }, r.name), short(r.weight), share(r),
    limits.length ? limits : h("span", { class: "faint" }, "no limit"), guarantees.length ? guarantees : h("span", { class: "faint" }, "nothing"), r.frameworks, r.placement ?? ""]);
}

// waitingRow names the kinds and conditions that no agent meets, as the masters
// explain it.
function waitingRow(d, framework) {
  return row([d.demand_id, h("a", { href: `#/frameworks/${encodeURIComponent(d.framework_id)}` }, framework ?? d.framework_id), d.role, wanted(d.resources),
    d.count === undefined ? "whole agents" : short(d.count), (d.constraints ?? []).join(", "), d.stopped.map((s) => [badge(s), " "])]);
}

function wanted(r) {
  const devices = Object.entries(r.devices ?? {}).map(([name, ask]) => [ask.count, name, ask.memory ? `of ${size(ask.memory)}` : ""].filter(Boolean).join(" "));
  return ["cpus", "mem", "disk", "bandwidth"].filter((k) => r[k] > 0).map((k) => `${amount(k, r[k])} ${k}`).concat(devices).join(", ");
}

export function frameworkView(view, [id]) {
  view.title(`Framework ${id}`);
  const head = h("h1", {}, `Framework ${id}`);
  const about = h("div", {});
  view.reads({ path: `/v1/frameworks/${encodeURIComponent(id)}`, pause, wants: (e) => e.framework_id === id && moved(e), show: (f) => {
    view.title(`Framework ${f.name}`);
    head.textContent = `Framework ${f.name}`;
    replace(about, facts([
      ["Connection", connection(f)], ["Role", f.role], ["Dominant share", share(f)], ["Tasks", short(f.tasks)],
      ["Demands", f.suppressed ? "suppressed" : short(f.demands)],
      ["Used", amounts(f.used)], ["Offered", amounts(f.offered)],
      ["User", f.user], ["Id", h("code", {}, f.id)], ["Registered", moment(f.registered)], ["Removed at", moment(f.deadline)],
      ["Labels", Object.entries(f.labels ?? {}).map(([k, v]) => `${k}=${v}`).join(", ")],
    ]));
  } });
  return h("section", {}, head, h("div", { class: "card" }, about), h("div", { class: "card" }, h("h2", {}, "Tasks"), taskList(view, { framework: id })));
}

function amounts(a) {
  return ["cpus", "mem", "disk", "bandwidth"].filter((k) => a[k] > 0).map((k) => `${quota(k, a[k])} ${k}`).join(", ") || "nothing";
}
