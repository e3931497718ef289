"""What is said again in other words: told beside the new wording, by the built-in embedder."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import orjson
import pytest
import yaml

from moot.core.events import TurnFinished
from moot.formats.panel.decision import Decision
from moot.formats.panel.format import PANEL
from moot.players.library import LibraryPlayer
from moot.retrieval.library import Library
from moot.testing import ScriptedModel, scripted_app
from moot.trust.novelty import MEANS_THE_SAME, repetition, telling
from stage import ANALYSIS, FAST, GOES_ON, Call, Panelists, Stage, new_words

STRONG = Path(__file__).parent.parent / "strong"
SPEECHES = orjson.loads((STRONG / "speeches.json").read_bytes())
PARAPHRASES = yaml.safe_load((STRONG / "paraphrases.yaml").read_text())
TOPIC = "Should we use Redis or PostgreSQL for caching?"
ONE = {"checkpoints": False, "max_rounds": 1}
TWO = {"checkpoints": False, "max_rounds": 2}
AGAIN = f"{FAST} says again in other words what it said before (67% of its sentences)"


def first_speech(of: list[Any]) -> str:
    name, *which = of
    return next(each["content"] for each in SPEECHES[name] if [each["seat"], each["kind"], each["round"]] == which)


def free(call: Call) -> str:
    """The fast one says in the second round what it said in the first, in freer words; the other has new ones."""
    case = next(each for each in PARAPHRASES if each["how"] == "free")
    if call.name != FAST:
        return " ".join(new_words(call._replace(number=number * 10 + call.number)) for number in range(5))
    return str(case["text"] if call.number == 2 else first_speech(case["of"]))


def on_stage(library: Library, **parts: Any) -> tuple[Stage, Panelists]:
    panelists = Panelists(**{"opening": free, "rebuttal": {"content": "So I say."}, **parts})
    stage = Stage(panelists, format=PANEL, topic=TOPIC, settings=TWO)
    stage.players["library"] = LibraryPlayer(library)
    return stage, panelists


@pytest.mark.parametrize("how", ["close", "free"])
async def test_a_paraphrase_that_keeps_the_terms_repeats_in_meaning(how: str, tmp_path: Path) -> None:
    library = Library(tmp_path, tmp_path)
    cases = [each for each in PARAPHRASES if each["how"] == how]
    shares = [await library.repeated(telling(each["text"]), telling(first_speech(each["of"]))) for each in cases]
    assert cases
    assert min(shares) >= MEANS_THE_SAME


async def test_a_speech_with_new_thoughts_does_not_repeat_in_meaning(tmp_path: Path) -> None:
    library = Library(tmp_path, tmp_path)
    for turns in SPEECHES.values():
        for each in (turn for turn in turns if turn["round"] == 2):
            own = [turn["content"] for turn in turns if (turn["seat"], turn["round"]) == (each["seat"], 1)]
            assert await library.repeated(telling(each["content"]), telling("\n".join(own))) < MEANS_THE_SAME


async def test_what_is_in_a_language_that_the_embedder_does_not_read_is_not_judged(tmp_path: Path) -> None:
    german = "Der Zwischenspeicher gehört in die Datenbank, denn dort wird er mit dem Preis geschrieben."
    assert await Library(tmp_path, tmp_path).repeated([german] * 4, [german]) == 0


async def test_readers_and_the_moderator_are_told_who_says_it_again_in_other_words(tmp_path: Path) -> None:
    stage, panelists = on_stage(Library(tmp_path, tmp_path))
    await stage.run()
    said = [turn.content for turn in await stage.turns() if turn.seat == "debater_1" and turn.kind == "opening"]
    assert repetition(said[1], said[0]) < MEANS_THE_SAME
    notes = [event.notes for event in stage.events if isinstance(event, TurnFinished) and event.kind == "evaluation"]
    assert [AGAIN in found for found in notes] == [False, True]
    asked = [request.messages[-1].content for request in panelists.requests]
    told = [kind for (kind, _), text in zip(panelists.calls, asked, strict=True) if AGAIN in text]
    assert told == ["evaluation", "synthesis"]


async def test_the_arguments_do_not_move_when_all_that_is_in_new_words_says_the_same(tmp_path: Path) -> None:
    def again(call: Call) -> str:
        return free(call._replace(name=FAST))

    stuck = {**GOES_ON, "decision": "conclude", "state": "stagnating"}
    stage, _ = on_stage(Library(tmp_path, tmp_path), opening=again, evaluation=[GOES_ON, stuck])
    assert (await stage.run()).stop_reason == "stagnant"


async def test_a_library_that_fails_fails_no_debate(tmp_path: Path) -> None:
    class Broken(Library):
        async def repeated(self, said: Any, before: Any) -> float:
            raise RuntimeError("no weights")

    stage, _ = on_stage(Broken(tmp_path, tmp_path))
    assert Decision.model_validate((await stage.run()).outcome).perspectives
    (turn,) = [turn for turn in await stage.turns() if turn.kind == "repeats"]
    assert (turn.content, turn.marks) == ("The library could not be searched: no weights", ("without:repeats",))


async def test_short_speeches_and_the_first_round_ask_the_library_nothing(tmp_path: Path) -> None:
    stage = Stage(Panelists(), format=PANEL, topic=TOPIC, settings=TWO)
    stage.players["library"] = LibraryPlayer(Library(tmp_path, tmp_path))
    await stage.run()
    assert not [turn for turn in await stage.turns() if turn.seat == "library"]


def perspective(name: str, wants: str, gives_up: str) -> dict[str, object]:
    return {"name": name, "priorities": [wants], "trade_offs": f"Would give up {gives_up} for that"}


TREES = perspective("Gardeners", "parks and trees", "affordable housing")
RENT = perspective("Tenants", "homes with a low rent", "green spaces")
COMMUTES = perspective("Drivers", "short commutes", "quiet streets")
SPARE: list[dict[str, object]] = [COMMUTES, perspective("Shops", "good advertising", "long opening hours")]


@pytest.mark.parametrize(("chosen", "warned"), [([TREES, RENT], False), (SPARE, True)])
async def test_who_gives_up_what_another_wants_in_other_words_is_opposed_to_them(
    chosen: list[dict[str, object]], warned: bool
) -> None:
    app = scripted_app(ScriptedModel(Panelists(analysis={**ANALYSIS, "opposed": []})))
    record = await app.create("panel", "What should the town build?", {**ONE, "perspectives": chosen})
    ending = await app.run(record.id, lambda event: None)
    outcome = Decision.model_validate(ending.outcome)
    assert any("wants what another gives up" in caveat for caveat in outcome.caveats) == warned


async def test_a_moderator_s_choice_and_another_language_are_not_compared_by_meaning() -> None:
    app = scripted_app(ScriptedModel([]))
    german = [
        perspective("Grüne", "Parks und Bäume in der Stadt", "bezahlbare Wohnungen für alle"),
        perspective("Mieter", "niedrige Mieten für alle Menschen", "Grün und Bäume in der Stadt"),
    ]
    for chosen in (german, 2, None):
        record = await app.create("panel", "Was soll die Stadt bauen?", {**ONE, "perspectives": chosen})
        assert record.settings["nearness"] is None
