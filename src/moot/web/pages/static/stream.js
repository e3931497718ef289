// The events of a debate as they happen: one connection, made again when it is lost, and none while nobody looks.

const EVENTS = ["debate_started", "round_started", "turn_started", "turn_chunk", "step_retrying", "turn_finished", "waiting",
  "limit_reached", "debate_finished", "debate_stopped", "debate_failed"];
const AGAIN = 1000;
const RENEW = 2000;
const HIDDEN = 15_000;
const STREAMS = 4;

export class Stream {
  // `receive` gets each event, `refresh` what was missed while there was no connection, `tell` how it stands.
  constructor(url, after, {receive, refresh, goesOn, tell}) {
    Object.assign(this, {url, after, receive, refresh, goesOn, tell, source: null, connecting: false, retry: 0});
    this.leave = () => {};
    document.addEventListener("visibilitychange", () => this.look());
  }

  async connect() {
    clearTimeout(this.retry);
    if (this.source || this.connecting || !this.goesOn()) return;
    if (document.hidden) return this.later(HIDDEN);
    this.connecting = true;
    const free = await this.takeSlot();
    this.connecting = false;
    if (!free) {
      this.tell("many tabs are open: this one is renewed every few seconds");
      return this.later(RENEW);
    }
    if (document.hidden) return this.disconnect();
    this.open();
  }

  open() {
    this.source = new EventSource(`${this.url}&after=${this.after}`);
    this.source.onopen = () => this.tell("");
    this.source.onerror = () => {
      this.disconnect();
      this.tell("connection lost, trying again");
      this.retry = setTimeout(() => this.connect(), AGAIN);
    };
    for (const type of EVENTS) this.source.addEventListener(type, (event) => this.hear(JSON.parse(event.data)));
  }

  hear(event) {
    this.after = Math.max(this.after, event.id);
    this.receive(event);
  }

  disconnect() {
    clearTimeout(this.retry);
    this.source?.close();
    this.source = null;
    this.leave();
    this.leave = () => {};
  }

  look() {
    if (document.hidden) {
      this.disconnect();
      this.later(HIDDEN);
    } else this.refresh().then(() => this.connect());
  }

  later(milliseconds) {
    // A tab that nobody looks at, or one too many, is renewed now and then: its title and icon tell of it.
    clearTimeout(this.retry);
    if (this.goesOn()) this.retry = setTimeout(() => this.refresh().then(() => this.connect()), milliseconds);
  }

  // A browser opens six connections to a server for all its tabs: some must be left for everything but streams.

  async takeSlot() {
    if (!navigator.locks) return true;
    for (let number = 0; number < STREAMS; number += 1) if (await this.lock(`moot-stream-${number}`)) return true;
    return false;
  }

  lock(name) {
    return new Promise((resolve) => navigator.locks.request(name, {ifAvailable: true}, (held) => {
      resolve(held !== null);
      return held && new Promise((done) => { this.leave = done; });
    }));
  }
}
