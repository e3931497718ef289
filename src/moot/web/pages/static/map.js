// The map of claims: what is one step away from a claim, filters, keys and zoom; a claim opens its speech beside the
// map with its words marked; while the debate goes on, the map grows.
const RENEW = 4000, LARGEST = 2.5, SMALLEST = 0.3;
const page = document.querySelector("#claims"), url = `/debates/${page.dataset.id}`;
let zoom = 1, shown = "", map, nodes, links, kept = new Set();

const part = (name) => page.querySelector(`#${name}`);
const around = (id) => new Set([id, ...links.flatMap(({ dataset: { from, to } }) => (from === id ? [to] : to === id ? [from] : []))]);

function light(ids) {
  map.classList.toggle("focused", ids.size > 0);
  nodes.forEach((node, id) => node.classList.toggle("lit", ids.has(id)));
  links.forEach((link) => link.classList.toggle("lit", ids.has(link.dataset.from) && ids.has(link.dataset.to)));
}

function filter(wanted) {
  shown = wanted;
  page.querySelectorAll("[data-show]").forEach((each) => each.setAttribute("aria-pressed", String(each.dataset.show === shown)));
  const matches = (node) => (shown === "key" ? node.classList.contains("key") : shown.split(" ").includes(node.dataset.status));
  const found = shown ? [...nodes].filter(([, node]) => matches(node)) : [];
  kept = new Set(found.flatMap(([id]) => [...around(id)]));
  light(kept);
}

function enlarge(times) {
  zoom = times ? Math.min(LARGEST, Math.max(SMALLEST, zoom * times)) : 1;
  const size = zoom === 1 ? "" : `${map.viewBox.baseVal.width * zoom}px`;
  Object.assign(map.style, { inlineSize: size, minInlineSize: size && "0", maxInlineSize: size && "none" });
}

function start() {
  map = page.querySelector("svg.map[role=group]");
  if (!map) return;
  links = [...map.querySelectorAll(".link")];
  nodes = new Map([...map.querySelectorAll(".node")].map((node) => [node.dataset.id, node]));
  nodes.forEach((node, id) => {
    for (const type of ["pointerenter", "focus"]) node.addEventListener(type, () => light(around(id)));
    for (const type of ["pointerleave", "blur"]) node.addEventListener(type, () => light(kept));
  });
  part("map-controls").hidden = false;
  filter(page.querySelector(`[data-show="${shown}"]`) ? shown : "");
  enlarge(zoom === 1 ? 0 : 1);
}

// Keys: arrows go to the next claim in their direction, + - 0 change the size, Esc closes the speech

const AXES = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };

function neighbour(node, [x, y]) {
  const middle = (each) => { const box = each.getBBox(); return [box.x + box.width / 2, box.y + box.height / 2]; };
  const [fromX, fromY] = middle(node);
  const ahead = [...nodes.values()].map((each) => {
    const [dx, dy] = middle(each).map((at, axis) => at - [fromX, fromY][axis]);
    return { each, along: dx * x + dy * y, aside: Math.abs(dx * y) + Math.abs(dy * x) };
  }).filter(({ along, aside }) => along > 20 && (x || aside < 20));
  return ahead.sort((one, other) => one.along + one.aside - other.along - other.aside)[0]?.each;
}

page.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || !map) return;
  const node = event.target.closest(".node"), times = { "+": 1.25, "=": 1.25, "-": 0.8, 0: 0 }[event.key];
  if (event.key === "Escape" && !part("speech").hidden) return close();
  if (node && AXES[event.key]) {
    event.preventDefault();
    neighbour(node, AXES[event.key])?.focus();
  } else if (times !== undefined && event.target.closest(".map-frame")) enlarge(times);
});

page.addEventListener("click", (event) => {
  const button = event.target.closest("button"), node = event.target.closest(".node");
  if (button?.dataset.show !== undefined) filter(button.dataset.show);
  else if (button?.dataset.zoom) enlarge(Number(button.dataset.zoom));
  else if (button?.id === "close-speech") close();
  else if (node && !(event.ctrlKey || event.metaKey || event.shiftKey)) {
    event.preventDefault();
    open(node);
  }
});

// The speech in which a claim was made, as the transcript shows it

let opened = null;

async function open(node) {
  const { turn, id } = node.dataset, panel = part("speech");
  const answer = await fetch(url).catch(() => null);
  const spoken = answer?.ok && new DOMParser().parseFromString(await answer.text(), "text/html").getElementById(`turn-${turn}`);
  if (!spoken) return location.assign(node.href.baseVal);
  const words = panel.querySelector(".prose");
  words.replaceChildren(...[...spoken.childNodes].map((each) => document.importNode(each, true)));
  panel.querySelector("h2").textContent = node.getAttribute("aria-label").split(":")[0];
  panel.querySelector("a").href = node.href.baseVal;
  panel.hidden = false;
  page.classList.add("beside");
  mark(words, part(id)?.querySelector("blockquote")?.textContent ?? part(id)?.querySelector(".text").textContent);
  opened = id;
  panel.focus();
}

function close() {
  part("speech").hidden = true;
  page.classList.remove("beside");
  nodes.get(opened)?.focus();
}

function mark(place, quote) {
  const texts = document.createTreeWalker(place, NodeFilter.SHOW_TEXT), found = [];
  for (let text = texts.nextNode(); text; text = texts.nextNode()) for (let at = 0; at < text.data.length; at += 1) found.push([text, at]);
  const letters = found.filter(([text, at]) => /[\p{L}\p{N}]/u.test(text.data[at]));
  const said = letters.map(([text, at]) => text.data[at]).join("").toLowerCase();
  const wanted = (quote ?? "").replace(/[^\p{L}\p{N}]/gu, "").toLowerCase(), at = said.indexOf(wanted);
  if (at < 0 || !wanted) return;
  const range = new Range(), [first, start] = letters[at], [last, end] = letters[at + wanted.length - 1];
  range.setStart(first, start);
  range.setEnd(last, end + 1);
  if (CSS.highlights) CSS.highlights.set("quote", new Highlight(range));
  first.parentElement.scrollIntoView({ block: "center" });
}

// A debate that goes on is looked at again and again; nothing of what a reader does on the map is lost by it

async function renew() {
  if (!document.hidden) {
    const answer = await fetch(location.href).catch(() => null);
    const fresh = answer?.ok && new DOMParser().parseFromString(await answer.text(), "text/html").querySelector("#claims");
    if (fresh) grow(fresh);
  }
  if (page.dataset.live) setTimeout(renew, RENEW);
}

function grow(fresh) {
  page.dataset.live = fresh.dataset.live;
  const focused = document.activeElement?.closest?.(".node")?.dataset.id;
  for (const name of ["about", "drawn", "list"]) {
    const old = part(name), now = fresh.querySelector(`#${name}`);
    if (old.dataset.version !== now.dataset.version) old.replaceWith(now);
  }
  if (page.querySelector("svg.map[role=group]") !== map) start();
  if (focused) nodes.get(focused)?.focus();
}

start();
if (page.dataset.live) setTimeout(renew, RENEW);
