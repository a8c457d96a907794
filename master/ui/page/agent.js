// One agent: what it is, what is used of it device by device, its tasks.

import { act } from "./acts.js";
import { badge, bar, empty, facts, h, replace, row, table } from "./dom.js";
import { moment, size, title } from "./format.js";
import { usage } from "./agents.js";
import { live } from "./live.js";
import { taskList } from "./tasks.js";

export function agentView(view, [id]) {
  view.title(`Agent ${live.agents.get(id)?.name ?? id}`);
  const head = h("h1", {}, `Agent ${live.agents.get(id)?.name ?? id}`);
  const buttons = h("div", { class: "buttons" });
  const about = h("div", {});
  const room = h("div", { class: "room" });
  const devices = table("Devices", ["Device", "Memory used", "Share", "Enforced by", "Health", "What it is"], []);
  let record = null;

  const draw = () => {
    const a = live.agents.get(id);
    if (a) replace(room, ["cpus", "mem", "disk", "bandwidth"].filter((k) => a.total[k] > 0).map((k) => h("div", {}, h("span", { class: "name" }, title(k)), usage(a, k))));
    if (!record) return;
    replace(about, aboutOf(record, a));
    const state = a?.state ?? "gone";
    if (buttons.dataset.state !== state) replace(buttons, orders(record, state));
    buttons.dataset.state = state;
    replace(devices.body, deviceRows(record, a));
    devices.box.hidden = devices.body.children.length === 0;
  };
  view.reads({
    path: `/v1/agents/${encodeURIComponent(id)}`,
    wants: (e) => e.agent_id === id && e.type.startsWith("agent_"),
    show: (a) => {
      record = a;
      head.textContent = `Agent ${a.name}`;
      draw();
    },
  });
  view.hear(({ changed, reset }) => {
    if (reset || changed.has(id)) draw();
  });
  devices.box.hidden = true;
  draw();
  return h("section", {}, h("div", { class: "headline" }, head, buttons),
    h("div", { class: "split" }, h("div", { class: "card" }, h("h2", {}, "Used"), room), h("div", { class: "card" }, h("h2", {}, "About"), about)),
    h("div", { class: "card" }, h("h2", {}, "Devices"), devices.box, empty("It has none.")),
    h("div", { class: "card" }, h("h2", {}, "Tasks"), taskList(view, { agent: id })));
}

function orders(record, state) {
  const path = `/v1/agents/${encodeURIComponent(record.id)}`;
  if (state === "active") {
    return act({
      label: "Drain", title: `Drain ${record.name}?`, path: `${path}/drain`, say: `Agent ${record.name} drains.`,
      text: "It is offered to nobody any more, and its tasks are told to end. Undrain takes it back.",
      field: { label: "Time between SIGTERM and SIGKILL", value: "", placeholder: "each task's own, or 10m", read: (text) => (text ? { deadline: text } : {}) },
    });
  }
  if (state !== "draining" && state !== "drained") return null;
  return act({ label: "Undrain", harmless: true, title: `Undrain ${record.name}?`, text: "It is offered again.", path: `${path}/undrain`, say: `Agent ${record.name} is back.` });
}

function aboutOf(record, now) {
  const attributes = Object.entries(record.attributes).map(([k, v]) => h("code", {}, `${k}=${v}`));
  return facts([
    ["State", badge(now?.state ?? record.state)],
    ["Closed", (now ?? record).closed],
    ["Connected", (now?.online ?? record.online) ? "yes" : "no"],
    ["Id", h("code", {}, record.id)],
    ["Host", record.host],
    ["Address", record.address],
    ["Attributes", attributes.length ? h("span", { class: "attributes" }, attributes) : null],
    ["Version", record.version],
    ["Started", moment(record.started)],
    ["Registered", moment(record.registered)],
  ]);
}

function deviceRows(record, now) {
  return Object.entries(record.devices).flatMap(([name, c]) => c.ids.map((deviceID, i) => {
    const used = now?.devices?.[name]?.used[i] ?? c.used[i];
    const share = now?.devices?.[name]?.shares[i] ?? c.shares[i];
    const what = Object.entries(c.attributes?.[i] ?? {}).map(([k, v]) => `${k} ${v}`).join(", ");
    return row([`${name} ${i}`, bar(used, c.capacity[i], `${size(used)} of ${size(c.capacity[i])}`), share || "", c.enforcement[i],
      h("span", { class: c.health[i] === "ok" ? "" : "error" }, c.health[i]), what || deviceID]);
  }));
}
