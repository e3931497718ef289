// Markdown of a model as nodes, while it is still being written: the same that the server makes of it in the end.
// Text of others only ever becomes text nodes; the tags are ours, and a link leads to another site or within the page.

import {inline} from "./markdown_inline.js";

const FENCE = /^ {0,3}(`{3,}|~{3,})[ \t]*([^`\n]*)$/;
const RULE = /^ {0,3}([-*_])[ \t]*(?:\1[ \t]*){2,}$/;
const HEADING = /^ {0,3}#{1,6}(?:[ \t]+(.*?))?(?:[ \t]+#+)?[ \t]*$/;
const UNDERLINE = /^ {0,3}(?:=+|-+)[ \t]*$/;
const ITEM = /^( {0,3})([-+*]|(\d{1,9})([.)]))(?:( +)(\S.*)?|$)/;
const QUOTE = /^ {0,3}> ?/;
const DELIMITERS = /^ {0,3}\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*\|?[ \t]*$/;
const CODE = /^(?: {4}|\t)/;

export function rendered(text) {
  const whole = document.createDocumentFragment();
  whole.append(...blocks(lines(text)));
  return whole;
}

// A text that grows: what can change no more is rendered once, the rest whenever there is more of it.

export class GrowingText {
  constructor(node) {
    this.node = node;
    this.caret = element("span", "caret");
    this.caret.setAttribute("aria-hidden", "true");
    this.begin();
  }

  begin() {
    this.done = 0;
    this.tail = [];
    this.node.replaceChildren();
  }

  show(text) {
    const end = settled(text, this.done);
    for (const old of this.tail) old.remove();
    if (end > this.done) {
      this.node.append(rendered(text.slice(this.done, end)));
      this.done = end;
    }
    this.tail = blocks(lines(text.slice(this.done)));
    if (!this.tail.length) this.tail = [element("p")];
    this.node.append(...this.tail);
    innermost(this.tail.at(-1)).append(this.caret);
  }
}

function settled(text, from) {
  // Behind a blank line a paragraph begins that no earlier block can take in: all before it stays as it is.
  let end = from;
  let fence = "";
  let at = from;
  let blank = false;
  for (const line of text.slice(from).split("\n")) {
    const opens = line.match(FENCE);
    if (!fence && blank && /^[^\s>|`~\-+*=#\d]/.test(line)) end = at;
    if (!fence && opens) fence = opens[1];
    else if (fence && opens && !opens[2] && opens[1].startsWith(fence)) fence = "";
    blank = !line.trim();
    at += line.length + 1;
  }
  return end;
}

function innermost(node) {
  const last = node.lastElementChild;
  return last && last.matches("p, ul, ol, li, blockquote, pre > code, tbody, tr, td") ? innermost(last) : node;
}

function lines(text) {
  return text.replace(/\r\n?/g, "\n").split("\n");
}

// Blocks

function blocks(all, tight = false) {
  const nodes = [];
  let paragraph = [];
  const close = () => {
    if (paragraph.length) nodes.push(...(tight ? inline(joined(paragraph)) : [filled("p", paragraph)]));
    paragraph = [];
  };
  for (let at = 0; at < all.length;) {
    const line = all[at];
    if (!line.trim()) {
      close();
      at += 1;
      continue;
    }
    if (paragraph.length && UNDERLINE.test(line)) {
      nodes.push(heading(joined(paragraph)));
      paragraph = [];
      at += 1;
      continue;
    }
    const found = block(all, at, paragraph.length > 0);
    if (found) {
      close();
      nodes.push(found.node);
      at = found.next;
    } else {
      paragraph.push(line);
      at += 1;
    }
  }
  close();
  return nodes;
}

function block(all, at, interrupts) {
  const line = all[at];
  if (!interrupts && CODE.test(line)) return indented(all, at);
  if (FENCE.test(line)) return fenced(all, at);
  if (HEADING.test(line)) return {node: heading(line.match(HEADING)[1] ?? ""), next: at + 1};
  if (RULE.test(line)) return {node: element("hr"), next: at + 1};
  if (QUOTE.test(line)) return quoted(all, at);
  if (begins(line, interrupts)) return listed(all, at);
  return interrupts ? null : table(all, at);
}

function begins(line, interrupts) {
  // A list within a paragraph has words at once, and its first number is 1.
  const item = !RULE.test(line) && line.match(ITEM);
  return item && (!interrupts || (item[6] && (!item[3] || Number(item[3]) === 1))) ? item : null;
}

function heading(text) {
  return filled("p", [text.trim()], "heading");
}

function indented(all, at) {
  let end = at;
  while (end < all.length && (CODE.test(all[end]) || !all[end].trim())) end += 1;
  while (!all[end - 1].trim()) end -= 1;
  return {node: code(all.slice(at, end).map((line) => line.replace(CODE, ""))), next: end};
}

function fenced(all, at) {
  const [, mark] = all[at].match(FENCE);
  const indent = all[at].match(/^ */)[0].length;
  let end = at + 1;
  while (end < all.length && !closes(all[end], mark)) end += 1;
  const inside = all.slice(at + 1, end).map((line) => line.replace(new RegExp(`^ {0,${indent}}`), ""));
  return {node: code(inside), next: end + 1};
}

function closes(line, mark) {
  const found = line.match(FENCE);
  return found && !found[2].trim() && found[1].startsWith(mark);
}

function code(inside) {
  const pre = element("pre");
  pre.append(element("code", "", inside.length ? `${inside.join("\n")}\n` : ""));
  return pre;
}

function quoted(all, at) {
  const inside = [];
  for (; at < all.length; at += 1) {
    const line = all[at];
    if (QUOTE.test(line)) inside.push(line.replace(QUOTE, ""));
    else if (line.trim() && goesOn(inside) && !block(all, at, true)) inside.push(line);
    else break;
  }
  const node = element("blockquote");
  node.append(...blocks(inside));
  return {node, next: at};
}

function goesOn(inside) {
  // Whether the last line may be one of a paragraph, which a line without its mark then continues.
  const last = inside.at(-1) ?? "";
  return last.trim() && !FENCE.test(last) && !CODE.test(last) && !HEADING.test(last) && !RULE.test(last);
}

function listed(all, at) {
  const first = begins(all[at], false);
  const node = element(first[3] ? "ol" : "ul");
  if (first[3] && Number(first[3]) !== 1) node.setAttribute("start", Number(first[3]));
  const items = [];
  let loose = false;
  while (at < all.length) {
    const item = begins(all[at], false);
    if (!item || kind(item) !== kind(first)) break;
    const found = itemAt(all, at, item);
    items.push(found.inside);
    const next = begins(all[found.next] ?? "", false);
    loose = loose || found.loose || (found.blank && next && kind(next) === kind(first));
    at = found.next;
  }
  for (const inside of items) {
    const li = element("li");
    li.append(...blocks(inside, !loose));
    node.append(li);
  }
  return {node, next: at};
}

function kind(item) {
  return item[3] ? item[4] : item[2];
}

function itemAt(all, at, item) {
  const spaces = item[5]?.length ?? 0;
  const width = item[1].length + item[2].length + (item[6] && spaces <= 4 ? spaces : 1);
  const inside = [all[at].slice(width)];
  let blank = 0;
  let loose = false;
  let end = at + 1;
  for (let next = at + 1; next < all.length; next += 1) {
    const line = all[next];
    if (!line.trim()) {
      blank += 1;
      continue;
    }
    const deep = line.match(/^ */)[0].length >= width;
    if (!deep && (blank || begins(line, false) || !goesOn(inside) || block(all, next, true))) break;
    if (blank && (!inside[0].trim() && inside.length === 1)) break;
    if (blank) loose = loose || !isNested(inside);
    inside.push(...Array(blank).fill(""), deep ? line.slice(width) : line);
    blank = 0;
    end = next + 1;
  }
  return {inside, loose, blank: blank > 0, next: end + (end < all.length ? blankFrom(all, end) : 0)};
}

function isNested(inside) {
  // A blank line within a list of its own, or within code, makes that loose and not this one.
  const last = inside.findLast((line) => /^\S/.test(line) || begins(line, false)) ?? "";
  return inside.length > 1 && Boolean(begins(last, false)) && inside.at(-1) !== "" && last !== inside[0];
}

function blankFrom(all, at) {
  let count = 0;
  while (at + count < all.length && !all[at + count].trim()) count += 1;
  return count;
}

function table(all, at) {
  const heads = cells(all[at]);
  if (!all[at].includes("|") || at + 1 >= all.length || !DELIMITERS.test(all[at + 1])) return null;
  if (!all[at + 1].includes("-") || cells(all[at + 1]).length !== heads.length) return null;
  const node = element("table");
  const head = node.appendChild(element("thead")).appendChild(element("tr"));
  for (const cell of heads) head.append(filled(cell ? "th" : "td", [cell]));
  let end = at + 2;
  const rows = [];
  for (; end < all.length && all[end].trim() && !CODE.test(all[end]) && !block(all, end, true); end += 1) rows.push(cells(all[end]));
  if (rows.length) {
    const body = node.appendChild(element("tbody"));
    for (const row of rows) body.append(tableRow(row, heads.length));
  }
  const box = element("div", "scroll");
  for (const [name, value] of [["tabindex", "0"], ["role", "group"], ["aria-label", "Table"]]) box.setAttribute(name, value);
  box.append(node);
  return {node: box, next: end};
}

function tableRow(row, width) {
  const node = element("tr");
  for (let at = 0; at < width; at += 1) node.append(filled("td", [row[at] ?? ""]));
  return node;
}

function cells(line) {
  const inner = line.trim().replace(/^\|/, "").replace(/(^|[^\\])\|$/, "$1");
  return inner.split(/(?<!\\)\|/).map((cell) => cell.trim().replace(/\\\|/g, "|"));
}

// Nodes

function joined(paragraph) {
  return paragraph.map((line) => line.replace(/^[ \t]+/, "")).join("\n").trimEnd();
}

function filled(tag, paragraph, name = "") {
  const node = element(tag, name);
  node.append(...inline(joined(paragraph)));
  return node;
}

function element(tag, name = "", text = "") {
  const node = document.createElement(tag);
  if (name) node.className = name;
  if (text) node.textContent = text;
  return node;
}
