// Keys that every page knows, and the overlay that explains them.

const help = document.getElementById("help");
const button = document.getElementById("help-button");
button.hidden = false;
button.addEventListener("click", () => help.showModal());

const WRITING = "input:not([type=radio], [type=checkbox]), textarea, select, [contenteditable]";
const KEYS = {
  "/": () => focusOr(document.getElementById("search"), "/#search"),
  n: () => { location.href = "/new"; },
  j: () => step(1),
  k: () => step(-1),
  "?": () => help.showModal(),
};

document.addEventListener("keydown", (event) => {
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) return send(event);
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
  form.requestSubmit(speak || buttons[0]);
}

function focusOr(field, otherwise) {
  if (field) field.focus();
  else location.href = otherwise;
}

function step(direction) {
  const stops = [...document.querySelectorAll(".turn, .debates .topic")];
  const now = stops.findIndex((stop) => stop === document.activeElement || stop.contains(document.activeElement));
  const next = stops[now < 0 ? (direction > 0 ? 0 : stops.length - 1) : now + direction];
  if (!next) return;
  next.focus({preventScroll: true});
  next.scrollIntoView({block: "nearest"});
}

if (location.hash === "#search") document.getElementById("search")?.focus();
