// One stream of events for all pages of a browser, which keeps but six
// connections to a master: a lock says which page reads, and a channel carries
// what it hears to the others. When it closes or is hidden another one has the
// lock, and goes on after the last event that it was told.
//
// Only pages with the same token share. Where a browser has no locks, as on
// addresses without TLS that are not this machine's, each page reads for itself.

const patience = 1500; // ms that a page which reads has to answer, before it is asked again
const tries = 3; // before a page reads for itself

// Share calls lead() when this page is to read from now on, and take(message)
// for what the page that reads says. A page that enters or is out of step asks
// for a floor, which the page that reads answers with a message of that kind.
export class Share {
  constructor({ lead, take, answer }) {
    Object.assign(this, { lead, take, answer, name: "", channel: null, queue: null, release: null, waiting: 0, asked: 0 });
  }

  // reads says whether this page is the one that reads.
  get reads() {
    return !this.channel || this.release !== null;
  }

  // enter joins the pages with that token; it returns whether this one is to
  // read at once. Otherwise it has asked for a floor.
  async enter(token) {
    this.leave();
    if (!navigator.locks || !globalThis.crypto?.subtle || !globalThis.BroadcastChannel) return true;
    const sum = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(token));
    this.name = `ringmaster-1-${[...new Uint8Array(sum).slice(0, 8)].map((b) => b.toString(16).padStart(2, "0")).join("")}`;
    this.channel = new BroadcastChannel(this.name);
    this.channel.onmessage = (e) => this.hear(e.data);
    const first = await new Promise((done) => this.hold({ ifAvailable: true }, done));
    if (!first) {
      this.want();
      this.ask();
    }
    return first;
  }

  // hold takes the lock and keeps it until release is called; got hears whether
  // it has it.
  hold(options, got) {
    const channel = this.channel;
    navigator.locks.request(this.name, options, (lock) => {
      if (!lock || channel !== this.channel) {
        got(false);
        return null;
      }
      return new Promise((release) => {
        this.release = release;
        this.settle();
        got(true);
      });
    }).catch(() => {}); // it was wanted no more
  }

  // want waits for its turn to read.
  want() {
    if (!this.channel || this.queue || this.release) return;
    this.queue = new AbortController();
    this.hold({ signal: this.queue.signal }, (has) => {
      this.queue = null;
      if (has) this.lead();
    });
  }

  // yield lets another page read.
  yield() {
    this.queue?.abort();
    this.queue = null;
    this.release?.();
    this.release = null;
  }

  // leave ends all of it.
  leave() {
    this.yield();
    this.settle();
    this.channel?.close();
    this.channel = null;
  }

  // tell says something to the other pages.
  tell(message) {
    if (this.release) this.channel.postMessage(message);
  }

  // ask wants a floor, again and again; a page that never gets one reads for
  // itself from then on.
  ask() {
    if (this.waiting || this.reads) return;
    if (this.asked === tries) {
      this.leave();
      this.lead();
      return;
    }
    this.asked++;
    this.channel.postMessage({ kind: "ask" });
    this.waiting = setTimeout(() => {
      this.waiting = 0;
      this.ask();
    }, patience);
  }

  settle() {
    clearTimeout(this.waiting);
    this.waiting = 0;
    this.asked = 0;
  }

  hear(message) {
    if (message.kind === "ask") {
      if (this.release) this.answer();
    } else if (!this.release) {
      if (message.kind === "floor") {
        if (!this.waiting && !message.all) return; // it is for others
        this.settle();
      } else if (this.waiting) {
        return; // it is in the floor to come
      }
      this.take(message);
    }
  }
}
