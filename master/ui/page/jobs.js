// The jobs of the jobs framework, and one of them with its instances.

import { act } from "./acts.js";
import { get } from "./api.js";
import { badge, bar, empty, facts, h, replace, row, table } from "./dom.js";
import { clock, moment, short } from "./format.js";

const late = 2500; // ms after an event, by which the framework has drawn its conclusions

// follow reads a path again after what happens to the tasks of the jobs
// framework, and once more a moment later.
function follow(view, path, show) {
  let jobs = "";
  let later = 0;
  const soon = view.reads({
    path, show, pause: 1000,
    wants: (e) => {
      if (e.framework_id !== jobs) return false;
      clearTimeout(later);
      later = setTimeout(soon, late);
      return true;
    },
  });
  view.owns({ close: () => clearTimeout(later) });
  view.load(async (signal) => {
    const { frameworks } = await get("/v1/frameworks", signal);
    jobs = frameworks.find((f) => f.labels?.["ringmaster.jobs"])?.id ?? "";
  });
  return soon;
}

export function jobsView(view) {
  view.title("Jobs");
  const list = table("Jobs", ["Job", "Type", "State", "Instances", "Version", "Runs next", "Since"], []);
  const none = empty("There is no job. Run one with: ringmaster job run FILE");
  follow(view, "/v1/jobs", ({ jobs }) => {
    replace(list.body, (jobs ?? []).map(jobRow));
    none.hidden = (jobs ?? []).length > 0;
    list.box.hidden = !none.hidden;
  });
  none.hidden = list.box.hidden = true;
  return h("section", {}, h("h1", {}, "Jobs"), h("div", { class: "card" }, list.box, none));
}

// instances is how far a job is.
function instances(j) {
  const good = (j.counts.running ?? 0) + (j.counts.done ?? 0);
  const words = Object.entries(j.counts).map(([state, n]) => `${short(n)} ${state}`).join(", ");
  return bar(good, j.total, words || "none yet", true);
}

function jobRow(j) {
  return row([h("a", { href: `#/jobs/${encodeURIComponent(j.name)}` }, j.name), j.type, badge(j.state), instances(j), j.version, moment(j.next), moment(j.created)]);
}

export function jobView(view, [name]) {
  view.title(`Job ${name}`);
  const buttons = h("div", { class: "buttons" });
  const about = h("div", {});
  const list = table("Instances", ["Instance", "State", "Task", "Agent", "Attempt", "Failures", "Started"], []);
  const events = h("ol", { class: "events" });
  const none = empty("There are none yet.");
  const file = h("pre", { class: "log", tabindex: "0", role: "region", "aria-label": "The job's file" });
  const soon = follow(view, `/v1/jobs/${encodeURIComponent(name)}`, (j) => {
    replace(buttons, orders(j, () => soon()));
    replace(about, aboutOf(j));
    replace(list.body, (j.instances ?? []).map((i) => instanceRow(j, i)));
    list.box.hidden = list.body.children.length === 0;
    none.hidden = !list.box.hidden;
    replace(events, (j.events ?? []).slice(-20).reverse().map((e) => h("li", {}, h("time", { datetime: e.time }, clock(e.time)), ` ${[e.task, e.state, e.text].filter(Boolean).join(" ")}`)));
    file.textContent = JSON.stringify(j.job, null, 2);
  });
  list.box.hidden = none.hidden = true;
  return h("section", {},
    h("div", { class: "headline" }, h("h1", {}, `Job ${name}`), buttons),
    h("div", { class: "split" }, h("div", { class: "card" }, h("h2", {}, "About"), about), h("div", { class: "card" }, h("h2", {}, "What happened"), events)),
    h("div", { class: "card" }, h("h2", {}, "Instances"), list.box, none),
    h("details", { class: "card" }, h("summary", {}, "Its file"), file));
}

function orders(j, done) {
  const path = `/v1/jobs/${encodeURIComponent(j.name)}`;
  const out = [];
  if (j.state !== "running" && j.state !== "scheduled") return out;
  if (j.type === "service") {
    out.push(act({
      label: "Scale", harmless: true, title: `Scale ${j.name}`, text: `It has ${j.total} instances. Those that are too many are told to end.`,
      field: { label: "Instances", type: "number", value: j.total, read: (text) => ({ count: Number(text) }) },
      path: `${path}/scale`, say: `Job ${j.name} is scaled.`, done,
    }));
  }
  out.push(act({ label: "Stop", title: `Stop ${j.name}?`, text: "Its instances are told to end, and it does not run again.", path: `${path}/stop`, say: `Job ${j.name} is told to stop.`, done }));
  return out;
}

function aboutOf(j) {
  return facts([
    ["State", badge(j.state)], ["Type", j.type], ["Instances", instances(j)], ["Version", j.version],
    ["Waiting", j.demanded ? `${short(j.demanded)} wait for room` : null],
    ["Rollout", j.rollout ? `to version ${j.rollout.to}: ${j.rollout.state}` : null],
    ["Runs next", moment(j.next)], ["Created", moment(j.created)], ["Ended", moment(j.ended)],
  ]);
}

function instanceRow(j, i) {
  const task = `#/tasks/${encodeURIComponent(`${j.framework_id}:${i.task}`)}`;
  const agent = i.last?.agent ? h("a", { href: `#/agents/${encodeURIComponent(i.last.agent)}` }, i.last.host || i.last.agent) : "";
  return row([[i.step ? `${i.step} ` : "", String(i.index), i.item ? ` (${i.item})` : ""], badge(i.state), i.task ? h("a", { href: task }, i.task) : "", agent, i.attempt || "", i.failures || "", moment(i.last?.started)]);
}
