// On a narrow screen those who speak at the same time share one place: a tab each, which tells who speaks and who said
// what was not seen yet. On a wide screen they stand beside each other, and without scripts below each other.

import * as follow from "./follow.js";

const narrow = matchMedia("(max-width: 51.99rem)");
const transcript = document.getElementById("transcript");
const unseen = new Set();
const SPEAKING = ".speaking:not([data-spoken])";
const STATES = {speaking: "is speaking", waiting: "is waiting", unseen: "has said something new"};
const STEPS = {ArrowLeft: -1, ArrowRight: 1, Home: -Infinity, End: Infinity};

export function arrange() {
  for (const lanes of transcript.querySelectorAll(".lanes")) {
    const turns = [...lanes.querySelectorAll(":scope > .turn")];
    if (narrow.matches && turns.length > 1) seat(lanes, turns);
    else if (listOf(lanes)) unseat(lanes);
  }
}

export function began(turn) {
  // Who follows hears whoever speaks next, unless they listen to somebody who has not ended.
  const lanes = turn.closest(".lanes");
  arrange();
  if (lanes && listOf(lanes) && follow.isFollowing() && !shownIn(lanes).matches(SPEAKING)) show(lanes, turn);
}

export function grown(turn) {
  if (turn.matches(".behind")) unseen.add(turn.dataset.position);
}

function seat(lanes, turns) {
  let list = listOf(lanes);
  if (!list) {
    list = document.createElement("div");
    list.className = "tabs";
    list.setAttribute("role", "tablist");
    list.setAttribute("aria-label", `Who speaks: ${lanes.closest(".part").getAttribute("aria-label")}, ${turns[0].dataset.kind}`);
    lanes.id = `lanes-${turns[0].dataset.position}`;
    lanes.setAttribute("role", "tabpanel");
    const box = document.createElement("div");
    box.className = "tabbed";
    lanes.replaceWith(box);
    box.append(list, lanes);
  }
  const tabs = turns.map((turn) => [...list.children].find((tab) => tab.dataset.of === turn.dataset.position) ?? made(turn, lanes));
  if (tabs.length !== list.children.length || tabs.some((tab, at) => tab !== list.children[at])) list.replaceChildren(...tabs);
  show(lanes, shownIn(lanes) ?? turns.find((turn) => turn.matches(SPEAKING)) ?? turns[0]);
}

function unseat(lanes) {
  lanes.parentElement.replaceWith(lanes);
  for (const name of ["id", "role", "aria-labelledby"]) lanes.removeAttribute(name);
  for (const turn of lanes.querySelectorAll(".behind")) turn.classList.remove("behind");
}

function made(turn, lanes) {
  const tab = document.createElement("button");
  Object.assign(tab, {type: "button", id: `tab-${turn.dataset.position}`, className: "tab"});
  tab.dataset.of = turn.dataset.position;
  tab.setAttribute("role", "tab");
  tab.setAttribute("aria-controls", lanes.id);
  const state = document.createElement("span");
  state.className = "sr";
  tab.append(turn.querySelector("header .who").cloneNode(true), state);
  tab.classList.add(...[...turn.classList].filter((name) => name.startsWith("seat-")));
  return tab;
}

function show(lanes, turn) {
  const at = turn.dataset.position;
  lanes.dataset.shown = at;
  lanes.setAttribute("aria-labelledby", `tab-${at}`);
  unseen.delete(at);
  for (const other of lanes.querySelectorAll(":scope > .turn")) other.classList.toggle("behind", other !== turn);
  for (const tab of listOf(lanes).children) {
    tab.setAttribute("aria-selected", tab.dataset.of === at);
    tab.tabIndex = tab.dataset.of === at ? 0 : -1;
    tell(tab, stateOf(document.getElementById(`card-${tab.dataset.of}`)));
  }
}

function stateOf(turn) {
  return turn.matches(SPEAKING) ? "speaking" : turn.matches(".waiting-turn") ? "waiting" : unseen.has(turn.dataset.position) ? "unseen" : "";
}

function tell(tab, state) {
  tab.dataset.state = state;
  tab.lastElementChild.textContent = state && ` ${STATES[state]}`;
}

function choose(tab) {
  const list = tab.parentElement, lanes = list.nextElementSibling;
  const turn = document.getElementById(`card-${tab.dataset.of}`);
  show(lanes, turn);
  tab.focus({preventScroll: true});
  tab.scrollIntoView({block: "nearest", inline: "nearest"});
  if (turn.matches(SPEAKING)) return follow.choose(true);
  const above = list.getBoundingClientRect().bottom - lanes.getBoundingClientRect().top;
  if (above > 0) scrollBy({top: -above, behavior: "instant"});
}

function shownIn(lanes) {
  return document.getElementById(`card-${lanes.dataset.shown}`);
}

function listOf(lanes) {
  return lanes.parentElement.querySelector(":scope > .tabs");
}

function reveal() {
  // A link may lead to somebody who is not in front.
  const turn = location.hash.length > 1 && document.getElementById(decodeURIComponent(location.hash.slice(1)))?.closest(".turn.behind");
  if (!turn) return;
  show(turn.parentElement, turn);
  turn.scrollIntoView();
}

transcript.addEventListener("click", (event) => {
  const tab = event.target.closest("[role=tab]");
  if (tab) choose(tab);
});
transcript.addEventListener("keydown", (event) => {
  if (!event.target.matches("[role=tab]") || !(event.key in STEPS)) return;
  event.preventDefault();
  const tabs = [...event.target.parentElement.children], step = STEPS[event.key];
  choose(tabs[Number.isFinite(step) ? (tabs.indexOf(event.target) + step + tabs.length) % tabs.length : step < 0 ? 0 : tabs.length - 1]);
});
narrow.addEventListener("change", arrange);
addEventListener("hashchange", reveal);
arrange();
reveal();
