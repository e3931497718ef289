// The form of a new debate: an estimate that follows it, more rows, a file as a text, models that can be reached.

import {read} from "./sources.js";

const PAUSE = 350;
const form = document.getElementById("new");
let waiting = 0;
let asked = 0;

for (const hidden of document.querySelectorAll(".adding")) hidden.hidden = false;

document.addEventListener("click", (event) => {
  if (event.target.matches("[data-add]")) addRow(event.target.closest("fieldset")).querySelector("input, textarea").focus();
});

document.addEventListener("change", async (event) => {
  const input = event.target;
  if (input.matches("[data-file-for]") && input.files[0]) {
    await fill(document.getElementById(input.dataset.fileFor), input.files[0]);
    input.value = "";
  }
});

for (const type of ["input", "change"]) form.addEventListener(type, reckon);
addEventListener("pageshow", () => [...form.elements].some(isRestored) && reckon());
new MutationObserver(reckon).observe(form.querySelector("[data-rows]"), {childList: true});

// Whether the browser has put back what was chosen here before, of which the server knows nothing.
function isRestored(field) {
  const isTicked = ["radio", "checkbox"].includes(field.type);
  return isTicked ? field.checked !== field.defaultChecked : (field.defaultValue ?? field.value) !== field.value;
}

function reckon() {
  clearTimeout(waiting);
  waiting = setTimeout(estimate, PAUSE);
}

async function estimate() {
  const number = ++asked;
  const said = new URLSearchParams([...new FormData(form)].filter(([, value]) => typeof value === "string"));
  const response = await fetch("/new/estimate", {method: "POST", body: said}).catch(() => null);
  if (!response?.ok || number !== asked) return;
  const fresh = new DOMParser().parseFromString(await response.text(), "text/html");
  const bill = document.getElementById("bill");
  for (const part of [".sum-line > .soft", ".bill-facts"]) bill.querySelector(part).replaceWith(fresh.querySelector(part));
  const sum = fresh.getElementById("estimate").textContent;
  const shown = document.getElementById("estimate");
  if (shown.textContent !== sum) shown.textContent = sum;
  for (const {value, textContent} of bill.querySelectorAll("data")) {
    const price = form.querySelector(`[data-price="${CSS.escape(value)}"]`);
    if (price) price.textContent = textContent;
  }
}

function addRow(fieldset) {
  const rows = fieldset.querySelector("[data-rows]");
  const row = rows.lastElementChild.cloneNode(true);
  const number = 1 + Number(row.querySelector("[name]").name.match(/\.(\d+)\.[^.]+$/)[1]);
  row.setAttribute("aria-label", row.getAttribute("aria-label").replace(/\d+$/, number + 1));
  for (const field of row.querySelectorAll("[name]")) {
    field.name = field.name.replace(/\.\d+\.([^.]+)$/, `.${number}.$1`);
    field.previousElementSibling?.setAttribute("for", (field.id = field.name.replaceAll(".", "-")));
    if (field.tagName !== "SELECT") field.value = "";
  }
  rows.append(row);
  return row;
}

async function fill(field, file) {
  const {source, fault} = await read(file, file.name);
  field.setCustomValidity(fault || "");
  if (fault) field.reportValidity();
  else field.value = source.text;
  reckon();
}

// A form that was refused shows its first fault.
document.querySelector("[aria-invalid=true]")?.focus();

const datalist = document.getElementById("models");
fetch("/api/models").then((response) => response.json()).then((answer) => {
  const known = new Set([...datalist.options].map((option) => option.value));
  for (const {name, models} of answer.providers || [])
    for (const model of models || []) known.add(model.startsWith(`${name}:`) ? model : `${name}:${model}`);
  datalist.replaceChildren(...[...known].sort().map((name) => Object.assign(document.createElement("option"), {value: name})));
}).catch(() => {});
