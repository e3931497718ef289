// A debate's page while it goes on: the text as it is spoken, then the rendered turn, and whatever else has changed.
// The stream only says that something happened; what is shown for good comes from the server, rendered and safe.

const page = document.getElementById("debate");
const transcript = document.getElementById("transcript");
const announcer = document.getElementById("announcer");
let announcing = Promise.resolve();
const newTurns = document.getElementById("new-turns");
const url = `/debates/${page.dataset.id}`;
const EVENTS = ["debate_started", "round_started", "turn_started", "turn_chunk", "turn_finished", "waiting",
  "limit_reached", "debate_finished", "debate_stopped", "debate_failed"];
const ENDS = {debate_finished: "The debate is finished", debate_stopped: "The debate has stopped", debate_failed: "The debate has failed"};
const NEAR = 120;
const TOP = 8;
const AGAIN = 1000;
const RENEW = 2000;
const STREAMS = 4;

const speaking = new Map();
let after = Number(page.dataset.after);
let stream = null;
let connecting = false;
let leave = () => {};
let retry = 0;
let unseen = 0;
let refreshing = null;
let stale = false;

// The stream

function goesOn() {
  return ["created", "queued", "running", "stopping", "waiting"].includes(controls().dataset.status);
}

async function connect() {
  clearTimeout(retry);
  if (stream || connecting || document.hidden || !goesOn()) return;
  connecting = true;
  const free = await takeSlot();
  connecting = false;
  if (!free) {
    say("many tabs are open: this one is renewed every few seconds");
    retry = setTimeout(() => refresh().then(connect), RENEW);
    return;
  }
  if (document.hidden) return leaveSlot();
  stream = new EventSource(`/api${url}/events?follow=1&after=${after}`);
  stream.onopen = () => say("");
  stream.onerror = () => {
    disconnect();
    say("connection lost, trying again");
    retry = setTimeout(connect, AGAIN);
  };
  for (const type of EVENTS) stream.addEventListener(type, (event) => receive(JSON.parse(event.data)));
}

function disconnect() {
  clearTimeout(retry);
  if (stream) stream.close();
  stream = null;
  leaveSlot();
}

// A browser opens six connections to a server for all its tabs: some must be left for everything but streams.

async function takeSlot() {
  if (!navigator.locks) return true;
  for (let number = 0; number < STREAMS; number += 1) if (await lock(`moot-stream-${number}`)) return true;
  return false;
}

function lock(name) {
  return new Promise((resolve) => navigator.locks.request(name, {ifAvailable: true}, (held) => {
    resolve(held !== null);
    return held && new Promise((done) => { leave = done; });
  }));
}

function leaveSlot() {
  leave();
  leave = () => {};
}

function receive(event) {
  after = Math.max(after, event.id);
  if (event.type === "turn_started") begin(event);
  else if (event.type === "turn_chunk") grow(event);
  else if (event.type === "turn_finished") {
    if (speaking.has(event.position)) announce(`${event.title} has finished`);
    speaking.delete(event.position);
    refresh();
  } else if (event.type === "waiting") {
    announce("The debate waits for you");
    refresh();
  } else if (event.type in ENDS) {
    disconnect();
    speaking.clear();
    announce(ENDS[event.type]);
    refresh();
  } else if (event.type !== "round_started") refresh();
}

document.addEventListener("visibilitychange", () => {
  if (document.hidden) return disconnect();
  refresh();
  connect();
});

// Turns in progress

function begin(event) {
  let turn = speaking.get(event.position);
  if (!turn) {
    turn = {seat: event.seat, kind: event.kind, round: event.round, text: "", node: blank(event)};
    for (const other of speaking.values())
      if (other.kind === turn.kind && other.round === turn.round) [turn.node, other.node].forEach((node) => node.classList.add("beside"));
    speaking.set(event.position, turn);
    keepPlace(() => {
      put(turn.node, sectionFor(event.round));
      return 1;
    });
    announce(`${event.title} is speaking`);
  }
  turn.text = "";
  turn.shown.data = "";
  mark();
}

function blank(event) {
  const old = document.getElementById(`card-${event.position}`);
  if (old) old.remove();
  const node = made("article", {class: "turn speaking", id: `card-${event.position}`, "data-position": event.position,
    "data-kind": event.kind, tabindex: "-1", "aria-busy": "true", "aria-label": `${event.title}, ${event.kind}`});
  const head = made("p", {class: "speaker"});
  head.append(made("span", {class: "who"}, event.title), " ", made("span", {class: "kind"}, event.kind));
  node.append(head, made("p", {class: "prose streaming"}));
  return node;
}

function grow(event) {
  const turn = speaking.get(event.position);
  if (!turn) return;
  turn.text = turn.text.slice(0, event.offset) + event.text;
  if (!turn.drawing) turn.drawing = requestAnimationFrame(() => draw(turn));
}

function draw(turn) {
  turn.drawing = 0;
  keepPlace(() => { turn.shown.data = turn.text; });
}

function mark() {
  const turns = [...speaking.values()];
  for (const seat of document.querySelectorAll("[data-seat]")) {
    const own = turns.filter((turn) => turn.seat === seat.dataset.seat);
    seat.classList.toggle("is-speaking", own.length > 0);
    const colour = [...seat.classList].find((name) => /^seat-\d$/.test(name));
    for (const turn of own) turn.node.classList.add(colour);
  }
}

function sectionFor(round) {
  const title = round ? `Round ${round}` : transcript.querySelector('[data-key^="round-"]') ? "Closing" : "Opening";
  const key = title.toLowerCase().replace(" ", "-");
  return transcript.querySelector(`[data-key="${key}"]`) || addSection(key, title);
}

function addSection(key, title) {
  const section = made("section", {class: "round", "data-key": key, "aria-label": title});
  section.append(made("h2", {}, title), made("div", {class: "turns"}));
  document.getElementById("nothing-yet")?.remove();
  const next = [...transcript.querySelectorAll(".round")].find((other) => rank(other.dataset.key) > rank(key));
  transcript.insertBefore(section, next || null);
  return section;
}

function rank(key) {
  return key === "opening" ? 0 : key === "closing" ? Infinity : Number(key.replace("round-", ""));
}

function put(node, section) {
  const turns = section.querySelector(".turns");
  const next = [...turns.children].find((other) => Number(other.dataset.position) > Number(node.dataset.position));
  turns.insertBefore(node, next || null);
  const text = node.querySelector(".streaming");
  if (text) {
    const turn = [...speaking.values()].find((each) => each.node === node);
    turn.shown = text.appendChild(document.createTextNode(""));
  }
}

// What has changed on the server

function refresh() {
  if (refreshing) {
    stale = true;
    return refreshing;
  }
  refreshing = fetch(`${url}/parts?from=${firstMissing()}`)
    .then((response) => (response.ok ? response.text() : Promise.reject(response)))
    .then((text) => show(new DOMParser().parseFromString(text, "text/html")))
    .catch(() => say("connection lost, trying again"))
    .finally(() => {
      refreshing = null;
      if (stale) {
        stale = false;
        refresh();
      }
    });
  return refreshing;
}

function firstMissing() {
  let position = 0;
  while (document.querySelector(`#card-${position}:not(.speaking)`)) position += 1;
  return position;
}

function show(fresh) {
  keepPlace(() => renew(fresh));
  mark();
  tick();
  connect();
}

function renew(fresh) {
  let added = 0;
  for (const section of fresh.querySelectorAll(".round")) {
    const mine = transcript.querySelector(`[data-key="${section.dataset.key}"]`) || addSection(section.dataset.key, section.querySelector("h2").textContent);
    for (const turn of [...section.querySelectorAll("[data-position]")]) added += place(turn, mine);
  }
  for (const part of fresh.querySelectorAll("[data-part]")) swap(document.getElementById(part.id), part);
  if (!goesOn()) for (const left of transcript.querySelectorAll(".turn.speaking")) left.remove();
  return added;
}

function place(turn, section) {
  const old = document.getElementById(turn.id);
  speaking.delete(Number(turn.dataset.position));
  if (old && old.parentElement === section.querySelector(".turns")) {
    if (old.classList.contains("beside")) turn.classList.add("beside");
    if (old.classList.contains("speaking")) old.replaceWith(turn);
    return 0;
  }
  if (old) old.remove();
  put(turn, section);
  return old ? 0 : 1;
}

function swap(old, fresh) {
  if (old.innerHTML === fresh.innerHTML && old.dataset.status === fresh.dataset.status) return;
  const focus = old.contains(document.activeElement) ? document.activeElement : null;
  const typed = old.querySelector("textarea")?.value;
  const open = new Set([...old.querySelectorAll("details[open] > summary")].map((summary) => summary.textContent));
  old.replaceChildren(...fresh.childNodes);
  old.hidden = fresh.hidden;
  if (fresh.dataset.status) old.dataset.status = fresh.dataset.status;
  const field = old.querySelector("textarea");
  if (field && typed && !field.value) field.value = typed;
  for (const summary of old.querySelectorAll("summary")) if (open.has(summary.textContent)) summary.parentElement.open = true;
  if (focus) (focus.id && document.getElementById(focus.id) || old.querySelector("button, a") || page).focus?.({preventScroll: true});
}

// Buttons

document.addEventListener("submit", async (event) => {
  const form = event.target;
  if (!form.matches("form[data-live]")) return;
  event.preventDefault();
  const data = new URLSearchParams(new FormData(form));
  if (event.submitter?.name) data.set(event.submitter.name, event.submitter.value);
  const words = take(form);
  if (event.submitter) event.submitter.disabled = true;
  try {
    const response = await fetch(form.getAttribute("action"), {method: "POST", body: data, redirect: "manual"});
    if (response.type === "opaqueredirect") complain("");
    else {
      giveBack(words);
      complain(new DOMParser().parseFromString(await response.text(), "text/html").querySelector("[role=alert]")?.textContent || "That did not work.");
    }
    await refresh();
    connect();
  } catch {
    giveBack(words);
    complain("The server cannot be reached. Try again.");
  } finally {
    if (event.submitter) event.submitter.disabled = false;
  }
});

function take(form) {
  // What is being sent leaves its field at once: a refresh meanwhile carries over only what is typed after it.
  const field = form.querySelector("textarea");
  const words = field?.value ?? "";
  if (field) field.value = "";
  return words;
}

function giveBack(words) {
  const field = controls().querySelector("textarea");
  if (field && !field.value) field.value = words;
}

// The reader

function atEnd() {
  return innerHeight + scrollY >= document.documentElement.scrollHeight - NEAR;
}

function keepPlace(change) {
  // Who is at the end follows it; for everyone else what they read stays where it is, whatever grows above.
  const following = atEnd();
  const read = !following && scrollY > TOP && [...transcript.querySelectorAll("[data-position]")].find((turn) => turn.getBoundingClientRect().bottom > NEAR);
  const top = read && read.getBoundingClientRect().top;
  const added = change() || 0;
  const now = read && document.getElementById(read.id);
  if (following) scrollTo({top: document.documentElement.scrollHeight});
  else unseen += added;
  if (now) scrollBy({top: now.getBoundingClientRect().top - top});
  showUnseen();
}

function showUnseen() {
  if (atEnd()) unseen = 0;
  newTurns.hidden = unseen === 0;
  newTurns.textContent = `${unseen} new`;
}

newTurns.addEventListener("click", () => {
  scrollTo({top: document.documentElement.scrollHeight});
  unseen = 0;
  showUnseen();
});
addEventListener("scroll", showUnseen, {passive: true});

function unfold() {
  const target = location.hash.startsWith("#turn-") && document.getElementById(location.hash.slice(1));
  const details = target && target.closest("details");
  if (details && !details.open) {
    details.open = true;
    target.scrollIntoView();
  }
}
addEventListener("hashchange", unfold);

function tick() {
  for (const time of document.querySelectorAll("[data-deadline]")) {
    const left = Math.max(0, Number(time.dataset.deadline) - Date.now() / 1000);
    time.textContent = left > 90 ? `${Math.round(left / 60)} more minutes` : `${Math.round(left)} more seconds`;
    time.previousSibling.textContent = "Waits ";
  }
}

function controls() {
  return document.getElementById("controls");
}

function say(text) {
  document.getElementById("connection").textContent = text;
}

function announce(text) {
  // One after the other: of two at once a screen reader would hear the second alone.
  announcing = announcing.then(() => {
    announcer.textContent = text;
    return new Promise((next) => setTimeout(next, 100));
  });
}

function complain(text) {
  const notice = document.getElementById("notice");
  notice.replaceChildren(...(text ? [made("p", {class: "notice bad", role: "alert"}, text)] : []));
  if (text) notice.scrollIntoView({block: "nearest"});
}

function made(tag, attributes, text = "") {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  node.textContent = text;
  return node;
}

setInterval(tick, 1000);
tick();
unfold();
connect();
