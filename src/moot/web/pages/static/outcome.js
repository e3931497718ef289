// Ticks, ratings and issues are sent without leaving the page: only what has changed is put in its place, and the focus
// stays where it was.

import {say} from "./say.js";

const CHANGING = ["notice", "steps", "issue", "rating", "document-place"];

document.addEventListener("submit", async (event) => {
  const form = event.target.closest("form[data-live]");
  if (!form) return;
  event.preventDefault();
  const body = new URLSearchParams(new FormData(form, event.submitter));
  const answer = await fetch(form.action, {method: "POST", body}).catch(() => null);
  if (!answer) {
    say("The server cannot be reached; nothing was changed");
    return;
  }
  renew(new DOMParser().parseFromString(await answer.text(), "text/html"), event.submitter);
});

function renew(page, submitter) {
  const value = submitter?.value;
  for (const id of CHANGING) {
    const old = document.getElementById(id);
    const now = page.getElementById(id);
    if (old && now && old.innerHTML !== now.innerHTML) old.replaceWith(document.importNode(now, true));
  }
  const again = document.querySelector(`.tick[value="${CSS.escape(value ?? "")}"]`);
  if (submitter?.matches(".tick") && again) {
    again.focus();
    say(again.getAttribute("aria-checked") === "true" ? "Done" : "Not done");
  }
}

// A chart that is wider than the window begins where its mean is
for (const mean of document.querySelectorAll(".scroll > .chart path.judged:first-of-type")) {
  const box = mean.closest(".scroll");
  box.scrollLeft += mean.getBoundingClientRect().left - box.getBoundingClientRect().left - box.clientWidth / 2;
}
