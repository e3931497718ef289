// One polite voice for the whole page, and a toast for what the eye should catch.

const announcer = document.getElementById("announcer");
let announcing = Promise.resolve();

export function say(words) {
  // One after the other: of two at once a screen reader would hear the second alone.
  announcing = announcing.then(() => {
    announcer.textContent = words;
    return new Promise((next) => setTimeout(next, 100));
  });
}

export function toast(words) {
  document.querySelector(".toast")?.remove();
  const note = Object.assign(document.createElement("p"), {className: "toast", textContent: words});
  document.body.append(note);
  say(words);
  setTimeout(() => note.remove(), 2400);
}
