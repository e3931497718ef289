"""Finding what a text quotes, in every form people write it: which words, and the tag of the source they are from.

A tag stands behind a quote ("…" [S1], "…" (see S1), "…", says S1) or before it (S1 says "…", [S1]: "…"). Without
brackets it may be the name of a phone: it is a tag if there is such a source, or if words of saying put a quote to it.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from typing import NamedTuple

from moot.text.language import known_words

MAX_QUOTE = 2000
"""Characters; a mark further away opens something else."""
BEFORE = 64
"""Characters before a quote in which its tag may stand."""

OPENING = {
    '"': '"',
    "”": "“„",
    "“": "„",
    "»": "«",
    "«": "»",
    "'": "'",
    "’": "‘‚",
    "‘": "‚",
    "›": "‹",
    "‹": "›",
    "」": "「",
    "』": "『",
    "`": "`",
}
"""Closing mark → the marks that may open it."""
STRAIGHT = "\"'`"
_MARKS = "".join(OPENING)
_TAG = r"(?P<tag>S[1-9]\d{0,2})\b"
_WORDS = r"(?:[^\W\d_]{1,16}[.,:]?\s){0,3}"
_AHEAD = rf"(?![^\n]?\s?:\s?[{_MARKS}„‚])"
"""A tag with a colon belongs to the quote behind it."""
BEHIND = re.compile(
    rf"(?P<mark>[{_MARKS}])[\s.,;:!?…*_¹²³⁴-⁹–—-]{{0,6}}(?:[\[(]\s?(?i:{_WORDS}{_TAG}){_AHEAD}"
    rf"|(?<=[,–—-]\s)(?P<by>{_WORDS})(?P<bracket>[\[(])?(?P<bare>S[1-9]\d{{0,2}})\b(?=[\])]?\s?(?:[.,;!?)\n]|$)))"
)
IN_FRONT = re.compile(
    rf"(?:[\[(][^\[\]()\n]{{0,24}}?(?i:{_TAG})[^\[\]()\n]{{0,24}}[\])]|(?<![0-9A-Za-z])(?P<bare>S[1-9]\d{{0,2}})(?![0-9A-Za-z]))"
    rf"(?:,?\s?\(?pp?\.\s?[\d–-]{{1,9}}\)?)?(?P<says>[,:]?[^,:.;!?{_MARKS}\n]{{0,40}}[,:–—]?\s{{0,3}})$"
)
BLOCK = re.compile(r"^[ \t]*>[^\n]*(?:\n[ \t]*>[^\n]*)*", re.MULTILINE)
BLOCK_MARK = re.compile(r"^[ \t]*>[ \t>]*", re.MULTILINE)
BLOCK_TAG = re.compile(
    rf"[\s–—-]*(?:[\[(]\s?(?i:{_WORDS}{_TAG})[^\[\]()\n]{{0,24}}[\])]|[–—-] ?(?P<bare>S[1-9]\d{{0,2}}))\W*$"
)
BLOCK_FRONT = re.compile(
    rf"\W{{0,4}}(?:[\[(](?i:{_TAG})[^\[\]()\n]{{0,24}}[\])]|(?P<bare>S[1-9]\d{{0,2}})(?=\W?:))[*_:\s–—-]*"
)
BELOW = re.compile(rf"\s{{0,3}}[–—-]*\s?[\[(]\s?(?i:{_WORDS}{_TAG}){_AHEAD}")
FENCED = re.compile(r"^[ \t]*(```|~~~).*?(?:^[ \t]*\1|\Z)", re.MULTILINE | re.DOTALL)
TYPED = re.compile(r"(?<!`)``(?!`)|(?<![\s'])''(?!')|&quot;|\\\"")
"""Marks as TeX, HTML and JSON write them."""
_WORD = re.compile(r"[^\W\d_]+")
_IN = r"(?:[^{0}\n]|\n(?![ \t]*\n))"
QUOTED = re.compile(
    "|".join(
        [
            rf'(?<![\w.,;!?%)\]…\'’])"(?=\S){_IN.format(chr(34))}{{1,{MAX_QUOTE}}}"(?!\w)',
            rf"[“„]{_IN.format('“”„')}{{1,{MAX_QUOTE}}}[”“]",
            rf"«{_IN.format('«»')}{{1,{MAX_QUOTE}}}»",
            rf"»{_IN.format('«»')}{{1,{MAX_QUOTE}}}«",
            rf"‹{_IN.format('‹›')}{{1,{MAX_QUOTE}}}›",
            rf"「{_IN.format('「」')}{{1,{MAX_QUOTE}}}」",
            rf"『{_IN.format('『』')}{{1,{MAX_QUOTE}}}』",
            rf"[‘‚](?:[^‘’\n]|(?<=\w)’(?=\w)){{1,{MAX_QUOTE}}}[’‘](?!\w)",
            rf"(?<![\w'])'(?=\S)(?:[^'\n]|(?<=\w)'(?=\w)){{1,{MAX_QUOTE}}}'(?!\w)",
            rf"`[^`\n]{{1,{MAX_QUOTE}}}`",
        ]
    )
)


class Citation(NamedTuple):
    """Words between quotation marks, and the tag of the source they are said to stand in; "" if none is named."""

    quote: str
    tag: str


class Found(NamedTuple):
    """Where a citation begins and ends, with the tag before or behind its quote."""

    start: int
    end: int
    citation: Citation


def citations(text: str, known: Collection[str] = ()) -> Iterator[Citation]:
    """Everything that is quoted, in order; a tag without brackets, which may be any name, is one only if known."""
    return (each.citation for each in found_in(text, known))


def found_in(text: str, known: Collection[str]) -> Iterator[Found]:
    """The same, with where each stands; without a tag, what stands in code is no quote."""
    text = TYPED.sub(_mark, text)
    code = [fence.span() for fence in FENCED.finditer(text)]
    for found in _all_found(text, known):
        if found.citation.tag or not any(begin <= found.start < end for begin, end in code):
            yield found


def _all_found(text: str, known: Collection[str]) -> Iterator[Found]:
    end = 0
    for found in _with_tag_or_block(text, known):
        yield from _others(text, end, found.start, known)
        yield found
        end = found.end
    yield from _others(text, end, len(text), known)


def _with_tag_or_block(text: str, known: Collection[str]) -> Iterator[Found]:
    end = 0
    for block in BLOCK.finditer(text):
        yield from _tagged_behind(text, end, block.start(), known)
        end = block.start()
        if not BEHIND.search(text, block.start(), block.end()):
            found = _block(text, block.start(), block.end(), known)
            end = found.end
            yield found
    yield from _tagged_behind(text, end, len(text), known)


def _tagged_behind(text: str, start: int, stop: int, known: Collection[str]) -> Iterator[Found]:
    """From each tag backwards, so that a mark which is never closed spoils nothing."""
    for match in BEHIND.finditer(text, start, stop):
        closing = match.start()
        opened = _opened(text, max(start, closing - MAX_QUOTE), closing)
        tag = _tag(match, known)
        if opened is None or not tag:
            continue
        start = match.end()
        yield Found(opened - 1, start, Citation(_plain(text[opened:closing]), tag))


def _mark(typed: re.Match[str]) -> str:
    """A straight mark beside what it opens or closes, in as many characters."""
    opens = typed.string[typed.end() : typed.end() + 1].isalnum()
    return '"'.rjust(len(typed[0])) if opens else '"'.ljust(len(typed[0]))


def _tag(match: re.Match[str], known: Collection[str]) -> str:
    found = match.groupdict()
    if found["tag"]:
        return str(found["tag"]).upper()
    return match["bare"] if match["bare"] in known or found.get("bracket") or _said_by(match) else ""


def _said_by(match: re.Match[str]) -> bool:
    """Whether a quote is put to this tag: “S9 says”, “according to S9”, “S9:” where a sentence begins, “— S9”."""
    found, said, articles = match.groupdict(), known_words("saying"), known_words("articles")
    if "by" in found:
        ends = match.string[match.end() :].lstrip(".)")[:1] in ("", "\n")
        by = _WORD.findall(match["by"].casefold())
        return not said.isdisjoint(by) and by[-1] not in articles if by else ends and match[0][-4] in "–—-"
    if "says" not in found:
        return True
    before = re.split(r"[.,:;!?()\n–—]", match.string[: match.start("bare")].casefold())[-1]
    last = _WORD.findall(before)[-2:]
    beside = known_words("common", "adverbs")
    if last and (last[-1] in articles or last[-1] not in beside | said):
        return False
    says = _WORD.findall(match["says"].casefold())
    tells = next((word for word in says if word not in beside), "")
    if tells in said or (not says and not said.isdisjoint(last)):
        return True
    return len(says) <= 1 and match["says"].rstrip().endswith(":") and not before.strip(" \t*_>-")


def _opened(text: str, first: int, closing: int) -> int | None:
    """Where the quote that ends here begins; inner quotes are stepped over, unless their marks don't add up."""
    close = text[closing]
    nearest = last = None
    depth = 1
    for at in range(closing - 1, first - 1, -1):
        if not (text[at] == close or text[at] in OPENING[close]) or _apostrophe(text, at):
            continue
        last = at if last is None else last
        if not _opens(text, at, close):
            depth += 1
            continue
        depth -= 1
        nearest = at if nearest is None else nearest
        if not depth:
            return at + 1
    found = last if nearest is None else nearest
    return None if found is None else found + 1


def _apostrophe(text: str, at: int) -> bool:
    return text[at] in "'’" and text[at - 1 : at].isalnum() and text[at + 1 : at + 2].isalnum()


def _opens(text: str, at: int, close: str) -> bool:
    """Whether this mark opens a quote; a straight one does at the beginning of a word."""
    if text[at] != close:
        return True
    before, after = text[at - 1 : at], text[at + 1 : at + 2]
    return close in STRAIGHT and not after.isspace() and not (before.isalnum() or before in {*".,;!?%)]…'’"})


def _block(text: str, start: int, end: int, known: Collection[str]) -> Found:
    """Lines that begin with “>”; their tag stands at their end, below or above them."""
    said = BLOCK_MARK.sub("", text[start:end])
    inside = BLOCK_TAG.search(said, max(0, len(said) - BEFORE))
    if inside and (tag := _tag(inside, known)):
        return Found(start, end, Citation(_bare(said[: inside.start()]), tag))
    front = BLOCK_FRONT.match(said)
    if front and (tag := _tag(front, known)):
        return Found(start, end, Citation(_bare(said[front.end() :]), tag))
    below = BELOW.match(text, end)
    if below:
        return Found(start, below.end(), Citation(_bare(said), below["tag"].upper()))
    tag, begins = _tag_in_front(text, 0, start, known)
    return Found(begins, end, Citation(_bare(said), tag))


def _others(text: str, start: int, stop: int, known: Collection[str]) -> Iterator[Found]:
    """Quotes with no tag behind them; what stands between backticks without one is code."""
    for match in QUOTED.finditer(text, start, stop):
        tag, begins = _tag_in_front(text, start, match.start(), known)
        if tag or match[0][0] != "`":
            yield Found(begins, match.end(), Citation(_plain(match[0][1:-1]), tag))
        start = match.end()


def _tag_in_front(text: str, first: int, start: int, known: Collection[str]) -> tuple[str, int]:
    """The tag, and where it begins; none, and where the quote begins."""
    before = max(first, start - BEFORE)
    match = IN_FRONT.search(text[before:start])
    tag = _tag(match, known) if match else ""
    return (tag, before + match.start()) if match and tag else ("", start)


def _bare(said: str) -> str:
    """A block quote without the marks around it."""
    return _plain(said).strip(_MARKS + "„‚ ")


def _plain(said: str) -> str:
    return " ".join(said.split())
