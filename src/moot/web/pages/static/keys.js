// Keys that every page knows, and the overlay that explains them. Single keys act only outside of fields.

import {toast} from "./say.js";

const help = document.getElementById("help");
const button = document.getElementById("help-button");
button.hidden = false;
button.addEventListener("click", () => help.showModal());

const WRITING = "input:not([type=radio], [type=checkbox]), textarea, select, [contenteditable]";
const KEYS = {
  "/": () => focusOr(document.querySelector("input[type=search]"), "/#search"),
  n: () => { location.href = "/new"; },
  j: () => step(1),
  k: () => step(-1),
  o: () => fold(here()),
  i: () => here()?.querySelector("[data-inspect]")?.click(),
  c: () => copyLink(here()),
  w: () => document.querySelector(".dock textarea, #words")?.focus(),
  f: () => document.querySelector("[data-follow]")?.click(),
  "?": () => help.showModal(),
};

document.addEventListener("keydown", (event) => {
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) return send(event);
  if (event.key === "Escape") return leave(event.target);
  if (event.ctrlKey || event.metaKey || event.altKey || help.open || event.target.matches(WRITING)) return;
  if (!(event.key in KEYS)) return;
  event.preventDefault();
  KEYS[event.key]();
});

function send(event) {
  const form = event.target.closest("form[data-send]");
  if (!form) return;
  event.preventDefault();
  const words = event.target.matches("textarea") && event.target.value.trim();
  const buttons = [...form.elements].filter((element) => element.type === "submit");
  const speak = words && buttons.find((button) => ["guide", "answer"].includes(button.value));
  form.requestSubmit(speak || form.querySelector("button.primary") || buttons[0]);
}

function leave(target) {
  if (target.matches(WRITING)) target.blur();
  closeMenus();
}

function focusOr(field, otherwise) {
  if (field) field.focus();
  else location.href = otherwise;
}

function here() {
  return document.activeElement?.closest?.(".turn");
}

function fold(turn) {
  const details = turn?.matches("details") ? turn : turn?.querySelector("details");
  if (details) details.open = !details.open;
}

function copyLink(turn) {
  if (turn) navigator.clipboard?.writeText(`${location.href.split("#")[0]}#${turn.id}`).then(() => toast("Link copied"), () => {});
}

function step(direction) {
  const stops = [...document.querySelectorAll(".turn, .debate .topic, .waiting .topic, .running .topic")].filter((stop) => stop.offsetParent);
  const now = stops.findIndex((stop) => stop === document.activeElement || stop.contains(document.activeElement));
  const next = stops[now < 0 ? (direction > 0 ? 0 : stops.length - 1) : now + direction];
  if (!next) return;
  const target = next.matches("details") ? next.querySelector("summary") : next;
  target.focus({preventScroll: true});
  next.scrollIntoView({block: "nearest"});
}

function closeMenus(except = null) {
  for (const menu of document.querySelectorAll(".menu[open]")) if (menu !== except) menu.open = false;
}

document.addEventListener("click", (event) => closeMenus(event.target.closest(".menu")));

if (location.hash === "#search") document.querySelector("input[type=search]")?.focus();

if (location.hash === "#verdict") {  // who is taken there begins to read there, also after a reload
  addEventListener("load", () => setTimeout(() => { history.scrollRestoration = "auto"; }));  // sooner, it would scroll to where they were
  document.getElementById("verdict")?.focus();
  document.getElementById("verdict")?.scrollIntoView();
}
