// The form of a new debate: files are read here and never uploaded as such; more rows; models to choose from.

for (const hidden of document.querySelectorAll(".adding")) hidden.hidden = false;

document.addEventListener("click", (event) => {
  if (event.target.matches("[data-add]")) addRow(event.target.closest("fieldset")).querySelector("input, textarea").focus();
});

document.addEventListener("change", async (event) => {
  const input = event.target;
  if (input.matches("[data-file-for]") && input.files[0]) await fill(document.getElementById(input.dataset.fileFor), input.files[0]);
  if (input.matches("[data-files]")) for (const file of input.files) await addFile(input.closest("fieldset"), file);
  if (input.type === "file") input.value = "";
});

function addRow(fieldset) {
  const rows = fieldset.querySelector("[data-rows]");
  const last = rows.lastElementChild;
  const row = last.cloneNode(true);
  const number = rows.children.length;
  row.setAttribute("aria-label", row.getAttribute("aria-label").replace(/\d+$/, number + 1));
  for (const field of row.querySelectorAll("[name]")) {
    field.name = field.name.replace(/\.\d+\.([^.]+)$/, `.${number}.$1`);
    field.previousElementSibling?.setAttribute("for", (field.id = field.name.replaceAll(".", "-")));
    if (field.tagName !== "SELECT") field.value = "";
  }
  rows.append(row);
  return row;
}

async function addFile(fieldset, file) {
  const rows = [...fieldset.querySelectorAll(".row")];
  const empty = rows.find((row) => [...row.querySelectorAll("input, textarea")].every((field) => !field.value));
  const row = empty || addRow(fieldset);
  if (await fill(row.querySelector("textarea"), file)) row.querySelector("input").value = file.name.replace(/[<>"]/g, "_").slice(0, 120);
}

async function fill(field, file) {
  const text = await file.text();
  const readable = !/[\0-\x08\x0e-\x1f\uFFFD]/.test(text);
  field.setCustomValidity(readable ? "" : `${file.name} is no plain text`);
  if (readable) field.value = text;
  else field.reportValidity();
  return readable;
}

const datalist = document.getElementById("models");
fetch("/api/models").then((response) => response.json()).then((answer) => {
  const known = new Set([...datalist.options].map((option) => option.value));
  for (const {name, models} of answer.providers || [])
    for (const model of models || []) known.add(model.startsWith(`${name}:`) ? model : `${name}:${model}`);
  datalist.replaceChildren(...[...known].sort().map((name) => Object.assign(document.createElement("option"), {value: name})));
}).catch(() => {});
