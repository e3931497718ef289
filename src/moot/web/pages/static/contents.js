// The contents mark the section that is being read.

const links = [...document.querySelectorAll(".toc a")];
const ids = [...new Set(links.map((link) => link.getAttribute("href").slice(1)))];
const sections = ids.map((id) => document.getElementById(id)).filter(Boolean);

function mark() {
  const read = sections.filter((section) => section.getBoundingClientRect().top < innerHeight * 0.35);
  const here = read.at(-1) ?? sections[0];
  for (const link of links) {
    if (here && link.getAttribute("href") === `#${here.id}`) link.setAttribute("aria-current", "location");
    else link.removeAttribute("aria-current");
  }
}

addEventListener("scroll", mark, {passive: true});
mark();
