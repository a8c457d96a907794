// What a task wrote, as it writes it. Only the end of a long log is kept here.

import { get, request } from "./api.js";
import { h, replace } from "./dom.js";

const kept = 256 << 10; // characters that are shown, and bytes that are read of what was there before
const patience = 2000; // ms until a reading that broke is gone on with

export function logsOf(view, task) {
  const text = h("pre", { class: "log", tabindex: "0", role: "region", "aria-label": "Log" });
  const standing = h("span", { class: "faint", role: "status" });
  const tabs = h("div", { class: "tabs", role: "group", "aria-label": "Stream" });
  let reading = null;
  const choose = (stream) => {
    reading?.close();
    replace(text);
    replace(tabs, ["stdout", "stderr"].map((s) => h("button", { class: "quiet", "aria-pressed": s === stream ? "true" : "false", onclick: () => choose(s) }, s)), standing);
    reading = new Reading(task, stream, text, standing);
  };
  view.owns({ close: () => reading?.close() });
  choose("stdout");
  return h("div", {}, tabs, text);
}

// seen waits until somebody looks: a browser has but six connections to a
// master, and a log that nobody sees can wait.
function seen() {
  if (!document.hidden) return null;
  return new Promise((done) => {
    const look = () => {
      if (document.hidden) return;
      document.removeEventListener("visibilitychange", look);
      done();
    };
    document.addEventListener("visibilitychange", look);
  });
}

// Reading follows one stream until it is closed or the task's log ends.
class Reading {
  constructor(task, stream, text, standing) {
    Object.assign(this, { task, stream, text, standing, offset: 0, waiting: "", frame: 0 });
    this.ending = new AbortController();
    this.run(this.ending.signal);
  }

  close() {
    this.ending.abort();
    cancelAnimationFrame(this.frame);
  }

  async run(signal) {
    try {
      await this.begin(signal);
    } catch (err) {
      if (!signal.aborted) this.standing.textContent = err.message;
      return;
    }
    for (;;) {
      await seen();
      if (signal.aborted) return;
      const unseen = new AbortController();
      const look = () => document.hidden && unseen.abort();
      document.addEventListener("visibilitychange", look);
      try {
        await this.stretch(AbortSignal.any([signal, unseen.signal]));
        this.standing.textContent = this.offset === 0 && !this.waiting ? "it wrote nothing" : "the end";
        return;
      } catch (err) {
        if (signal.aborted) return;
        if (unseen.signal.aborted) continue;
        this.standing.textContent = `${err.message} It is tried again.`;
        await new Promise((done) => setTimeout(done, patience));
      } finally {
        document.removeEventListener("visibilitychange", look);
      }
    }
  }

  // begin finds where the end of a long log begins.
  async begin(signal) {
    const { files } = await get(`/v1/tasks/${encodeURIComponent(this.task)}/files`, signal);
    const file = files.find((f) => f.name === this.stream);
    this.offset = Math.max(0, (file?.size ?? 0) - kept);
    if (this.offset > 0) this.show("… what came before is left out here\n");
  }

  async stretch(signal) {
    const query = new URLSearchParams({ stream: this.stream, follow: "true", offset: this.offset });
    const answer = await request(`/v1/tasks/${encodeURIComponent(this.task)}/logs?${query}`, { signal });
    this.standing.textContent = "following";
    const decoder = new TextDecoder();
    const reader = answer.body.getReader();
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      this.offset += value.length;
      this.show(decoder.decode(value, { stream: true }));
    }
  }

  // show puts text on the page with the next frame; what a terminal would
  // colour is left plain.
  show(text) {
    this.waiting = (this.waiting + text.replace(/\u001b\[[0-9;]*[A-Za-z]/g, "")).slice(-kept);
    this.frame ||= requestAnimationFrame(() => {
      this.frame = 0;
      const below = this.text.scrollHeight - this.text.scrollTop - this.text.clientHeight < 40;
      const all = this.text.textContent.length + this.waiting.length;
      if (all > 2 * kept) this.text.textContent = (this.text.textContent + this.waiting).slice(-kept);
      else this.text.append(this.waiting);
      this.waiting = "";
      if (below) this.text.scrollTop = this.text.scrollHeight;
    });
  }
}
