"""How well false quotes are found: hand-made quotes in every form, those thought up against the check, and those of a
strong model's debates.

python bench/quotes.py

Precision: of what the check calls false, the share that is. Recall: of what is false, the share that it calls so.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

from quote_attacks import ATTACKS
from quote_cases import HAND, Score, by_form, checked, of_debates

GROUPS = {"hand-made": by_form(HAND), "attacks": by_form(ATTACKS), "debates": of_debates()}


def main() -> None:
    print("| quotes | number | false | found | missed | wrongly called false | precision | recall |")
    print("|---|---|---|---|---|---|---|---|")
    totals: dict[str, Score] = {}
    for group, scores in GROUPS.items():
        totals[group] = Score()
        for name, score in scores:
            print(_row(name, score))
            totals[group] += score
    for group, score in {**totals, "all": sum(totals.values(), Score())}.items():
        print(_row(f"**{group}**", score))
    for case in (*HAND, *ATTACKS):
        verdicts = [quote.verdict for quote in checked(case)]
        if any(quote.false for quote in checked(case)) != case.false or (case.verdict and case.verdict not in verdicts):
            print(f"\nnot as it should be: {case.text} {verdicts}")


def _row(name: str, score: Score) -> str:
    counts = (score.quotes, score.found + score.missed, score.found, score.missed, score.wrongly)
    return f"| {name} | {' | '.join(map(str, counts))} | {score.precision:.0%} | {score.recall:.0%} |"


if __name__ == "__main__":
    main()
