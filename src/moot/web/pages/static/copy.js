// <button data-copy="#selector"> copies that element's text; a checklist becomes Markdown.

import {toast} from "./say.js";

const task = (tick) => `- [${tick.getAttribute("aria-checked") === "true" ? "x" : " "}] ${tick.querySelector(".what").textContent.trim()}`;
const words = (from) => (from.matches(".steps") ? [...from.querySelectorAll(".tick")].map(task).join("\n") : from.innerText);

document.addEventListener("click", async (event) => {
  const button = event.target.closest("[data-copy]");
  if (!button) return;
  const text = words(document.querySelector(button.dataset.copy));
  const copied = await navigator.clipboard?.writeText(text).then(() => true, () => false);
  toast(copied ? "Copied" : "The browser does not let this page copy: select the text instead");
});
