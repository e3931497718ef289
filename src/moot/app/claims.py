"""Claims over all debates: where one was made, by whom, and how it ended."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from moot.app.app import App
from moot.core.claims import Claim
from moot.core.debate import JsonObject
from moot.core.stored import StoredDebate
from moot.errors import InvalidInput
from moot.reading.debate import Reading

MAX_DEBATES = 200
"""So many debates are looked through, the newest first."""


class FoundClaim(NamedTuple):
    reading: Reading
    claim: Claim

    @property
    def who(self) -> str:
        return self.reading.titles.get(self.claim.seat, self.claim.seat)

    def as_json(self) -> JsonObject:
        record = self.reading.record
        return {"debate": record.id, "title": record.title, "who": self.who, **self.claim.model_dump(mode="json")}


async def find_claims(app: App, words: str) -> list[FoundClaim]:
    """Claims with these words, of finished debates, the newest debate first."""
    wanted = words.split()
    if not wanted:
        raise InvalidInput('say what the claim is about: moot claims "latency"')
    records = await app.list(MAX_DEBATES, words=wanted[0])
    having = [record.id for record in records if any(_matching(app.reading(StoredDebate(record)), wanted))]
    readings = [await app.read(debate_id) for debate_id in having]  # whose turns say who was cast as what
    return [FoundClaim(reading, claim) for reading in readings for claim in _matching(reading, wanted)]


def _matching(reading: Reading, words: Sequence[str]) -> Iterator[Claim]:
    for claim in reading.ledger.claims if reading.outcome and reading.ledger else ():
        said = f"{claim.text} {claim.quote}".casefold()
        if all(word.casefold() in said for word in words):
            yield claim
