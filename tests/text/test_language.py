"""The language of a question is told by its small words, and sentences end where they end."""

import ast
import re
from pathlib import Path
from string import Formatter

import pytest

import moot
from moot.text.language import language_of, languages, sentences

SOURCES = sorted(Path(moot.__file__).parent.rglob("*.py"))
TEMPLATES = sorted((Path(moot.__file__).parent / "web" / "pages" / "templates").glob("*.html"))
SAID = re.compile(r'\bsay\("([^"]+)"')
COUNTED = re.compile(r'\bsay\.count\([^,]+, "([^"]+)", "([^"]+)"\)')


@pytest.mark.parametrize(
    ("question", "code"),
    [
        ("Should we use Redis or PostgreSQL for caching?", "en"),
        ("Soll die Stadt ihr Freibad schließen?", "de"),
        ("Redis oder PostgreSQL?", "de"),
        ("Redis vs PostgreSQL", "en"),
        ("هل يجب إغلاق المسبح؟", "en"),
        ("Faut-il fermer la piscine ?", "en"),
        ("", "en"),
    ],
)
def test_the_language_of_a_question_is_told_by_its_small_words(question: str, code: str) -> None:
    assert language_of(question).code == code


@pytest.mark.parametrize("chosen", ["de", "Deutsch", "DEUTSCH"])
def test_a_chosen_language_counts_more_than_the_question(chosen: str) -> None:
    assert language_of("Should we?", chosen).code == "de"


def test_a_language_without_a_file_has_english_words() -> None:
    assert language_of("Soll man?", "français").code == "en"


def test_what_a_language_does_not_translate_stays_english() -> None:
    assert languages()["de"]("a sentence that nobody translated, {name}", name="X") == (
        "a sentence that nobody translated, X"
    )


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("We are in the U.S. The law says so.", ["We are in the U.S.", "The law says so."]),
        ("The U.S. Senate, e.g. Smith, voted. Dr. No came.", ["The U.S. Senate, e.g. Smith, voted.", "Dr. No came."]),
        ("Das ist z. B. gut. Am 3. Oktober kam er.", ["Das ist z. B. gut.", "Am 3. Oktober kam er."]),
        ("هل هذا صحيح؟ نعم. لا.", ["هل هذا صحيح؟", "نعم.", "لا."]),
        ("It costs 7.5. We pay. (See p. 4.) Done!", ["It costs 7.5.", "We pay.", "(See p. 4.)", "Done!"]),
        ("1. First.\n2. Second", ["1. First.", "2. Second"]),
        ("これは。はい！", ["これは。", "はい！"]),
        ('He said "Stop." Then he left.', ['He said "Stop."', "Then he left."]),
        ("We waited… Then it came ... and went.", ["We waited…", "Then it came ... and went."]),
        ("“Really?!” he asked. Yes! No.", ["“Really?!” he asked.", "Yes!", "No."]),
        ("1. Do this.\n2. Then that.", ["1. Do this.", "2. Then that."]),
        ("「良い。」と言った。「はい。」次。", ["「良い。」と言った。", "「はい。」", "次。"]),
        ("यह अच्छा है। वह भी।", ["यह अच्छा है।", "वह भी।"]),
        ("¿Es así? ¡Bien! See https://a.b/c.d?e=f. OK.", ["¿Es así?", "¡Bien!", "See https://a.b/c.d?e=f.", "OK."]),
        ("Redis vs. Postgres. See No. 5. At 3.5 % too.", ["Redis vs. Postgres.", "See No. 5.", "At 3.5 % too."]),
        (" \n ", []),
    ],
)
def test_sentences_end_at_the_right_place(text: str, expected: list[str]) -> None:
    assert sentences(text) == expected


def test_every_fixed_sentence_of_the_code_is_translated_with_the_same_values() -> None:
    """A call of a language, `say("…")` or `….language("…")`, with a sentence that a file lacks."""
    said = {sentence for path in SOURCES for sentence in _sentences_in(path)}
    said |= {sentence for path in TEMPLATES for sentence in SAID.findall(path.read_text("utf-8"))}
    said |= {sentence for path in TEMPLATES for both in COUNTED.findall(path.read_text("utf-8")) for sentence in both}
    for language in languages().values():
        if language.code != "en":
            assert said <= set(language.phrases), f"not in {language.code}: {sorted(said - set(language.phrases))}"
            unused = set(language.phrases) - said
            assert not unused, f"said nowhere any more: {sorted(unused)}"
            for english, phrase in language.phrases.items():
                assert _values(english) == _values(phrase), english


def _sentences_in(path: Path) -> set[str]:
    calls = [node for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))) if isinstance(node, ast.Call)]
    args = [arg for call in calls for arg in (call.args[:1] if _is_language(call.func) else _counted(call))]
    args += [value for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))) for value in _reasons(node)]
    return {arg.value for arg in args if isinstance(arg, ast.Constant) and isinstance(arg.value, str)}


def _reasons(node: ast.AST) -> list[ast.expr]:
    """The words of `REASONS = {…}`, and of `reasons={…}` where a format is declared."""
    named = isinstance(node, ast.keyword) and node.arg == "reasons"
    if isinstance(node, ast.Assign | ast.AnnAssign):
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        named = any(isinstance(target, ast.Name) and target.id == "REASONS" for target in targets)
    value = getattr(node, "value", None)
    return value.values if named and isinstance(value, ast.Dict) else []


def _is_language(called: ast.expr) -> bool:
    name = called.id if isinstance(called, ast.Name) else called.attr if isinstance(called, ast.Attribute) else ""
    return name in ("say", "language")


def _counted(call: ast.Call) -> list[ast.expr]:
    """The two sentences of `say.count(number, one, many)`."""
    is_count = isinstance(call.func, ast.Attribute) and call.func.attr == "count" and len(call.args) == 3
    return call.args[1:] if is_count else []


def _values(sentence: str) -> set[str | None]:
    return {name for _, name, _, _ in Formatter().parse(sentence)} - {None}
