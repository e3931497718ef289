// The transcript: seats are a filter (none pressed is all), Find opens what it finds and counts it, and a link into a
// folded turn opens it.

import {say, toast} from "./say.js";

const tools = document.querySelector("[data-transcript]");
const turns = [...document.querySelectorAll("details.turn")];
const groups = [...document.querySelectorAll("details.group")];

if (tools) {
  const seats = [...tools.querySelectorAll("[data-seat]")];
  const find = tools.querySelector("[type=search]");
  const unfold = tools.querySelector("[data-unfold]");
  let waiting = 0;

  const apply = () => {
    const on = seats.filter((chip) => chip.getAttribute("aria-pressed") === "true").map((chip) => chip.dataset.seat);
    const words = find.value.trim().toLowerCase();
    let hits = 0;
    for (const turn of turns) {
      const has = !words || turn.textContent.toLowerCase().includes(words);
      turn.hidden = !has || (on.length > 0 && !on.includes(turn.dataset.seat));
      if (!turn.hidden) hits += 1;
      if (words && has) turn.open = true;
    }
    for (const group of groups) {
      group.hidden = !group.querySelector(".turn:not([hidden])");
      if (words || on.length) group.open = true;
    }
    say(`${hits} of ${turns.length} turns`);
  };

  for (const chip of seats) {
    chip.addEventListener("click", () => {
      chip.setAttribute("aria-pressed", chip.getAttribute("aria-pressed") !== "true");
      apply();
    });
  }
  find.addEventListener("input", () => {
    clearTimeout(waiting);
    waiting = setTimeout(apply, 120);
  });
  unfold.addEventListener("click", () => {
    const open = unfold.textContent === "Open all";
    for (const each of [...groups, ...turns]) each.open = open;
    unfold.textContent = open ? "Fold all" : "Open all";
  });
}

function reveal() {
  const target = document.getElementById(decodeURIComponent(location.hash.slice(1)).split(":~:")[0]);
  const turn = target?.closest("details.turn");
  if (!turn) return;
  for (const each of [turn.closest(".group"), turn]) if (each) [each.hidden, each.open] = [false, true];
  turn.scrollIntoView({block: "start"});
}

document.addEventListener("click", (event) => {
  const link = event.target.closest("[data-link]");
  if (!link) return;
  event.preventDefault();
  history.replaceState(null, "", link.getAttribute("href"));
  navigator.clipboard?.writeText(link.href).then(() => toast("Link copied"), () => {});
});

addEventListener("hashchange", reveal);
reveal();
