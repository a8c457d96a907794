// One task: how it stands, what happened to it, what it wrote, its files.

import { act } from "./acts.js";
import { get, ref } from "./api.js";
import { badge, facts, h, replace, row, table } from "./dom.js";
import { filesOf } from "./files.js";
import { amount, between, clock, moment, quota } from "./format.js";
import { logsOf } from "./logs.js";
import { live } from "./live.js";
import { ending, grants } from "./tasks.js";

const ended = ["finished", "failed", "killed", "rejected", "dropped", "gone"];
const moments = { task_launched: "launched", task_kill_ordered: "told to end" };

export function taskView(view, [id, ...rest]) {
  view.title(`Task ${id}`);
  const head = h("h1", {}, "Task");
  const buttons = h("div", { class: "buttons" });
  const about = h("div", {});
  const history = table("History", ["When", "After", "What", "Why"], []);
  const below = h("div", {}); // what is asked of its agent, once
  let own = "";
  let task = null;
  let framework = ""; // its name
  const drawAbout = () => replace(about, aboutOf(task, framework));
  view.reads({
    path: `/v1/tasks/${encodeURIComponent(id)}`,
    wants: (e) => e.task_id && ref(e) === own,
    pause: 300,
    show: (t) => {
      view.title(`Task ${t.id}`);
      head.textContent = t.name && t.name !== t.id ? `${t.name}: ${t.id}` : `Task ${t.id}`;
      replace(buttons, ended.includes(t.state) ? null : kill(t));
      task = t;
      drawAbout();
      replace(history.body, historyOf(t));
      if (!own) {
        own = ref(t);
        view.load(async (signal) => {
          framework = (await get(`/v1/frameworks/${encodeURIComponent(t.framework_id)}`, signal)).name;
          drawAbout();
        }, () => {}); // it is forgotten before its tasks are, and has its id still
        replace(below,
          h("div", { class: "card" }, h("h2", {}, "What it wrote"), logsOf(view, own)),
          h("div", { class: "card" }, h("h2", {}, "Files"), filesOf(view, own, rest[0] === "files" ? rest.slice(1) : [])));
      }
    },
  });
  return h("section", {},
    h("div", { class: "headline" }, head, buttons),
    h("div", { class: "split" },
      h("div", { class: "card" }, h("h2", {}, "About"), about),
      h("div", { class: "card" }, h("h2", {}, "History"), history.box)),
    below);
}

function kill(t) {
  return act({
    label: "Kill", title: `Kill ${t.id}?`, path: `/v1/tasks/${encodeURIComponent(ref(t))}/kill`,
    text: "It is told to end (SIGTERM), and is ended (SIGKILL) when its time for that is over. Its framework hears of it and may launch another.",
    say: `Task ${t.id} is told to end.`,
  });
}

function aboutOf(t, framework) {
  const { cpus, mem, disk, bandwidth, ports } = t.resources;
  const asked = Object.entries({ cpus, mem, disk, bandwidth }).filter(([, n]) => n > 0).map(([k, n]) => (k === "cpus" ? `${amount(k, n)} cpus` : `${k} ${quota(k, n)}`));
  return facts([
    ["State", [badge(t.state), " ", ending(t)]],
    ["Message", t.message],
    ["Healthy", t.healthy === undefined ? null : t.healthy ? "yes" : "no"],
    ["Ran", t.started ? between(t.started, t.finished) : null],
    ["Agent", h("a", { href: `#/agents/${encodeURIComponent(t.agent_id)}` }, live.agents.get(t.agent_id)?.name ?? t.agent_id)],
    ["Framework", h("a", { href: `#/frameworks/${encodeURIComponent(t.framework_id)}` }, framework || t.framework_id)],
    ["Role", t.role],
    ["Asked for", asked.join(", ")],
    ["Devices", grants(t.devices)],
    ["Ports", ports?.join(", ")],
    ["Labels", Object.entries(t.labels ?? {}).map(([k, v]) => `${k}=${v}`).join(", ")],
    ["Launched", moment(t.created)],
    ["Ended", moment(t.finished)],
  ]);
}

function historyOf(t) {
  return (t.history ?? []).map((m) => row([
    h("time", { datetime: m.time }, clock(m.time)), between(t.created, m.time),
    m.type in moments ? moments[m.type] : badge(m.state),
    [ending(m), m.healthy === undefined ? "" : m.healthy ? " healthy" : " not healthy", m.message ? ` ${m.message}` : ""],
  ]));
}
