"""A score from 0 to 10 for every outcome, so that debates can be compared: the format's own, and less its caveats."""

from __future__ import annotations

from pydantic import computed_field

from moot.core.debate import Outcome

EACH_CAVEAT = 0.5
"""Points that a caveat takes."""


class Rated(Outcome):
    """An outcome whose format says how good it is."""

    def rated(self) -> float | None:
        """From 0 to 10, by what the format itself found; None if nothing could be read."""
        raise NotImplementedError

    @computed_field  # type: ignore[prop-decorator]
    @property
    def quality_score(self) -> float | None:
        return self.rated()

    @computed_field  # type: ignore[prop-decorator]
    @property
    def auto_score(self) -> float | None:
        """The same, less what a reader should know before trusting it."""
        rated = self.rated()
        return None if rated is None else max(0.0, round(rated - EACH_CAVEAT * len(self.caveats), 2))
