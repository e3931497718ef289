// Following: on while the end of what is said is in sight, off as soon as the reader scrolls up, or past it. New text
// never moves the page of somebody who reads; a pill says who speaks and brings them back.

const pill = document.getElementById("follow");
const UP = 4;
const SLACK = 24;

let following = false;
let was = scrollY;

export function isFollowing() {
  return following;
}

export function begin() {
  following = !away();
  show();
}

export function keepUp() {
  // Called when text has grown: who follows sees its end.
  if (following) toEnd();
}

export function show() {
  const turns = speaking();
  const hidden = following || !turns.length || !away();
  if (pill.hidden !== hidden) pill.hidden = hidden;
  if (hidden) return;
  const names = turns.map((turn) => turn.dataset.title);
  const words = `${names.length === 1 ? `${names[0]} is speaking` : `${names.length} are speaking`} · follow`;
  const shown = pill.querySelector("span");
  if (shown.textContent !== words) shown.textContent = words;
}

function toEnd() {
  scrollBy({top: away(), behavior: "instant"});
  was = scrollY;  // what the reader scrolls is told from this
}

function speaking() {
  return [...document.querySelectorAll(".turn.speaking")].filter((turn) => turn.offsetParent);
}

function away() {
  // How far to scroll until the end of what is being said is in sight: down, up to a column that begins anew, or not at all.
  const turns = speaking();
  const last = document.querySelector("#transcript .part:last-of-type");
  const boxes = (turns.length ? turns : last ? [last] : []).map((turn) => turn.getBoundingClientRect());
  if (!boxes.length) return 0;
  const end = boxes.reduce((low, box) => (box.bottom > low.bottom ? box : low));
  const floor = bottom();
  const ceiling = Math.max(0, (document.querySelector(".heads") ?? document.getElementById("phases")).getBoundingClientRect().bottom) + SLACK / 2;
  if (end.bottom > floor + SLACK) return end.bottom - floor + SLACK / 2;
  return turns.length && end.bottom < ceiling + 2 * SLACK ? Math.min(0, Math.max(end.top - ceiling, end.bottom - floor)) : 0;
}

function bottom() {
  const dock = document.getElementById("controls");
  return innerHeight - (dock && getComputedStyle(dock).position === "fixed" ? dock.offsetHeight : 0);
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
  else if (scrollY > was) following = !away() || (following && away() > 0);
  was = scrollY;
  show();
}, {passive: true});
addEventListener("wheel", (event) => { if (event.deltaY < 0) following = false; }, {passive: true});
addEventListener("keydown", (event) => { if (["ArrowUp", "PageUp", "Home"].includes(event.key) && !event.target.matches("textarea, input")) following = false; });
