// A view is what the page shows for one address. What it opens ends with it.

import { get } from "./api.js";
import { h } from "./dom.js";
import { subscribe } from "./live.js";

export class View {
  constructor(go) {
    this.go = go;
    this.ending = new AbortController();
    this.owned = [];
  }

  // signal ends with the view; requests take it.
  get signal() {
    return this.ending.signal;
  }

  title(text) {
    document.title = `${text} · Ringmaster`;
  }

  // owns keeps something with a close method until the view ends.
  owns(thing) {
    this.owned.push(thing);
    return thing;
  }

  // hear is told what changes in the live model.
  hear(listener) {
    this.owned.push({ close: subscribe(listener) });
  }

  // load runs something that asks the master, and shows why it failed.
  async load(work, failed = (err) => this.failed(err)) {
    try {
      await work(this.signal);
    } catch (err) {
      if (!this.signal.aborted) failed(err);
    }
  }

  failed(err) {
    this.node?.append(h("p", { class: "error", role: "alert" }, err.message));
  }

  // missing says that there is no such thing, in the place of all that would be
  // shown of it but the heading; found shows that again.
  missing(err) {
    this.found();
    const parts = [...(this.node?.querySelectorAll(":scope > section > :not(:first-child)") ?? [])].filter((part) => !part.hidden);
    for (const part of parts) part.hidden = true;
    this.failed(err);
    const said = this.node?.lastElementChild;
    this.found = () => {
      for (const part of parts) part.hidden = false;
      said?.remove();
      delete this.found;
    };
  }

  found() {}

  // later runs something when the view has been painted as it is now.
  later(work) {
    const frame = requestAnimationFrame(() => (due = setTimeout(work)));
    let due = 0;
    this.owned.push({ close: () => { cancelAnimationFrame(frame); clearTimeout(due); } });
  }

  // reads asks for something now, and again when an event is wanted, but never
  // more often than once in that many milliseconds.
  reads({ path, show, wants, pause = 1000 }) {
    let due = 0;
    let last = 0;
    let busy = false;
    let shown = false;
    const failed = (err) => (err.status === 404 && !shown ? this.missing(err) : this.failed(err));
    const read = async () => {
      due = 0;
      busy = true;
      last = performance.now();
      await this.load(async (signal) => {
        const answer = await get(path, signal);
        if (!shown) this.found();
        shown = true;
        show(answer);
      }, failed);
      busy = false;
    };
    const soon = () => {
      due ||= setTimeout(() => (busy ? ((due = 0), soon()) : read()), Math.max(0, last + pause - performance.now()));
    };
    this.owned.push({ close: () => clearTimeout(due) });
    this.hear(({ events, reset }) => {
      if (reset || events.some(wants)) soon();
    });
    read();
    return soon;
  }

  close() {
    this.ending.abort();
    for (const thing of this.owned) thing.close();
  }
}
