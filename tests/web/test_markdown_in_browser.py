"""Markdown that a page renders while it is written: in the end the same as the server's, and nothing that acts."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from hostile import PAYLOADS
from playwright.sync_api import Page, Route, sync_playwright

from moot.web.pages.assets import FOLDER
from moot.web.pages.markdown import speech
from strong_debates import FOLDER as STRONG
from strong_debates import words

PAGE = "http://moot.test/"
COMPARE = r"""
async ([texts, expected]) => {
  const {rendered, GrowingText} = await import("/markdown.js");
  const inlines = new Set(["P", "LI", "TD", "TH", "A", "EM", "STRONG", "S", "CODE"]);
  const canon = (node) => [...node.childNodes].map((each) => {
    if (each.nodeType === Node.TEXT_NODE) {
      if (node.nodeName === "CODE") return each.data;
      if (/^(UL|OL|PRE|BLOCKQUOTE|P)$/.test(each.nextSibling?.nodeName)) return each.data.trimEnd();
      return inlines.has(node.nodeName) ? each.data.replace(/\s*\n\s*/g, "\n") : each.data.trim();
    }
    const attributes = [...each.attributes].map((one) => ` ${one.name}=${one.value}`).sort().join("");
    return `<${each.nodeName}${attributes}>${canon(each).trim()}</${each.nodeName}>`;
  }).filter(Boolean).join("");
  const box = (fill) => { const made = document.createElement("div"); fill(made); return made; };
  return texts.flatMap((text, at) => {
    const wanted = canon(box((made) => { made.innerHTML = expected[at]; }));
    const whole = canon(box((made) => made.append(rendered(text))));
    const grown = box((made) => {
      const growing = new GrowingText(made);
      for (let end = 0; end < text.length; end += 1 + (end * 7919) % 37) growing.show(text.slice(0, end));
      growing.show(text);
      growing.caret.remove();
    });
    const made = [["whole", whole], ["grown", canon(grown)]].filter(([, got]) => got !== wanted);
    return made.map(([how, got]) => ({how, text, wanted, got}));
  });
}
"""
CASES = [
    "# A title with **weight**",
    "Two\nlines",
    "A *slanted* and __heavy__ word",
    "a_b_c and 2*3*4 and **a*b**",
    "***both*** of them",
    "- one\n- two\n  - inside\n  - more\n- three",
    "1. first\n2. second\n\n   with a paragraph\n3. third",
    "4) four\n5) five",
    "- loose\n\n- items",
    "* a\n* b\n\n1. c",
    "Text:\n- right behind\n- it",
    "Text\n2. not a list",
    "> quoted\n> more\nlazy\n\nafter",
    "> - a list\n>   in a quote",
    '```python\nx = "<b>" # *no*\n```\nafter',
    "~~~\nopen fence",
    "    indented code\n\ntext",
    "`code with *stars*` and ``a ` tick``",
    "~~gone~~ and ~one~",
    "a  \nb",
    "a\\\nb",
    "***",
    "Heading\n=======\n\nAnother\n---",
    'A [link](https://example.org "t") and [none](javascript:alert(1)) and [page](/debates/x)',
    "<https://example.org/a?b=c&d>\nand <b>tags</b> &amp; &#65; &copy;",
    "a | b\n---|---\n1 | 2",
    "| a | b |\n|---|:-:|\n| x \\| y | `z` |\n| only one |\n\nafter",
    "|  | b |\n|---|---|\n| x | y |",
    "![no](picture.png)",
    '**bold**text and **"quoted"** word',
    "snake_case_name and _this_",
    "* * *",
    "1986. A year",
    "+ plus\n+ signs",
    "**Not closed",
    "[not](closed",
    "\\*literal\\*",
    "a\\b",
    "**مرحبا** بالعالم",
    "- a\n- b\n\n\n- c",
    "- a\n\n  b\n- c",
    "1. a\n\n   - b\n\n   - c\n2. d",
    "> a\n\n> b",
    "# ",
    "#hash",
    "a **b *c* d** e",
    "*a **b** c*",
    "**a** **b**",
    "5 * 3 * 2",
    "`",
    "``",
    "a `b",
    "end with two spaces  ",
    "1. **Cost**: low\n   - a\n   - b\n2. **Risk**: high\n\n   Text.\n",
    "- a\n  1. b\n  2. c\n- d",
    "- a\n    - deep\n    - deep 2\n- b",
    "Text\n\n- a\nlazy\n- b\n\nText",
    "- [ ] task\n- [x] done",
    "a<br>b",
    "**a**: b — *c*",
    '"**quoted**" and (**in brackets**)',
    "**Heading:**\n1. one\n2. two\n\n**Next:** text",
    "---\n\ntext\n\n---",
    "### Three ###\ntext right behind",
    "- a\n\n\n  b",
    "1) a\n1) b",
    "10. ten\n11. eleven",
    "> **Note** text\n>\n> more",
    "a\n\n\n\nb",
    "  two spaces before",
    "\tTab first",
    "- \n- b",
    "x*y* and *y*x",
    "__a__b__",
    "**a*",
    "*a**",
    'a*"foo"*',
    "[a [b](https://b.example) c](https://a.example)",
    "[*a*](https://a.example)",
    "`` ` ``",
    "`a\nb`",
    "&lt;b&gt; &unknown; &",
    "text\n***\ntext",
    "text\n- - -\ntext",
    "- a\n- - b",
    "- a\n***\n- b",
]


def texts() -> list[str]:
    """Every reply of the strong debates, and every text within those that are JSON."""
    said = [text for file in sorted(STRONG.glob("*.cassette")) for text in words(file.name)]
    kept = [each for file in sorted(STRONG.glob("*.json")) for each in _strings(json.loads(file.read_bytes()))]
    return list(dict.fromkeys(each for text in (*said, *kept) for each in _within(text) if each.strip()))


def _within(text: str) -> Iterator[str]:
    try:
        value = json.loads(text)
    except ValueError:
        yield text
        return
    yield from _strings(value)


def _strings(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for each in value.values() if isinstance(value, dict) else value:
            yield from _strings(each)


@pytest.fixture(scope="module")
def page() -> Iterator[Page]:
    found = shutil.which("chromium")
    if found is None:
        absent = "there is no chromium; `make browser` installs one"
        pytest.fail(absent) if os.environ.get("CI") else pytest.skip(absent)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found, args=["--no-sandbox"])
        made = browser.new_page()
        made.route(f"{PAGE}**", _serve)
        made.goto(PAGE)
        yield made
        browser.close()


def _serve(route: Route) -> None:
    name = Path(route.request.url).name
    if name.endswith(".js"):
        route.fulfill(path=FOLDER / name, content_type="text/javascript")
    else:
        route.fulfill(body="<!DOCTYPE html><title>moot</title>", content_type="text/html")


def test_the_turns_of_strong_debates_are_rendered_as_the_server_does_it_also_word_by_word(page: Page) -> None:
    said = texts()
    assert len(said) > 200
    assert page.evaluate(COMPARE, [said, list(map(speech, said))]) == []


def test_every_kind_of_markdown_is_rendered_as_the_server_does_it(page: Page) -> None:
    assert page.evaluate(COMPARE, [CASES, list(map(speech, CASES))]) == []


def test_what_would_act_in_a_page_is_text(page: Page) -> None:
    dialogs: list[str] = []
    page.on("dialog", lambda dialog: (dialogs.append(dialog.message), dialog.dismiss()))
    script = """
    async (payloads) => {
      const {rendered} = await import("/markdown.js");
      for (const each of payloads) document.body.append(rendered(each));
      const acting = "script, img, iframe, [onerror], [onload], [style], a[href^='javascript']";
      return document.body.querySelectorAll(acting).length;
    }
    """
    assert page.evaluate(script, list(PAYLOADS)) == 0
    assert dialogs == []
