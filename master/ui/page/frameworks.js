// Who shares the cluster: roles with their quotas, frameworks with their
// dominant shares.

import { badge, bar, empty, facts, h, replace, row, table } from "./dom.js";
import { moment, percent, quota, short } from "./format.js";
import { taskList } from "./tasks.js";

const pause = 2000; // ms between two readings
const moved = (e) => /^(task_launched|task_ended|framework_|role_)/.test(e.type);

export function frameworksView(view) {
  view.title("Frameworks");
  const frameworks = table("Frameworks", ["Framework", "Connection", "Role", "Tasks", "Dominant share", "Demands", "Id"], []);
  const roles = table("Roles", ["Role", "Weight", "Dominant share", "Used of limit", "Guaranteed", "Frameworks", "Placement"], []);
  const none = empty("No framework is registered. ringmaster run, ringmaster jobs and your own are such.");
  const noRole = empty("No role is in use.");
  view.reads({ path: "/v1/frameworks", pause, wants: moved, show: ({ frameworks: list }) => {
    replace(frameworks.body, list.map(frameworkRow));
    frameworks.box.hidden = list.length === 0;
    none.hidden = list.length > 0;
  } });
  view.reads({ path: "/v1/roles", pause, wants: moved, show: ({ roles: list }) => {
    replace(roles.body, list.map(roleRow));
    roles.box.hidden = list.length === 0;
    noRole.hidden = list.length > 0;
  } });
  none.hidden = noRole.hidden = true;
  return h("section", {},
    h("h1", {}, "Frameworks and roles"),
    h("p", { class: "legend" }, "A share is what somebody has of the kind that they have most of, ", h("strong", {}, "their dominant share"), ". Whoever has the least for their weight is offered next. Offers count."),
    h("div", { class: "card" }, h("h2", {}, "Frameworks"), frameworks.box, none),
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
