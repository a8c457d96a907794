// Events in words.

import { h } from "./dom.js";
import { live } from "./live.js";

const taskLink = (e) => h("a", { href: `#/tasks/${encodeURIComponent(`${e.framework_id}:${e.task_id}`)}` }, e.task_id);
const agentLink = (e) => h("a", { href: `#/agents/${encodeURIComponent(e.agent_id)}` }, e.name ?? live.agents.get(e.agent_id)?.name ?? e.agent_id);
const why = (e) => [e.reason ? ` (${e.reason})` : "", e.exit_code ? `, exit code ${e.exit_code}` : "", e.signal ? `, ${e.signal}` : ""];
const home = (e) => h("a", { href: `#/agents/${encodeURIComponent(e.agent_id)}` }, live.agents.get(e.agent_id)?.name ?? e.agent_id);

const words = {
  task_launched: (e) => ["task ", taskLink(e), " launched on ", home(e)],
  task_updated: (e) => ["task ", taskLink(e), ` is ${e.state}`, why(e)],
  task_kill_ordered: (e) => ["task ", taskLink(e), " is to end", why(e)],
  task_ended: (e) => ["task ", taskLink(e), ` ${e.state}`, why(e)],
  agent_registered: (e) => ["agent ", agentLink(e), " registered"],
  agent_updated: (e) => ["agent ", agentLink(e), ` is ${e.state}`],
  agent_disconnected: (e) => ["agent ", agentLink(e), " lost its connection"],
  agent_closed: (e) => ["agent ", agentLink(e), ` takes no more tasks for now: ${e.message}`],
  agent_opened: (e) => ["agent ", agentLink(e), " takes tasks again"],
  framework_registered: (e) => [`framework ${e.name} registered`],
  framework_disconnected: (e) => [`framework ${e.name} lost its connection`],
  framework_removed: (e) => [`framework ${e.name} removed`],
  role_set: (e) => [`role ${e.role} set`],
  leader_elected: (e) => [`master ${e.name} leads, term ${e.term}`],
};

// sentence says what an event means, with links to whom it is about.
export function sentence(e) {
  return words[e.type]?.(e) ?? [e.type];
}
