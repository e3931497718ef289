"""The page: one file, nothing in it that runs or is fetched."""

from __future__ import annotations

from html.parser import HTMLParser

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from moot.export.html import page

FRAME = {"html", "head", "meta", "title", "style", "body", "main"}
TEXT = {
    *("a", "blockquote", "br", "code", "em", "h1", "h2", "h3", "h4", "h5", "h6", "hr", "li", "ol", "p", "pre", "s"),
    *("strong", "table", "tbody", "td", "th", "thead", "tr", "ul"),
}
PIECES = (
    *(
        "<script>alert(1)</script>",
        "<img src=x onerror=alert(1)>",
        "<svg onload=alert(1)>",
        "<style>*{}</style>",
        "<iframe>",
    ),
    *(
        "[a](javascript:alert(1))",
        "[a](data:text/html,x)",
        "![a](http://x.example/i.png)",
        "[a](http://x.example)",
        "<a id=",
    ),
    *(
        "[a](JaVaScRiPt:x)",
        "[a](&#106;avascript:x)",
        "[a](vbscript:x)",
        "<javascript:x>",
        "[a]: javascript:x\n\n[a]",
        "</main>",
    ),
    *(
        "</style>",
        "<!--",
        "```",
        "`",
        "\n",
        "\n\n",
        "# ",
        "- ",
        "> ",
        "| a |\n|---|\n",
        '<a id="turn-1"></a>',
        '" onclick="x',
        "'",
    ),
)


class Elements(HTMLParser):
    """What a browser would find."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.text += data


def body(html: str) -> str:
    return html.partition("<main>\n")[2].partition("</main>")[0]


def assert_harmless(html: str) -> None:
    whole, inside = Elements(html), Elements(body(html))
    assert [tag for tag, _ in whole.found if tag in FRAME] == [
        *("html", "head", "meta", "meta", "meta", "meta", "title", "style", "body", "main")
    ]
    assert {tag for tag, _ in whole.found} <= FRAME | TEXT
    for tag, attributes in inside.found:
        allowed = {"a": {"href", "rel"}, "ol": {"start"}}.get(tag, {"id"})
        assert set(attributes) <= allowed
        assert (attributes.get("href") or "http:").startswith(("http:", "https:", "mailto:", "#"))


def test_markdown_becomes_html_that_reads_well() -> None:
    text = (
        "---\ntitle: Cats\n---\n\n# Cats\n\n*Yes*, [see](https://a.example) `x<y`.\n\n"
        "| a | b |\n| --- | ---: |\n| 1 | 2 |\n\n"
        '<a id="turn-7"></a>\n\n### Debater A\n\n3. three\n\n```python\na & b\n```\n'
    )
    assert body(page(text, "Cats")) == (
        "<h1>Cats</h1>\n"
        '<p><em>Yes</em>, <a href="https://a.example" rel="noopener noreferrer nofollow">see</a> '
        "<code>x&lt;y</code>.</p>\n"
        "<table>\n<thead>\n<tr>\n<th>a</th>\n<th>b</th>\n</tr>\n</thead>\n"
        "<tbody>\n<tr>\n<td>1</td>\n<td>2</td>\n</tr>\n</tbody>\n</table>\n\n"
        '<h3 id="turn-7">Debater A</h3>\n'
        '<ol start="3">\n<li>three</li>\n</ol>\n'
        "<pre><code>a &amp; b\n</code></pre>\n"
    )


def test_the_page_fetches_nothing_and_says_so() -> None:
    html = page("# Cats", "Cats")
    assert "default-src 'none'; style-src 'unsafe-inline'" in html
    assert [word for word in ("http:", "https:", "url(", "@import", "src=", "<link", "<script") if word in html] == []
    assert [
        word for word in ("prefers-color-scheme: dark", "@media print", 'name="viewport"') if word not in html
    ] == []


def test_a_title_is_text() -> None:
    html = page("x", "</title><script>alert(1)</script>\n{style} & more")
    assert "<title>&lt;/title&gt;&lt;script&gt;alert(1)&lt;/script&gt; {style} &amp; more</title>" in html
    assert_harmless(html)


@pytest.mark.parametrize(
    ("text", "made"),
    [
        ("<script>alert(1)</script>", "<p>&lt;script&gt;alert(1)&lt;/script&gt;</p>\n"),
        ("<img src=x onerror=alert(1)>", "<p>&lt;img src=x onerror=alert(1)&gt;</p>\n"),
        ("<svg/onload=alert(1)>", "<p>&lt;svg/onload=alert(1)&gt;</p>\n"),
        ("<style>*{display:none}</style>", "<p>&lt;style&gt;*{display:none}&lt;/style&gt;</p>\n"),
        ("[a](javascript:alert(1))", "<p>[a](javascript:alert(1))</p>\n"),
        ("[a](data:image/png;base64,AAAA)", '<p><a rel="noopener noreferrer nofollow">a</a></p>\n'),
        ("[a](file:///etc/passwd)", "<p>[a](file:///etc/passwd)</p>\n"),
        (
            "![a](http://x.example/i.png)",
            '<p>!<a href="http://x.example/i.png" rel="noopener noreferrer nofollow">a</a></p>\n',
        ),
        (
            "<a id=\"turn-1\" onclick='x'></a>\n\n# b",
            "<p>&lt;a id=\"turn-1\" onclick='x'&gt;&lt;/a&gt;</p>\n<h1>b</h1>\n",
        ),
        ('a\n\n<a id="turn-1"></a>', '<p>a</p>\n<p>&lt;a id="turn-1"&gt;&lt;/a&gt;</p>\n'),
        (
            '> <a id="turn-1"></a>\n\nb',
            '<blockquote>\n<p>&lt;a id="turn-1"&gt;&lt;/a&gt;</p>\n</blockquote>\n<p>b</p>\n',
        ),
    ],
)
def test_what_is_dangerous_is_shown_or_dropped(text: str, made: str) -> None:
    html = page(text, "x")
    assert body(html) == made
    assert_harmless(html)


@given(st.one_of(st.text(max_size=60), st.lists(st.sampled_from(PIECES), max_size=12).map("".join)))
@example("".join(PIECES))
@example("\n\n".join(PIECES))
def test_no_text_puts_anything_dangerous_on_the_page(text: str) -> None:
    assert_harmless(page(text, text))
