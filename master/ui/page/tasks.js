// Tasks in a table that stays true: what happens to those shown, and new ones
// on top.

import { get, ref } from "./api.js";
import { badge, empty, h, replace, row, table } from "./dom.js";
import { amount, moment, size } from "./format.js";
import { live } from "./live.js";

const page = 100; // tasks that are asked for at once
const most = 1000; // rows; older ones go as new ones come

const states = ["staging", "starting", "running", "killing", "unreachable", "finished", "failed", "killed", "rejected", "dropped", "gone"];

export function tasksView(view, _, query) {
  view.title("Tasks");
  const pick = h("select", { id: "state", onchange: () => view.go(pick.value ? `#/tasks?state=${pick.value}` : "#/tasks") },
    h("option", { value: "" }, "in every state"), states.map((s) => h("option", { value: s, selected: s === query.get("state") }, s)));
  const find = h("input", { id: "find", type: "search", placeholder: "id, or its beginning" });
  const form = h("form", { class: "inline" }, h("label", { for: "find" }, "Go to"), find, h("button", { class: "quiet" }, "Open"));
  form.addEventListener("submit", (e) => {
    e.preventDefault();
    if (find.value.trim()) view.go(`#/tasks/${encodeURIComponent(find.value.trim())}`);
  });
  return h("section", {},
    h("div", { class: "headline" }, h("h1", {}, "Tasks"), h("span", { class: "inline" }, h("label", { for: "state" }, "Those"), pick), form),
    h("div", { class: "card" }, taskList(view, { state: query.get("state") ?? "" })));
}

// taskList shows the tasks that a filter lets through: {state, agent, framework}.
export function taskList(view, filter) {
  const list = table("Tasks", ["Task", "State", "Framework", "Agent", "CPU", "Memory", "Devices", "Launched"], []);
  const none = empty("There is none.");
  const more = h("button", { class: "quiet", hidden: true, onclick: () => view.load(read) }, "Show more");
  const rows = new Map(); // by reference
  const frameworks = new Map(); // names by id
  let next = "";

  const put = (t) => {
    const fresh = taskRow(t, frameworks);
    rows.get(ref(t))?.node.replaceWith(fresh);
    rows.set(ref(t), { task: t, node: fresh });
    return fresh;
  };
  const learn = async (which, signal) => {
    for (const f of (await get(`/v1/frameworks${which}`, signal)).frameworks) frameworks.set(f.id, f.name);
  };
  const read = async (signal) => {
    const ask = new URLSearchParams({ limit: page });
    for (const [name, value] of Object.entries({ ...filter, next })) if (value) ask.set(name, value);
    const answer = await get(`/v1/tasks?${ask}`, signal);
    next = answer.next ?? "";
    if (answer.tasks.some((t) => !frameworks.has(t.framework_id))) await learn("?state=removed", signal);
    for (const t of answer.tasks) {
      const known = rows.has(ref(t));
      const node = put(t);
      if (!known) list.body.append(node);
    }
    more.hidden = !next;
    none.hidden = rows.size > 0;
    list.box.hidden = rows.size === 0;
  };
  const launched = (e) => {
    if (filter.agent && filter.agent !== e.agent_id || filter.framework && filter.framework !== e.framework_id || filter.state && filter.state !== "staging") return;
    list.body.prepend(put({ ...e, id: e.task_id, created: e.time }));
    none.hidden = true;
    list.box.hidden = false;
    if (rows.size > most) {
      const last = list.body.lastElementChild;
      for (const [key, r] of rows) if (r.node === last) rows.delete(key);
      last.remove();
    }
  };
  view.hear(({ events, reset }) => {
    if (reset) again();
    for (const e of events) {
      if (e.type === "task_launched") launched(e);
      const known = e.task_id && rows.get(ref(e));
      if (known && e.state && e.type !== "task_launched") put({ ...known.task, state: e.state, reason: e.reason, exit_code: e.exit_code, signal: e.signal });
    }
  });
  const again = () => view.load(async (signal) => {
    await learn("", signal);
    rows.clear();
    next = "";
    replace(list.body);
    await read(signal);
  });
  none.hidden = true;
  again();
  return h("div", {}, list.box, none, more);
}

function taskRow(t, frameworks) {
  const { cpus = 0, mem = 0 } = t.resources ?? {};
  return row([
    h("a", { href: `#/tasks/${encodeURIComponent(ref(t))}` }, t.id),
    [badge(t.state), " ", h("span", { class: "faint" }, ending(t))],
    h("a", { href: `#/frameworks/${encodeURIComponent(t.framework_id)}` }, frameworks.get(t.framework_id) ?? t.framework_id),
    h("a", { href: `#/agents/${encodeURIComponent(t.agent_id)}` }, live.agents.get(t.agent_id)?.name ?? t.agent_id),
    cpus ? amount("cpus", cpus) : "", mem ? size(mem) : "", grants(t.devices), moment(t.created),
  ]);
}

// ending is why a task is as it is.
export function ending(t) {
  return [t.reason, t.exit_code !== undefined && t.exit_code !== 0 ? `exit code ${t.exit_code}` : "", t.signal].filter(Boolean).join(", ");
}

// grants are the devices that a task holds.
export function grants(devices) {
  return Object.entries(devices ?? {}).map(([name, list]) => `${name} ${list.map((g) => `${g.index} (${size(g.memory)})`).join(", ")}`).join("; ");
}
