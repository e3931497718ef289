// The form of a new debate: more rows; files as sources, those that are no plain text read by the server; models.

for (const hidden of document.querySelectorAll(".adding")) hidden.hidden = false;
for (const row of document.querySelectorAll(".row")) showSize(row);

document.addEventListener("click", (event) => {
  const fieldset = event.target.closest("fieldset");
  if (event.target.matches("[data-add]")) addRow(fieldset).querySelector("input, textarea").focus();
  if (event.target.matches("[data-remove]")) remove(event.target.closest(".row"));
});

document.addEventListener("input", (event) => event.target.closest(".row") && showSize(event.target.closest(".row")));

document.addEventListener("change", async (event) => {
  const input = event.target;
  if (input.type !== "file") return;
  const files = [...input.files];
  if (input.matches("[data-file-for]") && files[0]) await fill(document.getElementById(input.dataset.fileFor), files[0]);
  if (input.matches("[data-files]")) for (const file of files) await addFile(input.closest("fieldset"), file);
  input.value = "";
});

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
  showSize(row);
  return row;
}

function remove(row) {
  for (const field of row.querySelectorAll("input, textarea")) field.value = "";
  const next = row.nextElementSibling || row.previousElementSibling;
  if (next) row.remove();
  showSize(row);
  (next || row).querySelector("input, textarea").focus();
}

function showSize(row) {
  const size = row.querySelector("[data-size]");
  const length = row.querySelector("textarea")?.value.length;
  if (size) size.textContent = length ? `${length.toLocaleString("en")} characters` : "";
}

async function addFile(fieldset, file) {
  const told = fieldset.querySelector("[data-reading]");
  told.textContent = `Reading ${file.name} …`;
  const {source, fault} = await read(file);
  told.textContent = fault || "";
  told.classList.toggle("fault", Boolean(fault));
  if (fault) return;
  const rows = [...fieldset.querySelectorAll(".row")];
  const empty = rows.find((row) => [...row.querySelectorAll("input, textarea")].every((field) => !field.value));
  const row = empty || addRow(fieldset);
  row.querySelector("textarea").value = source.text;
  row.querySelector("input").value = source.name;
  showSize(row);
}

async function read(file) {
  const answer = await fetch(`/api/sources?name=${encodeURIComponent(file.name.slice(0, 120))}`, {
    method: "POST", body: file, headers: {"content-type": "application/octet-stream"},
  }).catch(() => null);
  const body = await answer?.json().catch(() => null);
  return answer?.ok && body ? {source: body} : {fault: body?.error?.message || `${file.name} could not be read`};
}

async function fill(field, file) {
  const {source, fault} = await read(file);
  field.setCustomValidity(fault || "");
  if (fault) field.reportValidity();
  else field.value = source.text;
}

const datalist = document.getElementById("models");
fetch("/api/models").then((response) => response.json()).then((answer) => {
  const known = new Set([...datalist.options].map((option) => option.value));
  for (const {name, models} of answer.providers || [])
    for (const model of models || []) known.add(model.startsWith(`${name}:`) ? model : `${name}:${model}`);
  datalist.replaceChildren(...[...known].sort().map((name) => Object.assign(document.createElement("option"), {value: name})));
}).catch(() => {});
