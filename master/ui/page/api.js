// Requests to the master that this page came from. It passes on to the leader,
// so the page never has to go elsewhere. The token is kept for this tab alone.

const tokenKey = "ringmaster-token";

// Refusal is an answer that is an error, in the words of the master.
export class Refusal extends Error {
  constructor(status, code, message) {
    super(message);
    this.status = status;
    this.code = code;
  }
}

export const token = {
  get: () => sessionStorage.getItem(tokenKey) ?? "",
  set: (text) => sessionStorage.setItem(tokenKey, text),
  drop: () => sessionStorage.removeItem(tokenKey),
};

// request returns the answer once its head is there; the rest may stream.
export async function request(path, options = {}) {
  const headers = { Prefer: "pass-on", ...options.headers };
  if (token.get()) headers.Authorization = `Bearer ${token.get()}`;
  let answer;
  try {
    answer = await fetch(path, { ...options, headers, redirect: "manual", cache: "no-store" });
  } catch (err) {
    if (err.name === "AbortError") throw err;
    throw new Refusal(0, "unavailable", "The master does not answer.");
  }
  if (answer.type === "opaqueredirect") throw new Refusal(503, "unavailable", "The masters are changing their leader.");
  if (!answer.ok) throw await refusal(answer);
  return answer;
}

async function refusal(answer) {
  try {
    const { error } = await answer.json();
    return new Refusal(answer.status, error.code, error.message);
  } catch {
    return new Refusal(answer.status, "internal", `The master answered with ${answer.status}.`);
  }
}

// get reads one thing.
export async function get(path, signal) {
  return (await request(path, { signal })).json();
}

// order asks for a change.
export async function order(method, path, body = {}) {
  const answer = await request(path, { method, body: JSON.stringify(body), headers: { "Content-Type": "application/json" } });
  return answer.json();
}

// ref writes a task's id as the API takes it anywhere.
export function ref(task) {
  return `${task.framework_id}:${task.task_id ?? task.id}`;
}
