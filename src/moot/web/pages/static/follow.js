// Following: on while the end of what is said is in sight, off as soon as the reader scrolls up. New text never moves the
// page of somebody who reads; a pill says who speaks and brings them back.

const pill = document.getElementById("follow");
const quiet = matchMedia("(prefers-reduced-motion: reduce)");
const UP = 4;
const SLACK = 24;

let following = false;
let was = scrollY;
let moving = 0;

export function isFollowing() {
  return following;
}

export function begin() {
  following = endInSight();
  show();
}

export function keepUp() {
  // Called when text has grown: who follows sees its end.
  if (following && !endInSight()) toEnd();
}

export function show() {
  const turns = speaking();
  pill.hidden = following || !turns.length || endInSight();
  const names = turns.map((turn) => turn.dataset.title);
  const words = names.length === 1 ? `${names[0]} is speaking` : `${names.length} are speaking`;
  pill.querySelector("span").textContent = `${words} · follow`;
}

export function toEnd() {
  const end = lowest();
  if (!end) return;
  moving = performance.now();
  const by = end.getBoundingClientRect().bottom - bottom();
  if (by > 0) scrollBy({top: by + SLACK / 2, behavior: quiet.matches || by < 200 ? "instant" : "smooth"});
}

function speaking() {
  return [...document.querySelectorAll(".turn.speaking")];
}

function lowest() {
  const last = document.querySelector("#transcript .part:last-of-type");
  const turns = speaking().filter((turn) => turn.offsetParent);
  return turns.reduce((low, turn) => (!low || turn.getBoundingClientRect().bottom > low.getBoundingClientRect().bottom ? turn : low), null) ?? last;
}

function bottom() {
  const dock = document.getElementById("controls");
  return innerHeight - (dock && getComputedStyle(dock).position === "fixed" ? dock.offsetHeight : 0);
}

function endInSight() {
  const end = lowest();
  return !end || end.getBoundingClientRect().bottom <= bottom() + SLACK;
}

export function choose(on) {
  following = on;
  if (on) toEnd();
  show();
}

pill.addEventListener("click", () => choose(!following));
addEventListener("scroll", () => {
  const ends = innerHeight + scrollY >= document.documentElement.scrollHeight - UP;  // a page that got shorter
  if (scrollY < was - UP && !ends) following = false;
  else if (performance.now() - moving > 600 && endInSight()) following = true;
  was = scrollY;
  show();
}, {passive: true});
addEventListener("wheel", (event) => { if (event.deltaY < 0) following = false; }, {passive: true});
addEventListener("keydown", (event) => { if (["ArrowUp", "PageUp", "Home"].includes(event.key)) following = false; });
