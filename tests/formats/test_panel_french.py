"""A panel in French, for which there is no file: fixed words are English, and every check does its work."""

from __future__ import annotations

from typing import Any

from moot.core.quoting import quotes_of
from moot.core.script import Debate
from moot.formats.panel.decision import Decision
from moot.formats.panel.format import PANEL
from moot.formats.panel.settings import PanelSettings
from stage import CLEAR, FAST, Call, Panelists, Stage

TOPIC = "Faut-il fermer la piscine en plein air de la ville ?"
SOURCE = {
    "name": "rapport.md",
    "text": "Le bassin n'est pas sûr pour les enfants. Les travaux coûtent 1 850 000 euros et durent 3,5 mois. "
    "La ville compte 12 400 habitants.",
}
TRUE, FALSE = "Les travaux coûtent 1 850 000 euros", "Le bassin est sûr pour les enfants"
OPENINGS = {
    FAST: f"Je propose de garder la piscine ouverte. Le rapport est clair : « {FALSE} » [S1]. "
    "S9 affirme : « tout le monde veut nager en été ».",
    CLEAR: f"Je propose de fermer la piscine. « {TRUE} » (S1), soit 149 euros par habitant pour 12 400 habitants.",
}
REBUTTALS = {
    FAST: {
        "content": "Je maintiens qu'il faut garder la piscine ouverte, même si 149 euros est une somme importante.",
        "recommendation": "Garder la piscine ouverte.",
    },
    CLEAR: {
        "content": "Je maintiens qu'il faut fermer la piscine : le bassin n'est pas sûr, dit S1.",
        "recommendation": "Fermer la piscine.",
    },
}
SYNTHESIS: dict[str, Any] = {
    "recommendation": "Fermer la piscine jusqu'aux travaux, qui coûtent 1 850 000 euros, soit 149 euros par habitant.",
    "perspectives": [
        {"perspective": CLEAR, "key_arguments": ["Fermer la piscine."], "trade_offs_accepted": "un été sans bain"},
        {"perspective": FAST, "key_arguments": [FALSE], "trade_offs_accepted": "des risques"},
    ],
    "agreement": [],
    "tensions": ["La sécurité contre le plaisir"],
    "caveats": [],
    "dissent": "",
    "tasks": [],
    "acceptance": [],
}


async def test_a_french_panel_has_english_headings_and_checked_quotes_and_figures() -> None:
    panelists = Panelists(
        opening=lambda call: OPENINGS[call.name] if call.number == 1 else f"{call.name} : rien à ajouter.",
        rebuttal=_rebuttal,
        synthesis=SYNTHESIS,
    )
    settings = {"checkpoints": False, "max_rounds": 1, "perspectives": [FAST, CLEAR], "sources": [SOURCE]}
    stage = Stage(panelists, format=PANEL, topic=TOPIC, settings=settings)
    outcome = Decision.model_validate((await stage.run()).outcome)
    record, turns = await stage.record(), await stage.turns()
    document = outcome.document(record, turns)
    assert "## Question" in document
    assert f"{FAST} quotes “{FALSE}” from S1, which does not say so." in document
    assert f"{FAST} quotes “tout le monde veut nager en été” from S9, and there is no such source." in document
    assert outcome.figures == ["1 850 000: S1", f"149: {CLEAR}, round 1, derived"]
    assert f"- {FALSE}[^turn-2] (rests on a quote that does not stand in its source)" in document
    assert "- Fermer la piscine.[^turn-3]" in document
    debate = Debate("DEB-x", TOPIC, PanelSettings.model_validate(settings), {}, list(turns))
    said = next(turn for turn in turns if turn.content == OPENINGS[CLEAR])
    assert [(quote.quote, quote.verdict) for quote in quotes_of(debate, said)] == [(TRUE, "verified")]


def _rebuttal(call: Call) -> Any:
    return REBUTTALS[call.name]
