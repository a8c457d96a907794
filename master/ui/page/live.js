// What this page knows of the cluster and how it stays true: GET /v1/floor is
// read once, with the event after which it changes; from then on every launch
// is added and every end taken away. Views subscribe to what changed, which
// they are told once a frame. Of several pages of a browser one reads, and the
// others have from it what it knows and hears; see share.js.

import { get, token } from "./api.js";
import { Share } from "./share.js";
import { Stream } from "./stream.js";

const kept = 50; // events that are shown as the latest
const quiet = 20000; // ms after which a page that nobody sees gives its connection back

// live is the one model of this page.
export const live = {
  agents: new Map(), // by id; none that is gone
  held: new Map(), // by id: what outstanding offers hold of an agent, a second old at most
  rings: [], // {name, from: [...]}
  status: null, // as GET /v1/status has it, every 15 s
  latest: [], // events, the newest first
  connection: "connecting",
};

const subscribers = new Set();
let changed = new Set(); // ids of agents
let news = []; // events
let reset = false;
let planned = false;

// subscribe calls hear({changed, events, reset}) from then on; it returns what ends that.
export function subscribe(hear) {
  subscribers.add(hear);
  return () => subscribers.delete(hear);
}

function plan() {
  if (planned) return;
  planned = true;
  requestAnimationFrame(() => {
    planned = false;
    const change = { changed, events: news, reset };
    changed = new Set();
    news = [];
    reset = false;
    for (const hear of [...subscribers]) hear(change);
  });
}

function stand(words) {
  live.connection = words;
  plan();
}

let refused = () => {};
let known = false; // there is a model
let begun = null; // resolves when there is one

const stream = new Stream({
  hear: (news, before) => {
    share.tell({ kind: "news", before, after: stream.after, news });
    hear(news);
  },
  stand: (words) => {
    share.tell({ kind: "stand", words });
    stand(words);
  },
  fail: (err) => refused(err),
});

const share = new Share({
  // This page reads from now on: after what it was told, where it knows that.
  lead: () => {
    if (known) stream.resume();
    else load().then(begun?.resolve, begun?.reject);
  },
  take: (message) => {
    if (message.kind === "floor") adopt(message);
    else if (!known) share.ask();
    else if (message.kind === "stand") stand(message.words);
    else if (message.before !== stream.after) share.ask();
    else {
      stream.after = message.after;
      hear(message.news);
    }
  },
  answer: () => {
    if (known) tellFloor(false);
  },
});

function hear({ events, status, held }) {
  if (status) live.status = status;
  for (const e of events) apply(e);
  if (held) holds(held);
  plan();
}

// holds takes in what outstanding offers hold, which comes as a whole.
function holds(list) {
  for (const id of live.held.keys()) changed.add(id);
  live.held = new Map(list.map((a) => [a.id, a]));
  for (const id of live.held.keys()) changed.add(id);
}

// tellFloor tells what is known to who asked, or to all.
function tellFloor(all) {
  share.tell({ kind: "floor", all, after: stream.after, agents: [...live.agents.values()], rings: live.rings, status: live.status, held: [...live.held.values()], latest: live.latest, connection: live.connection });
}

// adopt takes over what another page knows.
function adopt({ after, agents, rings, status, held, latest, connection }) {
  stream.after = after;
  live.latest = latest;
  live.connection = connection;
  known = true;
  build(agents, rings, status);
  holds(held);
  begun?.resolve();
}

// open begins, and throws a Refusal where that can't be; fail hears of one later.
// What a page that reads builds on is on its way while it is found out whether
// this is one, which takes the browser as long.
export async function open(fail) {
  refused = fail;
  const first = new Promise((resolve, reject) => (begun = { resolve, reject }));
  const early = new AbortController();
  const asked = base(early.signal);
  asked.catch(() => {}); // where it is wanted, that is told below
  try {
    if (await share.enter(token.get())) {
      await load(asked);
    } else {
      early.abort();
      await first;
    }
  } catch (err) {
    share.leave();
    throw err;
  } finally {
    begun = null;
  }
  [changed, news, reset] = [new Set(), [], false]; // who subscribes from now on has read it all
  if (document.hidden) hide();
}

// close forgets everything.
export function close() {
  stream.stop();
  share.leave();
  known = false;
  live.agents.clear();
  live.held.clear();
  live.status = null;
  live.latest = [];
}

// base asks for what a model is built of.
function base(signal) {
  return Promise.all([get("/v1/floor", signal), get("/v1/status", signal)]);
}

async function load(asked = base()) {
  const [floor, status] = await asked;
  known = true;
  build(floor.agents, floor.rings, status);
  stream.start(floor.after);
  tellFloor(true);
}

function build(agents, rings, status) {
  live.agents = new Map(agents.map((a) => [a.id, a]));
  live.rings = rings;
  live.status = status;
  reset = true;
  plan();
}

// anew reads everything again where events were lost; a failure is tried again.
let loading = null;
function anew() {
  if (!share.reads) {
    share.ask(); // the page that reads does
    return;
  }
  loading ??= new Promise((done) => setTimeout(done, 500)).then(load).then(
    () => (loading = null),
    (err) => {
      loading = null;
      if (err.status === 401) refused(err);
      else anew();
    },
  );
}

// apply changes what is known as one event says.
function apply(e) {
  switch (e.type) {
    case "begin":
      return;
    case "gap":
    case "restored":
      anew();
      return;
    case "task_launched":
      take(e, 1);
      break;
    case "task_ended":
      take(e, -1);
      break;
    case "agent_registered":
      ask(e);
      break;
    case "agent_updated":
      agentIs(e);
      break;
    case "agent_disconnected":
      touch(e.agent_id, (a) => (a.online = false));
      break;
    case "agent_closed":
    case "agent_opened":
      touch(e.agent_id, (a) => (a.closed = e.message));
      break;
    case "leader_elected":
      leads(e);
      break;
  }
  news.push(e);
  live.latest.unshift(e);
  live.latest.length = Math.min(live.latest.length, kept);
}

function touch(id, change) {
  const a = live.agents.get(id);
  if (!a) return;
  change(a);
  changed.add(id);
}

// take counts a task on its agent, or takes it off. What is launched was offered.
function take(e, sign) {
  if (sign > 0) unhold(e);
  touch(e.agent_id, (a) => {
    a.tasks += sign;
    for (const kind of Object.keys(a.used)) a.used[kind] = round(a.used[kind] + sign * (e.resources[kind] ?? 0));
    for (const [name, grants] of Object.entries(e.devices ?? {})) {
      const c = a.devices?.[name];
      for (const g of c ? grants : []) {
        c.used[g.index] += sign * g.memory;
        c.shares[g.index] = round(c.shares[g.index] + sign * (g.share ?? 0));
      }
    }
  });
}

function unhold(e) {
  const held = live.held.get(e.agent_id);
  if (!held) return;
  for (const kind of Object.keys(held.room)) held.room[kind] = Math.max(0, round(held.room[kind] - (e.resources[kind] ?? 0)));
  for (const [name, grants] of Object.entries(e.devices ?? {})) {
    for (const g of grants) {
      const h = held.devices?.[name]?.find((x) => x.index === g.index);
      if (h) h.memory = Math.max(0, h.memory - g.memory);
    }
  }
}

// round keeps sums of thousandths exact.
const round = (n) => Math.round(n * 1000) / 1000;

function agentIs(e) {
  if (e.state === "gone") {
    live.agents.delete(e.agent_id);
    changed.add(e.agent_id);
  } else {
    touch(e.agent_id, (a) => (a.state = e.state));
  }
}

function leads(e) {
  if (!live.status) return;
  live.status.leader = { name: e.name, address: e.address };
  live.status.term = e.term;
  for (const m of live.status.masters) {
    if (m.name === e.name) m.role = "leader";
    else if (m.role === "leader") m.role = "follower";
  }
}

// ask reads agents that came, a few one by one and many at once.
const asked = new Set();
function ask(e) {
  touch(e.agent_id, (a) => {
    a.online = true;
    a.state = e.state;
  });
  if (asked.size === 0) setTimeout(readAsked, 200);
  asked.add(e.agent_id);
}

async function readAsked() {
  const ids = [...asked];
  asked.clear();
  if (ids.length > 10) {
    anew();
    return;
  }
  for (const id of ids) {
    try {
      arrived(await get(`/v1/agents/${encodeURIComponent(id)}`));
    } catch {
      anew(); // it went meanwhile, or the masters did
      return;
    }
  }
}

// arrived takes what an agent has from its record; what is used on an agent
// that was known stays as the events have it.
function arrived(a) {
  const known = live.agents.get(a.id);
  if (!known) {
    anew();
    return;
  }
  const { cpus, mem, disk, bandwidth } = a.total;
  known.total = { cpus, mem, disk, bandwidth };
  known.state = a.state;
  known.online = a.online;
  known.closed = a.closed;
  for (const [name, c] of Object.entries(a.devices)) {
    if (known.devices?.[name]?.capacity.length !== c.capacity.length) {
      anew();
      return;
    }
  }
  changed.add(a.id);
  plan();
}

// freeOf is what an agent has free of a kind of rings, neither used nor offered;
// null: it has none of it at all.
export function freeOf(a, kind) {
  const held = live.held.get(a.id);
  if (kind in a.total) return a.total[kind] > 0 ? Math.max(0, round(a.total[kind] - a.used[kind] - (held?.room[kind] ?? 0))) : null;
  const slice = kind.endsWith(".slice");
  const name = slice ? kind.slice(0, -6) : kind;
  const c = a.devices?.[name];
  if (!c) return null;
  const taken = [...c.used];
  for (const g of held?.devices?.[name] ?? []) taken[g.index] += g.memory;
  if (slice) return c.capacity.reduce((most, n, i) => Math.max(most, n - taken[i]), 0);
  return taken.filter((n, i) => n === 0 && c.shares[i] === 0).length;
}

// wholeOf is what it has of that kind when nothing runs.
export function wholeOf(a, kind) {
  if (kind in a.total) return a.total[kind];
  if (!kind.endsWith(".slice")) return a.devices?.[kind]?.capacity.length ?? 0;
  return Math.max(0, ...(a.devices?.[kind.slice(0, -6)]?.capacity ?? []));
}

// ringed says whether an agent is in the rings: only what can be offered is.
export const ringed = (a) => a.online && a.state === "active" && !a.closed;

// Nobody looks: the connection is given back, and another page reads where one
// is looked at. Who looks again goes on after the last event.
let hiding = 0;
function hide() {
  hiding = setTimeout(() => {
    stream.stop();
    share.yield();
  }, quiet);
}

function look() {
  if (share.reads) stream.resume();
  else share.want();
}

document.addEventListener("visibilitychange", () => {
  clearTimeout(hiding);
  if (!known) return;
  if (document.hidden) hide();
  else look();
});

// A page that is left may be kept by the browser, and be come back to.
addEventListener("pagehide", () => {
  stream.stop();
  share.yield();
});
addEventListener("pageshow", (e) => {
  if (e.persisted && known) look();
});
