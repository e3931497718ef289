// What stands within a line of Markdown: emphasis, code, links, breaks. Knows no blocks.

const PUNCTUATION = /[\p{P}\p{S}]/u;
const ESCAPABLE = /[!-/:-@[-`{-~]/;
const AUTOLINK = /^<([A-Za-z][A-Za-z0-9+.-]{1,31}:[^<>\x00-\x20]*)>/;
const MAIL = /^<([A-Za-z0-9.!#$%&'*+/=?^_`{|}~-]+@[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)*)>/;
const TARGET = /^\(\s*(?:<([^<>\n]*)>|([^\s()<]*(?:\([^\s()]*\)[^\s()]*)*))(?:\s+("(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|\((?:[^()\\]|\\.)*\)))?\s*\)/;
const ENTITY = /^&(?:#(\d{1,7})|#[xX]([0-9a-fA-F]{1,6})|(amp|lt|gt|quot|apos|nbsp|ndash|mdash|hellip|copy|euro|times|le|ge|ne|rarr|larr));/;
const NAMED = {amp: "&", lt: "<", gt: ">", quot: '"', apos: "'", nbsp: "\u00a0", ndash: "–", mdash: "—", hellip: "…",
  copy: "©", euro: "€", times: "×", le: "≤", ge: "≥", ne: "≠", rarr: "→", larr: "←"};
const NEVER = /^(?:javascript|vbscript|file|data):/i;
const SCHEMES = /^(?:https?|mailto):/i;
const PLAIN = /^[^\\`*_~[\]<&\n]+/;

// Parts are {text}, {node}, or a run of marks that may open or close: {mark, count, opens, closes}.

export function inline(text) {
  const parts = [];
  const brackets = [];
  for (let at = 0; at < text.length;) at += part(text, at, parts, brackets);
  return nodes(parts);
}

function part(text, at, parts, brackets) {
  const rest = text.slice(at, at + 4000);
  const plain = rest.match(PLAIN);
  if (plain) return push(parts, {text: plain[0]}, plain[0].length);
  switch (rest[0]) {
    case "\\": return escaped(rest, parts);
    case "\n": return broken(rest, parts);
    case "`": return spanned(text, at, parts);
    case "*": case "_": case "~": return marked(text, at, parts);
    case "<": return addressed(rest, parts);
    case "&": return named(rest, parts);
    case "[":
      brackets.push({at: parts.length, active: true});
      return push(parts, {text: "["}, 1);
    default: return linked(text, at, parts, brackets);
  }
}

function push(parts, made, length) {
  parts.push(made);
  return length;
}

function escaped(rest, parts) {
  if (rest[1] === "\n") {
    parts.push({node: document.createElement("br")});
    return push(parts, {text: "\n"}, 2);
  }
  return ESCAPABLE.test(rest[1] ?? "") ? push(parts, {text: rest[1]}, 2) : push(parts, {text: "\\"}, 1);
}

function broken(rest, parts) {
  const before = parts.at(-1);
  const spaces = before?.text?.match(/ *$/)[0].length ?? 0;
  if (spaces) before.text = before.text.slice(0, -spaces);
  if (spaces >= 2) parts.push({node: document.createElement("br")});
  return push(parts, {text: "\n"}, rest.match(/^\n */)[0].length);
}

function spanned(text, at, parts) {
  const [ticks] = text.slice(at).match(/^`+/);
  for (const found of text.slice(at + ticks.length).matchAll(/`+/g)) {
    if (found[0].length !== ticks.length) continue;
    let inside = text.slice(at + ticks.length, at + ticks.length + found.index).replace(/\n/g, " ");
    if (/^ .*[^ ].* $/.test(inside) || /^ [^ ] $/.test(inside)) inside = inside.slice(1, -1);
    const node = document.createElement("code");
    node.textContent = inside;
    return push(parts, {node}, found.index + 2 * ticks.length);
  }
  return push(parts, {text: ticks}, ticks.length);
}

function marked(text, at, parts) {
  const mark = text[at];
  let count = 1;
  while (text[at + count] === mark) count += 1;
  if (mark === "~" && count < 2) return push(parts, {text: mark}, count);
  const before = text.slice(0, at).match(/.$/su)?.[0] ?? " ";
  const after = text.slice(at + count).match(/^./su)?.[0] ?? " ";
  const left = flanks(after, before);
  const right = flanks(before, after);
  const opens = left && (mark !== "_" || !right || PUNCTUATION.test(before));
  const closes = right && (mark !== "_" || !left || PUNCTUATION.test(after));
  if (mark === "~" && count % 2) parts.push({text: mark});
  const even = mark === "~" ? count - (count % 2) : count;
  return push(parts, {mark, count: even, whole: even, opens, closes}, count);
}

function flanks(inner, outer) {
  return !/\s/.test(inner) && (!PUNCTUATION.test(inner) || /\s/.test(outer) || PUNCTUATION.test(outer));
}

function addressed(rest, parts) {
  const found = rest.match(AUTOLINK);
  const mail = found ? null : rest.match(MAIL);
  if ((!found && !mail) || (found && NEVER.test(found[1]))) return push(parts, {text: "<"}, 1);
  const node = link(found ? found[1] : `mailto:${mail[1]}`);
  node.append((found ?? mail)[1]);
  return push(parts, {node}, (found ?? mail)[0].length);
}

function named(rest, parts) {
  const found = rest.match(ENTITY);
  if (!found) return push(parts, {text: "&"}, 1);
  const [whole, number, hex, name] = found;
  const point = number ? Number(number) : hex ? parseInt(hex, 16) : 0;
  const letter = name ? NAMED[name] : point && point <= 0x10ffff ? String.fromCodePoint(point) : "\ufffd";
  return push(parts, {text: letter}, whole.length);
}

function linked(text, at, parts, brackets) {
  const opener = brackets.pop();
  const target = opener?.active && text.slice(at + 1).match(TARGET);
  const url = target && unescaped(target[1] ?? target[2] ?? "");
  if (!target || NEVER.test(url)) return push(parts, {text: "]"}, 1);
  const node = link(url);
  if (target[3]) node.title = unescaped(target[3].slice(1, -1));
  node.append(...nodes(parts.splice(opener.at).slice(1)));
  parts.push({node});
  for (const outer of brackets) outer.active = false;
  return target[0].length + 1;
}

function unescaped(text) {
  return text.replace(/\\([!-/:-@[-`{-~])/g, "$1");
}

function link(url) {
  const node = document.createElement("a");
  if (url.startsWith("#") || SCHEMES.test(url)) node.setAttribute("href", encodeURI(url).replace(/%25([0-9a-fA-F]{2})/g, "%$1"));
  node.setAttribute("rel", "noopener noreferrer nofollow");
  return node;
}

// Emphasis: each closing run takes the nearest run that may open it.

function nodes(parts) {
  for (let closer = 0; closer < parts.length; closer += 1) {
    while (parts[closer]?.closes && parts[closer].count) {
      const opener = openerOf(parts, closer);
      if (opener < 0) break;
      closer = wrap(parts, opener, closer);
    }
  }
  const made = parts.map((each) => each.node ?? each.text ?? each.mark.repeat(each.count));
  return joinedText(made);
}

function openerOf(parts, closer) {
  const close = parts[closer];
  for (let at = closer - 1; at >= 0; at -= 1) {
    const open = parts[at];
    if (!open.mark || open.mark !== close.mark || !open.opens || !open.count) continue;
    const both = open.closes || close.opens;
    if (close.mark !== "~" && both && (open.whole + close.whole) % 3 === 0 && (open.whole % 3 || close.whole % 3)) continue;
    return at;
  }
  return -1;
}

function wrap(parts, opener, closer) {
  const open = parts[opener];
  const close = parts[closer];
  const strong = open.count >= 2 && close.count >= 2;
  const used = open.mark === "~" || strong ? 2 : 1;
  const node = document.createElement(open.mark === "~" ? "s" : strong ? "strong" : "em");
  node.append(...nodes(parts.splice(opener + 1, closer - opener - 1).map((each) => (each.mark ? {text: each.mark.repeat(each.count)} : each))));
  open.count -= used;
  close.count -= used;
  parts.splice(opener + 1, 0, {node});
  return opener + 2;
}

function joinedText(made) {
  const joined = [];
  for (const each of made) {
    if (typeof each !== "string") joined.push(each);
    else if (typeof joined.at(-1) === "string") joined.push(joined.pop() + each);
    else if (each) joined.push(each);
  }
  return joined;
}
