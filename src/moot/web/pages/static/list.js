// The list of debates: renewed while some of them go on, and a debate that is deleted can be brought back in place.

import {say} from "./say.js";

const EVERY = 3000;

setInterval(async () => {
  const rows = document.getElementById("rows");
  if (rows?.dataset.live !== "1" || document.hidden || rows.contains(document.activeElement) || ticked().length) return;
  const response = await fetch(location.href).catch(() => null);
  if (!response?.ok) return;
  const fresh = new DOMParser().parseFromString(await response.text(), "text/html").getElementById("rows");
  if (fresh && !rows.querySelector(".gone")) rows.replaceWith(fresh);
}, EVERY);

// Two are compared: the third tick takes the place of the first.
const order = [];
const ticked = () => document.querySelectorAll("[name=compare]:checked");
document.addEventListener("change", ({target}) => {
  if (target.name !== "compare") return;
  if (order.includes(target)) order.splice(order.indexOf(target), 1);
  if (target.checked) order.push(target);
  while (ticked().length > 2 && order.length) order.shift().checked = false;
  if (ticked().length === 2) say("Two chosen: Compare is at the end of the list");
});

document.addEventListener("submit", async (event) => {
  const form = event.target.closest("[data-delete]");
  if (!form) return;
  event.preventDefault();
  const row = form.closest(".debate");
  const title = row.querySelector(".topic").textContent.trim();
  if (!(await sent(form.action))) return form.submit();
  const note = Object.assign(document.createElement("li"), {className: "debate gone"});
  const words = Object.assign(document.createElement("p"), {className: "soft", textContent: `Deleted: ${title}`});
  const undo = Object.assign(document.createElement("button"), {type: "button", className: "button slim", textContent: "Undo"});
  undo.addEventListener("click", () => restore(form.action.replace(/delete$/, "restore"), note, row, title));
  note.append(words, undo);
  row.replaceWith(note);
  undo.focus();
  say(`Deleted: ${title}. Undo is here.`);
});

async function restore(url, note, row, title) {
  if (!(await sent(url))) return say("The server cannot be reached. Try again.");
  note.replaceWith(row);
  row.querySelector(".topic").focus();
  say(`${title} is back`);
}

async function sent(url) {
  const response = await fetch(url, {method: "POST", redirect: "manual", headers: {"content-type": "application/x-www-form-urlencoded"}}).catch(() => null);
  return response?.type === "opaqueredirect";
}
