// The sources of a new debate: files and folders that are chosen or dropped are read by the server, and listed with
// their size until they are sent with the form; what cannot be read is told.

export async function read(file, name) {
  const answer = await fetch(`/api/sources?name=${encodeURIComponent(name.slice(-120))}`, {
    method: "POST", body: file, headers: {"content-type": "application/octet-stream"},
  }).catch(() => null);
  const body = await answer?.json().catch(() => null);
  return answer?.ok && body ? {source: body} : {fault: body?.error?.message || `${name} could not be read; try again`};
}

const field = document.querySelector("[data-sources]");
if (field) begin();

function begin() {
  const rows = field.querySelector("[data-rows]");
  const empty = rows.querySelector("[data-empty]");
  const drop = field.querySelector("[data-drop]");
  const told = field.querySelector("[data-told]");
  const most = Number(field.dataset.most);
  let next = Number(empty.querySelector("textarea").name.split(".")[1]);
  let reading = Promise.resolve();
  empty.remove();
  renumber();

  field.addEventListener("click", (event) => {
    const button = event.target.closest("button");
    if (button?.matches("[data-remove]")) remove(button.closest("li"));
    if (button?.matches("[data-paste]")) paste();
  });
  field.addEventListener("input", (event) => event.target.matches("textarea") && showSize(event.target.closest("li")));
  field.addEventListener("change", (event) => {
    if (event.target.type !== "file") return;
    take([...event.target.files].map((file) => ({file, path: file.webkitRelativePath || file.name})));
    event.target.value = "";
  });
  for (const name of ["dragenter", "dragover", "dragleave", "drop"])
    drop.addEventListener(name, (event) => {
      event.preventDefault();
      drop.classList.toggle("over", name === "dragenter" || name === "dragover");
    });
  drop.addEventListener("drop", async (event) => {
    const items = [...event.dataTransfer.items].filter((item) => item.kind === "file");
    const dropped = items.map((item) => ({entry: item.webkitGetAsEntry?.(), file: item.getAsFile()}));
    const found = [];
    for (const {entry, file} of dropped)
      if (entry) await walk(entry, "", found);
      else if (file) found.push({file, path: file.name});
    take(found);
  });

  function add(name, text) {
    const row = empty.cloneNode(true);
    row.removeAttribute("data-empty");
    for (const each of row.querySelectorAll("[name]")) {
      each.name = each.name.replace(/\.\d+\./, `.${next}.`);
      each.id = each.name.replaceAll(".", "-");
    }
    next += 1;
    row.querySelector("input").value = name;
    row.querySelector("textarea").value = text;
    rows.append(row);
    renumber();
    return row;
  }

  function paste() {
    const row = add("", "");
    row.querySelector("details").open = true;
    row.querySelector("input").focus();
  }

  function remove(row) {
    const other = row.nextElementSibling || row.previousElementSibling;
    row.remove();
    renumber();
    (other?.querySelector("[data-remove]") || field.querySelector("[data-files]")).focus();
  }

  function renumber() {
    [...rows.children].forEach((row, at) => {
      row.querySelector(".tag").textContent = `S${at + 1}`;
      row.querySelector("input").setAttribute("aria-label", `Name of source ${at + 1}`);
      row.querySelector("textarea").setAttribute("aria-label", `Text of source ${at + 1}`);
      const button = row.querySelector("[data-remove]");
      button.hidden = false;
      button.querySelector(".sr").textContent = `Remove ${row.querySelector("input").value || `source ${at + 1}`}`;
      showSize(row);
    });
  }

  function showSize(row) {
    const length = row.querySelector("textarea").value.length;
    row.querySelector("[data-size]").textContent = length ? `${length.toLocaleString("en")} characters` : "";
  }

  // One after the other: the server reads few files at once, and the order is that of their tags.
  function take(files) {
    if (files.every(({path}) => path.includes("/"))) files.sort((one, other) => (one.path < other.path ? -1 : 1));
    reading = reading.then(() => readAll(files));
  }

  async function readAll(files) {
    const faults = [], leftOut = new Map();
    const buttons = [...field.form.querySelectorAll("#bill button")];
    for (const button of buttons) button.disabled = true;
    for (const [at, {file, path}] of files.entries()) {
      if (rows.children.length >= most) {
        faults.push(`over ${most} files, the last ${path}; give those that matter`);
        break;
      }
      tell([`Reading ${at + 1} of ${files.length}: ${path}`]);
      const {source, fault} = await readOne(file, path);
      if (source) add(source.name, source.text);
      else if (path.includes("/")) leftOut.set(reason(path, fault), 1 + (leftOut.get(reason(path, fault)) || 0));
      else faults.push(fault);
    }
    for (const [why, count] of leftOut) faults.push(`${count} ${count === 1 ? "file" : "files"} left out: ${why}`);
    tell(faults, "fault");
    for (const button of buttons) button.disabled = false;
  }

  async function readOne(file, path) {
    const largest = Number(field.dataset.largest);
    if (path.split("/").some((part) => part.startsWith(".") && path.includes("/"))) return {fault: `${path} hidden`};
    if (file.size > largest) return {fault: `${path} is larger than ${largest / 1e6} MB; give the part that matters`};
    return read(file, path);
  }

  function reason(path, fault) {
    return fault.replace(path.slice(-120), "").split(";")[0].trim();
  }

  function tell(lines, kind = "soft") {
    told.replaceChildren(...lines.map((line) => Object.assign(document.createElement("p"), {textContent: line, className: kind})));
  }

  async function walk(entry, before, found) {
    if (found.length > 10 * most) return;
    if (entry.isFile) {
      found.push({file: await new Promise((done, failed) => entry.file(done, failed)), path: before + entry.name});
      return;
    }
    const folder = entry.createReader();
    for (;;) {
      const some = await new Promise((done, failed) => folder.readEntries(done, failed));
      if (!some.length) return;
      for (const each of some) if (!each.name.startsWith(".")) await walk(each, `${before}${entry.name}/`, found);
    }
  }
}
