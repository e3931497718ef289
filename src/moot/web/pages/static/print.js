// The button of the printed page.

document.querySelector("[data-print]").addEventListener("click", () => print());
