// GET /v1/events as long as somebody looks: read by fetch, so that the token
// goes in a header, and gone on with after the last event had.

import { request } from "./api.js";

const silence = 15000; // ms; the master says every 5 s that it lives
const longest = 8000; // ms between two tries

// Stream calls hear({ events, status, held }, before) for what comes in one piece,
// before being the event after which it came, and stand(words) when the connection comes or goes. fail gets a Refusal that
// trying again won't mend.
export class Stream {
  constructor({ hear, stand, fail }) {
    Object.assign(this, { hear, stand, fail, after: "", wait: 0, running: null });
  }

  // start reads what comes after that event.
  start(after) {
    this.stop();
    this.after = after;
    this.wait = 250;
    this.resume();
  }

  resume() {
    if (this.running || !this.after) return;
    this.running = new AbortController();
    this.run(this.running.signal);
  }

  stop() {
    this.running?.abort();
    this.running = null;
  }

  async run(signal) {
    while (!signal.aborted) {
      try {
        await this.stretch(signal);
      } catch (err) {
        if (signal.aborted) return;
        if (err.status === 401 || err.status === 400) {
          this.fail(err);
          return;
        }
      }
      if (signal.aborted) return;
      this.stand("reconnecting");
      await new Promise((done) => setTimeout(done, this.wait));
      this.wait = Math.min(longest, this.wait * 2);
    }
  }

  // stretch reads one connection to its end.
  async stretch(signal) {
    const own = new AbortController();
    const stop = () => own.abort();
    signal.addEventListener("abort", stop);
    let watch = setTimeout(stop, silence);
    try {
      const answer = await request(`/v1/events?status=true&after=${encodeURIComponent(this.after)}`, { signal: own.signal });
      const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
      this.wait = 250;
      this.stand("live");
      for (let rest = ""; ; ) {
        const { done, value } = await reader.read();
        if (done) return;
        clearTimeout(watch);
        watch = setTimeout(stop, silence);
        rest = this.take(rest + value);
        if (signal.aborted) return;
      }
    } finally {
      clearTimeout(watch);
      signal.removeEventListener("abort", stop);
    }
  }

  // take hands on the whole blocks of a text and returns what is left of it.
  take(text) {
    const blocks = text.split("\n\n");
    const rest = blocks.pop();
    const events = [];
    let status = null;
    let held = null;
    const before = this.after;
    let after = before;
    for (const block of blocks) {
      const { id, event, data } = fields(block);
      if (id) after = id;
      if (event === "status") status = JSON.parse(data);
      else if (event === "held") held = JSON.parse(data).agents;
      else if (data) events.push(JSON.parse(data));
    }
    this.after = after;
    if (events.length > 0 || status || held || after !== before) this.hear({ events, status, held }, before);
    return rest;
  }
}

// fields reads the lines of one block.
function fields(block) {
  const out = {};
  for (const line of block.split("\n")) {
    const colon = line.indexOf(":");
    if (colon > 0) out[line.slice(0, colon)] = line.slice(colon + 1).trimStart();
  }
  return out;
}
