// The page: signs in where that is needed, opens the live model, and shows the
// view that the address names.

import { Refusal, token } from "./api.js";
import { h, replace } from "./dom.js";
import { close, live, open, subscribe } from "./live.js";
import { overview } from "./overview.js";
import { ringsView } from "./ringsview.js";
import { agentsView } from "./agents.js";
import { agentView } from "./agent.js";
import { frameworksView, frameworkView } from "./frameworks.js";
import { jobsView, jobView } from "./jobs.js";
import { tasksView } from "./tasks.js";
import { taskView } from "./task.js";
import { View } from "./view.js";

// either shows one thing where the address names one, all of them otherwise.
const either = (all, one) => (view, rest, query) => (rest[0] ? one : all)(view, rest, query);

// routes by the first part of the address; those in the menu have a name.
const routes = [
  { at: "", name: "Overview", show: overview },
  { at: "rings", name: "Rings", show: ringsView },
  { at: "agents", name: "Agents", show: either(agentsView, agentView) },
  { at: "tasks", name: "Tasks", show: either(tasksView, taskView) },
  { at: "jobs", name: "Jobs", show: either(jobsView, jobView) },
  { at: "frameworks", name: "Frameworks", show: either(frameworksView, frameworkView) },
];

const main = document.getElementById("main");
const menu = document.querySelector("header nav");
const connection = document.getElementById("connection");
const signout = document.getElementById("signout");
let current = null;
let opened = false;

// address reads #/first/rest?query.
function address() {
  const [path, query] = location.hash.replace(/^#\/?/, "").split("?");
  const [first, ...rest] = path.split("/").map(decodeURIComponent);
  return { first, rest, query: new URLSearchParams(query) };
}

function go(to) {
  location.hash = to;
}

function show(focus) {
  if (!opened) return;
  current?.close();
  const { first, rest, query } = address();
  const route = routes.find((r) => r.at === first) ?? routes[0];
  for (const a of menu.children) {
    if (a.dataset.at === route.at) a.setAttribute("aria-current", "page");
    else a.removeAttribute("aria-current");
  }
  current = new View(go);
  current.node = main;
  replace(main, route.show(current, rest, query));
  if (focus) {
    main.focus({ preventScroll: true });
    scrollTo(0, 0);
  }
}

function standing() {
  connection.textContent = live.connection;
  connection.className = live.connection;
}

// start opens the model, tries again while the master can't answer, and asks
// for the token where one is needed.
async function start() {
  for (let wait = 500; ; wait = Math.min(8000, wait * 2)) {
    try {
      await open(refused);
      break;
    } catch (err) {
      if (err.status === 401) {
        signIn(token.get() ? "That is not the cluster's token." : "");
        return;
      }
      replace(main, h("section", {}, h("h1", {}, "Not connected"), h("p", { class: "error", role: "alert" }, err.message), h("p", {}, "It is tried again.")));
      await new Promise((done) => setTimeout(done, wait));
    }
  }
  opened = true;
  signout.hidden = !token.get();
  show(false);
}

function refused(err) {
  if (err instanceof Refusal && err.status === 401) signIn("");
  else location.reload();
}

// signIn asks for the cluster's token. It stays in this tab until that is
// closed, or signed out of.
function signIn(why) {
  leave();
  document.title = "Sign in · Ringmaster";
  connection.textContent = "signed out";
  connection.className = "";
  const field = h("input", { id: "token", type: "password", autocomplete: "off", required: true, "aria-describedby": "tokenhelp" });
  const form = h("form", { class: "card signin" },
    h("h1", {}, "Sign in"),
    h("label", { for: "token" }, "The cluster's token"), field,
    h("p", { id: "tokenhelp" }, "It is what the masters were started with (--token). This tab remembers it until it is closed."),
    why && h("p", { class: "error", role: "alert" }, why),
    h("button", {}, "Sign in"));
  form.addEventListener("submit", (e) => {
    e.preventDefault();
    token.set(field.value.trim());
    start();
  });
  replace(main, form);
  field.focus();
}

function leave() {
  opened = false;
  current?.close();
  current = null;
  close();
  token.drop();
  signout.hidden = true;
}

for (const r of routes) if (r.name) menu.append(h("a", { href: `#/${r.at}`, "data-at": r.at }, r.name));
signout.addEventListener("click", () => signIn(""));
document.querySelector(".skip").addEventListener("click", (e) => {
  e.preventDefault(); // the address names a view
  main.focus();
});
addEventListener("hashchange", () => show(true));
subscribe(standing);
start();
