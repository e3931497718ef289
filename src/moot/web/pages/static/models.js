// Test: the button says what it does while it does it; the answer stands in the provider's own line.

import {say} from "./say.js";

document.addEventListener("submit", async (event) => {
  const form = event.target.closest("[data-test]");
  if (!form) return;
  event.preventDefault();
  const card = form.closest(".provider");
  const button = form.querySelector("button");
  button.disabled = true;
  button.textContent = "Testing…";
  const body = new URLSearchParams(new FormData(form));
  const response = await fetch(form.action, {method: "POST", body}).catch(() => null);
  const fresh = response?.ok && new DOMParser().parseFromString(await response.text(), "text/html");
  const own = fresh && [...fresh.querySelectorAll("[data-test] input")].find((input) => input.value === body.get("model"));
  const result = card.querySelector(".result");
  result.textContent = own?.closest(".provider").querySelector(".result").textContent || "The server cannot be reached. Try again.";
  button.disabled = false;
  button.textContent = "Test again";
  button.focus();
  say(`${card.querySelector("h3").firstChild.textContent.trim()}: ${result.textContent}`);
});
