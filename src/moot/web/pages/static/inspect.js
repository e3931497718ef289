// Inspect opens the page of a turn as a drawer: the focus goes in and comes back, Esc closes, and with a modifier key or
// without this script the link leads to the page itself.

import {say} from "./say.js";

let from = null;

function close() {
  document.getElementById("inspector")?.remove();
  from?.focus();
  from = null;
}

async function open(link) {
  close();
  from = link;
  const answer = await fetch(link.href).catch(() => null);
  if (!answer?.ok) {
    location.href = link.href;
    return;
  }
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  const drawer = document.importNode(page.getElementById("inspector"), true);
  drawer.classList.remove("alone");
  drawer.classList.add("open");
  drawer.querySelector(".spread").append(ends(link.href));
  document.body.append(drawer);
  drawer.focus();
  say(drawer.querySelector("h1").textContent);
}

function ends(href) {
  const both = document.createElement("span");
  const page = Object.assign(document.createElement("a"), {href, className: "button quiet slim", textContent: "As a page"});
  const shut = Object.assign(document.createElement("button"), {type: "button", className: "button quiet round", textContent: "✕"});
  shut.setAttribute("aria-label", "Close");
  shut.addEventListener("click", close);
  both.append(page, shut);
  return both;
}

document.addEventListener("click", (event) => {
  const link = event.target.closest("[data-inspect]");
  if (!link || event.ctrlKey || event.metaKey || event.shiftKey || event.button) return;
  event.preventDefault();
  open(link);
});

document.addEventListener("keydown", (event) => {
  if (event.key === "Escape" && document.getElementById("inspector")) close();
});
