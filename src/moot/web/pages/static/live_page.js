// A debate's page while it goes on: the text as it is spoken, then the rendered turn, and whatever else has changed.
// The stream only says that something happened; what is shown for good comes from the server, rendered and safe.

import * as follow from "./follow.js";
import {say} from "./say.js";
import * as speaking from "./speaking.js";
import {Stream} from "./stream.js";
import * as tabs from "./tabs.js";

const page = document.getElementById("debate");
const transcript = document.getElementById("transcript");
const icon = document.querySelector("link[rel=icon]");
const url = `/debates/${page.dataset.id}`;
const title = page.dataset.title;
const ENDS = {debate_finished: "Decided. The verdict is ready.", debate_stopped: "The debate has stopped.", debate_failed: "The debate has failed."};
const NEAR = 120;
let refreshing = null;
let stale = false;
let ran = performance.now();

const stream = new Stream(`/api${url}/events?follow=1`, Number(page.dataset.after), {receive, refresh, goesOn, tell});

function controls() {
  return document.getElementById("controls");
}

function goesOn() {
  return ["created", "queued", "running", "stopping", "waiting"].includes(controls().dataset.status);
}

function receive(event) {
  if (event.type === "turn_started") {
    speaking.begin(event);
    follow.keepUp();
    follow.show();
  } else if (event.type === "turn_chunk") speaking.grow(event);
  else if (event.type === "step_retrying") speaking.retrying(event);
  else if (event.type === "round_started") refresh();
  else {
    if (event.type === "turn_finished") speaking.finish(event.position);
    if (event.type === "waiting") say("Your turn.");
    if (event.type in ENDS) {
      stream.disconnect();
      if (event.type !== "debate_finished") say(ENDS[event.type]);
    }
    refresh();
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
    .catch(() => tell("connection lost, trying again"))
    .finally(() => {
      refreshing = null;
      if (stale) {
        stale = false;
        refresh();
      }
    });
  return refreshing;
}

function phaseInSight() {
  const now = document.querySelector("#phases .now");
  const list = now?.parentElement;
  if (list) list.scrollLeft += now.getBoundingClientRect().right - Math.min(now.getBoundingClientRect().right, list.getBoundingClientRect().right);
}

function firstMissing() {
  let position = 0;
  while (document.querySelector(`#card-${position}:not(.speaking, .waiting-turn)`)) position += 1;
  return position;
}

function show(fresh) {
  const status = fresh.body.dataset.status;
  if (status === "finished") return decided();
  const asked = controls().querySelector("[data-ask]") !== null;
  keepPlace(() => renew(fresh));
  speaking.chip();
  phaseInSight();
  ran = performance.now();
  tick();
  mark(status);
  offerNotes();
  if (!asked) ask();
  follow.keepUp();
  follow.show();
  stream.connect();
}

function renew(fresh) {
  for (const part of fresh.querySelectorAll(".part")) {
    const mine = transcript.querySelector(`[data-key="${part.dataset.key}"]`) ?? speaking.addSection(part.dataset.key, part.querySelector("h2").textContent);
    for (const turn of [...part.querySelectorAll("[data-position]")]) settle(turn, mine);
  }
  for (const part of fresh.querySelectorAll("[data-part]")) swap(document.getElementById(part.id), part);
  transcript.dataset.lanes = fresh.getElementById("seat-marks").dataset.lanes;
  speaking.seatAll();
  page.classList.toggle("has-ask", controls().classList.contains("yours"));
  page.classList.toggle("goes-on", goesOn());
  if (!goesOn()) speaking.forgetAll();
  tabs.arrange();
}

function settle(turn, section) {
  const old = document.getElementById(turn.id);
  speaking.finish(Number(turn.dataset.position));
  if (old && old.closest(".part") === section && old.dataset.kind === turn.dataset.kind) {
    if (old.matches(".speaking, .waiting-turn, [aria-busy]")) old.replaceWith(turn);
    return;
  }
  const beside = [...turn.parentElement.children].filter((other) => other !== turn).map((other) => document.getElementById(other.id)?.closest(".lanes")).find(Boolean);
  old?.remove();
  if (beside && section.contains(beside)) {
    const next = [...beside.children].find((other) => Number(other.dataset.position) > Number(turn.dataset.position));
    beside.insertBefore(turn, next ?? null);
  } else speaking.place(turn, section);
}

function swap(old, fresh) {
  if (old.innerHTML === fresh.innerHTML && old.dataset.status === fresh.dataset.status) return;
  const focus = old.contains(document.activeElement) ? document.activeElement : null;
  const typed = [...old.querySelectorAll("textarea, input:not([type=hidden])")].map((field) => [field.id, field.value]);
  const open = new Set([...old.querySelectorAll("details[open] > summary")].map((summary) => summary.textContent));
  const connection = document.getElementById("connection").textContent;
  const known = new Set([...old.querySelectorAll(".node")].map((node) => node.dataset.id));
  old.replaceChildren(...fresh.childNodes);
  if (old.matches(".map-pane")) grows(old, known);
  old.className = fresh.className;
  if (fresh.dataset.status) old.dataset.status = fresh.dataset.status;
  if (fresh.getAttribute("aria-label")) old.setAttribute("aria-label", fresh.getAttribute("aria-label"));
  tell(connection);
  for (const [id, value] of typed) {
    const field = id && document.getElementById(id);
    if (field && value && !field.value) field.value = value;
  }
  for (const summary of old.querySelectorAll("summary")) if (open.has(summary.textContent)) summary.parentElement.open = true;
  if (focus) (focus.id && document.getElementById(focus.id) || old.querySelector("textarea, button, summary, a") || page).focus?.({preventScroll: true});
}

function grows(pane, known) {
  // What is new on the map is seen to come, and is in sight unless somebody reads there.
  const fresh = [...pane.querySelectorAll(".node, .link")].filter(({dataset: {id, from}}) => !known.has(id ?? from));
  for (const each of fresh) each.classList.add("fresh");
  if (fresh.length && !pane.matches(":hover, :focus-within")) pane.scrollTop = pane.scrollHeight;
}

function keepPlace(change) {
  // For who does not follow, what they read stays where it is, whatever grows above.
  const read = !follow.isFollowing() && scrollY > 8 && [...transcript.querySelectorAll("[data-position]")].find((turn) => turn.getBoundingClientRect().bottom > NEAR);
  const top = read && read.getBoundingClientRect().top;
  change();
  const now = read && document.getElementById(read.id);
  if (now) scrollBy({top: now.getBoundingClientRect().top - top, behavior: "instant"});
}

// Being called: the question takes the focus unless somebody writes, the verdict comes to who follows

function ask() {
  const heading = controls().querySelector("[data-ask] h2");
  if (!heading) return;
  notify("Your turn");
  if (!writes()) heading.focus({preventScroll: true});
}

function writes() {
  const field = document.activeElement;
  return field?.matches?.("textarea, input, select") && Boolean(field.value);
}

function decided() {
  if (!goesOn()) return;
  stream.disconnect();
  speaking.finishAll();
  say(ENDS.debate_finished);
  mark("finished");
  notify("Decided");
  controls().dataset.status = "finished";
  if (follow.isFollowing() && !writes() && !document.hidden) return toVerdict();
  document.getElementById("follow").hidden = true;
  document.getElementById("to-verdict").hidden = false;
}

function toVerdict() {
  // The same address with another page behind it: it is loaded anew, at the verdict and not where the reader was.
  history.replaceState(null, "", `${url}#verdict`);
  history.scrollRestoration = "manual";
  location.reload();
}

document.getElementById("to-verdict").addEventListener("click", (event) => {
  event.preventDefault();
  toVerdict();
});

function mark(status) {
  const called = {waiting: "Your turn", finished: "Decided", failed: "Failed", stopped: "Stopped"}[status];
  document.title = `${called ? `${called} · ` : ""}${title} · moot`;
  const kind = {waiting: "yours", finished: "done"}[status];
  icon.dataset.usual ??= icon.getAttribute("href");
  const wanted = kind ? icon.dataset[kind] : icon.dataset.usual;
  if (icon.getAttribute("href") !== wanted) icon.href = wanted;
}

// Whoever asked for it is told by the browser when nobody looks at the tab; permission is asked for on their click alone

const notifyButton = document.getElementById("notify");

function notify(words) {
  if (!document.hidden || !wantsNotes()) return;
  const note = new Notification(words, {body: title, tag: page.dataset.id});
  note.onclick = () => { window.focus(); note.close(); };
}

function wantsNotes() {
  try {
    return window.Notification?.permission === "granted" && localStorage.getItem("moot-notify") === "on";
  } catch {
    return false;
  }
}

function offerNotes() {
  if (!notifyButton) return;
  const on = wantsNotes();
  notifyButton.hidden = !window.Notification || Notification.permission === "denied" || !goesOn();
  notifyButton.setAttribute("aria-pressed", on);
  notifyButton.querySelector("span").textContent = on ? "You are told when you are needed" : "Tell me when I am needed";
}

notifyButton?.addEventListener("click", async () => {
  const on = !wantsNotes() && await Notification.requestPermission() === "granted";
  localStorage.setItem("moot-notify", on ? "on" : "off");
  say(on ? "You will be told when you are needed." : "You will not be told.");
  offerNotes();
});

// Buttons

document.addEventListener("click", async (event) => {
  const button = event.target.closest("[data-try-now], [data-other-model]");
  if (!button) return;
  if ("tryNow" in button.dataset) {
    button.disabled = true;
    await post(`${url}/retry`, new URLSearchParams());
    button.disabled = false;
  } else offerModel(button);
});

function offerModel(button) {
  const form = document.querySelector(`#seats form[data-for="${CSS.escape(button.dataset.otherModel)}"]`)?.cloneNode(true);
  if (!form) return;
  const field = form.querySelector("[name=model]");
  field.id = `${field.id}-now`;
  form.querySelector("label").htmlFor = field.id;
  button.replaceWith(form);
  field.focus();
}

document.addEventListener("submit", async (event) => {
  const form = event.target;
  if (!form.matches("form[data-live]")) return;
  event.preventDefault();
  const data = new URLSearchParams(new FormData(form));
  if (event.submitter?.name) data.set(event.submitter.name, event.submitter.value);
  const words = take(form);
  if (event.submitter) event.submitter.disabled = true;
  if ("ask" in form.dataset) follow.choose(true);  // who answers wants to see what comes of it
  const troubled = form.closest(".turn:has(.trouble)");  // which may be gone when the answer is there
  if (!await post(form.getAttribute("action"), data)) giveBack(words);
  else if (troubled) speaking.reseated(Number(troubled.dataset.position), data.get("model"));
  if (event.submitter) event.submitter.disabled = false;
});

async function post(action, data) {
  let done = false;
  try {
    const response = await fetch(action, {method: "POST", body: data, redirect: "manual"});
    done = response.type === "opaqueredirect";
    if (done) complain("");
    else complain(new DOMParser().parseFromString(await response.text(), "text/html").querySelector("[role=alert]")?.textContent || "That did not work.");
    await refresh();
    stream.connect();
  } catch {
    complain("The server cannot be reached. Try again.");
  }
  return done;
}

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

document.addEventListener("input", (event) => {
  if (event.target.matches(".dock:not(.yours) textarea")) event.target.rows = Math.min(5, event.target.value.split("\n").length);
});

// Time

function tick() {
  for (const time of document.querySelectorAll("[data-deadline]")) {
    const left = Math.max(0, Number(time.dataset.deadline) - Date.now() / 1000);
    time.textContent = left > 90 ? `another ${Math.round(left / 60)} min` : `another ${Math.round(left)} s`;
    time.previousSibling.textContent = "Waits ";
  }
  const clock = document.getElementById("clock");
  if ("runs" in clock.dataset) {
    const seconds = Number(clock.dataset.seconds) + (performance.now() - ran) / 1000;
    clock.textContent = minutes(seconds);
    const left = document.getElementById("left");
    if (left) left.textContent = `${minutes(Math.max(0, Number(clock.dataset.most) - seconds))} left`;
  }
  speaking.tick();
}

function minutes(seconds) {
  const whole = Math.floor(seconds);
  return `${Math.floor(whole / 60)}:${String(whole % 60).padStart(2, "0")}`;
}

function tell(text) {
  const connection = document.getElementById("connection");
  if (connection.textContent !== text) connection.textContent = text;
}

function complain(text) {
  const notice = document.getElementById("notice");
  notice.replaceChildren(...(text ? [speaking.element("p", {class: "notice bad", role: "alert"}, text)] : []));
  if (text) notice.scrollIntoView({block: "nearest"});
}

speaking.onDrawn(() => {
  follow.keepUp();
  follow.show();
});
setInterval(tick, 1000);
tick();
mark(controls().dataset.status);
offerNotes();
phaseInSight();
ask();
follow.begin();
stream.connect();
