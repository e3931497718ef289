// The turns in progress: where each stands, its text as it grows, and the trouble its model has.

import {GrowingText} from "./markdown.js";
import {say} from "./say.js";
import * as tabs from "./tabs.js";

const DRAW = 90;
const LONG = 10;
const transcript = document.getElementById("transcript");
const marks = document.getElementById("seat-marks");
const folded = new Set(document.getElementById("folded-kinds").content.textContent.trim().split(" ").filter(Boolean));
const facing = "sides" in transcript.dataset;
const turns = new Map();
let drawing = 0;
let drawn = () => {};

export function onDrawn(callback) {
  drawn = callback;
}

export function begin(event) {
  let turn = turns.get(event.position);
  if (!turn) {
    turn = made(event);
    turns.set(event.position, turn);
    place(turn.node, sectionFor(event.round), event);
    tabs.began(turn.node);
    if (!turn.checks) say(`${event.title} is speaking`);
  }
  turn.text = "";
  turn.length = 0;
  calm(turn);
  turn.growing?.begin();
  turn.growing?.show("");
}

export function grow(event) {
  const turn = turns.get(event.position);
  if (!turn) return;
  if (turn.trouble) calm(turn);
  if (event.offset !== turn.length) turn.text = [...turn.text].slice(0, event.offset).join("");
  turn.text += event.text;
  turn.length = event.offset + [...event.text].length;  // in letters, of which an emoji is one and not two
  turn.dirty = true;
  tabs.grown(turn.node);
  drawing ||= setTimeout(draw, DRAW);
}

export function finish(position) {
  // Its event or the rendered turn, whichever comes first.
  const turn = turns.get(position);
  if (turn && !turn.checks) say(`${turn.event.title} has spoken`);
  if (turn) turn.node.dataset.spoken = "";
  forget(position);
}

export function finishAll() {
  for (const position of [...turns.keys()]) finish(position);
  forgetAll();
}

function forget(position) {
  const turn = turns.get(position);
  if (turn) calm(turn);
  turns.delete(position);
}

export function forgetAll() {
  for (const position of [...turns.keys()]) forget(position);
  for (const left of transcript.querySelectorAll(".turn.speaking, .turn.waiting-turn")) left.remove();
}

function draw() {
  drawing = 0;
  for (const turn of turns.values()) {
    if (!turn.dirty) continue;
    turn.dirty = false;
    turn.growing?.show(turn.text);
  }
  drawn();
}

// Nodes

function made(event) {
  document.getElementById(`card-${event.position}`)?.remove();
  const seat = marks.querySelector(`[data-seat="${CSS.escape(event.seat)}"]`) ?? marks.querySelector('[data-seat=""]');
  const {colour, side, word, lane} = seat.dataset;
  const checks = folded.has(event.kind);
  const kind = checks ? "fold" : colour === "you" ? "you" : colour === "0" ? "chair" : "side";
  const column = facing && !checks ? ` ${side || "whole"}` : "";
  const node = element("article", {class: `turn speaking ${kind} seat-${colour}${column}`, id: `card-${event.position}`,
    "data-position": event.position, "data-kind": event.kind, "data-title": event.title, tabindex: "-1",
    "aria-busy": "true", "aria-label": `${event.title}, ${event.kind}`});
  if (lane && event.round) node.dataset.lane = lane;
  const head = element("h3");
  if (word) head.append(element("span", {class: "stance"}, word));
  else head.append(whoIs(event.title, colour, seat));
  const doing = element("span", {class: "kind"}, "is speaking");
  head.append(" ", doing);
  const header = element("header");
  header.append(head);
  node.append(header);
  const turn = {event, node, doing, checks, dirty: false, growing: null, trouble: null};
  if (!checks) {
    const prose = element("div", {class: "prose", dir: "auto", lang: document.getElementById("debate").dataset.language, tabindex: "0", role: "group", "aria-label": `What ${event.title} says`});
    node.append(prose);
    turn.growing = new GrowingText(prose);
  }
  return turn;
}

function whoIs(title, colour, seat) {
  const who = element("span", {class: `who seat-${colour}`});
  who.append(seat.firstElementChild.cloneNode(true), element("bdi", {}, title));
  return who;
}

export function seatAll() {
  // Who stands in which column may be known only after somebody has begun to speak.
  for (const {event, node, checks} of turns.values()) {
    const lane = marks.querySelector(`[data-seat="${CSS.escape(event.seat)}"]`)?.dataset.lane;
    if (lane && event.round && !checks) node.dataset.lane = lane;
  }
  for (const lanes of transcript.querySelectorAll(".lanes:not(.seated)")) lanes.classList.toggle("seated", [...lanes.children].every((turn) => turn.dataset.lane));
}

function sectionFor(round) {
  const title = round ? `Round ${round}` : transcript.querySelector('[data-key^="round-"]') ? "Closing" : "Opening";
  const key = title.toLowerCase().replace(" ", "-");
  return transcript.querySelector(`[data-key="${key}"]`) ?? addSection(key, title);
}

export function addSection(key, title) {
  const section = element("section", {class: "part", id: `part-${key}`, "data-key": key, "aria-label": title});
  section.append(element("h2", {class: facing ? "round-line" : "part-head"}, title));
  if (facing) section.append(element("div", {class: "sides"}));
  document.getElementById("nothing-yet")?.remove();
  const next = [...transcript.querySelectorAll(".part")].find((other) => rank(other.dataset.key) > rank(key));
  transcript.insertBefore(section, next ?? null);
  return section;
}

function rank(key) {
  return key === "opening" ? 0 : key === "closing" ? Infinity : Number(key.replace("round-", ""));
}

// What runs at once stands beside each other; what only examines is one line that opens.

export function place(node, section, event = null) {
  const kind = node.dataset.kind;
  if (kind && folded.has(kind)) return putInto(checksFor(section, kind), node);
  if (facing) return putInto(section.querySelector(".sides"), node);
  const last = node.dataset.lane && [...section.querySelectorAll(":scope > :last-child, :scope > .tabbed:last-child > .lanes")].at(-1);
  const group = last?.matches?.(".lanes.seated") && last.firstElementChild?.dataset.kind === kind ? last
    : event && [...section.querySelectorAll(".lanes")].find((lanes) => runsBeside(lanes, event));
  if (group) return putInto(group, node);
  const lanes = element("div", {class: node.dataset.lane ? "lanes seated" : "lanes"});
  lanes.append(node);
  const at = Number(node.dataset.position);
  const next = [...section.children].find((other) => positionOf(other) > at);
  section.insertBefore(lanes, next ?? null);
}

function runsBeside(lanes, event) {
  return [...lanes.children].some((turn) => turn.dataset.kind === event.kind && (turn.classList.contains("speaking")
    || Number(turn.dataset.ended) * 1000 > Date.parse(event.at)));
}

function checksFor(section, kind) {
  const inside = facing ? section.querySelector(".sides") : section;
  const last = [...inside.querySelectorAll(".checks")].findLast((each) => each.dataset.kind === kind);
  if (last) return last;
  const checks = element("details", {class: "checks whole", "data-kind": kind});
  const summary = element("summary");
  summary.append(element("span", {class: "kind"}, kind), " ", element("span", {class: "count-of"}), element("span", {class: "at-work"}, "in progress"));
  checks.append(summary);
  inside.append(checks);
  return checks;
}

function putInto(group, node) {
  const at = Number(node.dataset.position);
  const next = [...group.children].find((other) => positionOf(other) > at);
  group.insertBefore(node, next ?? null);
  const count = group.querySelector(":scope > summary > .count-of");
  if (count) count.textContent = group.querySelectorAll(".turn").length;
}

function positionOf(node) {
  return Number(node.dataset.position ?? node.querySelector("[data-position]")?.dataset.position ?? -1);
}

// Trouble: the provider's words, when it is asked again, and what a person can do.

export function retrying(event) {
  const turn = turns.get(event.position);
  if (!turn) return;
  calm(turn);
  turn.trouble = {event, due: Date.parse(event.at) + event.seconds * 1000, box: troubleBox(event)};
  turn.node.append(turn.trouble.box);
  turn.node.classList.add("waiting-turn");
  turn.node.classList.remove("speaking");
  turn.doing.textContent = "is waiting";
  const checks = event.seconds >= 2 && turn.node.closest(".checks:not([data-troubled], [open])");
  if (checks) checks.open = checks.dataset.troubled = true;
  tabs.arrange();
  if (event.seconds > LONG) say(`${event.title} waits: ${event.error}. Attempt ${event.attempt} of ${event.attempts} in ${Math.round(event.seconds)} seconds.`);
  tick();
  drawn();
}

function calm(turn) {
  turn.trouble?.box.remove();
  turn.trouble = null;
  turn.node.classList.remove("waiting-turn");
  turn.node.classList.add("speaking");
  turn.doing.textContent = "is speaking";
  const checks = turn.node.closest(".checks[data-troubled]");
  if (checks && !checks.querySelector(".trouble")) {
    checks.open = false;
    delete checks.dataset.troubled;
  }
  tabs.arrange();
  chip();
}

function troubleBox(event) {
  const box = element("div", {class: "trouble", role: "status"});
  const when = element("span");
  when.append(event.attempt > 1 ? "Trying again " : "It is asked ", element("span", {class: "num when"}), `, attempt ${event.attempt} of ${event.attempts}.`, element("span", {class: "others"}, " The others go on."));
  box.append(element("b", {class: "cause", dir: "auto"}, event.error), when);
  if (event.seconds >= 2) box.append(element("progress", {max: event.seconds, value: 0, "aria-label": "Time until the next attempt"}));
  const row = element("span", {class: "row"});
  const now = element("button", {type: "button", class: "button slim", "data-try-now": ""}, "Try now");
  const other = element("button", {type: "button", class: "button slim quiet", "data-other-model": event.seat}, "Use another model for this seat");
  row.append(now, other);
  box.append(row);
  return box;
}

export function reseated(position, model) {
  // Its seat has another model, which speaks at once or, where others speak beside it, after them.
  const trouble = turns.get(position)?.trouble;
  if (!trouble || trouble.over) return;
  trouble.over = true;
  trouble.box.replaceChildren(element("b", {dir: "auto"}, `${model} takes this seat`), element("span", {}, "It speaks as soon as those beside it are done."));
  say(`${model} takes the seat of ${trouble.event.title}`);
  chip();
}

export function tick() {
  for (const {trouble} of turns.values()) {
    if (!trouble || trouble.over) continue;
    const due = (trouble.due - Date.now()) / 1000;
    const left = Math.max(0, Math.min(trouble.event.seconds, due));
    trouble.box.querySelector(".when").textContent = left >= 1 ? `in ${Math.round(left)} s` : due > -LONG ? "now" : "when its turn comes";
    const bar = trouble.box.querySelector("progress");
    if (bar) bar.value = trouble.event.seconds - left;
    trouble.box.querySelector(".others").hidden = ![...turns.values()].some((other) => !other.trouble);
  }
  chip();
}

export function chip() {
  const waiting = [...turns.values()].filter((turn) => turn.trouble && !turn.trouble.over && turn.trouble.event.seconds >= 1).length;
  const shown = document.getElementById("retrying");
  shown.hidden = !waiting;
  shown.textContent = `${waiting} retrying`;
}

export function element(tag, attributes = {}, text = "") {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  if (text) node.textContent = text;
  return node;
}
