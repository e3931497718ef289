"""The documents of outcomes as files: where the user of this machine wanted one, or with the approved decisions.

What a user wants is kept on their machine and not with the debate: a path means nothing elsewhere, and nobody who
only reaches a server can have it write a file.
"""

from __future__ import annotations

import json
import logging
import os
from dataclasses import dataclass
from pathlib import Path

from moot.errors import InvalidInput
from moot.export.documents import document
from moot.reading.debate import Reading
from moot.text.files import contained_in, is_writable, private_folder, write_whole

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Place:
    """Where documents go: a folder in which each gets a number, or a report's file; no link leads out of `within`."""

    path: Path
    report: bool = False
    within: Path | None = None

    def write(self, reading: Reading) -> Path:
        """The file with the document of a debate, written unless it is there. Raises InvalidInput."""
        from moot.records import files, reports  # slow to import, and needed when a debate is over

        record, text = reading.record, document(reading)
        if self.report:
            return reports.write(self.path, text, record.id, self.within)
        self._stays()
        return files.write(self.path, record.title, text, record.id)

    def find(self, debate_id: str) -> Path | None:
        from moot.records import files, reports

        return reports.find(self.path, debate_id) if self.report else files.find(self.path, debate_id)

    def check(self) -> None:
        """Raises InvalidInput when nothing can be written there."""
        from moot.records import reports

        if self.report:
            reports.check(self.path, self.within)
            return
        self._stays()
        if not is_writable(self.path):
            raise InvalidInput(f"cannot write to {str(self.path)!r}; name a folder that can be written to")

    def absolute(self) -> Place:
        return Place(self.path.absolute(), self.report, self.within.absolute() if self.within else None)

    def _stays(self) -> None:
        if self.within and not contained_in(self.path, self.within):
            raise InvalidInput(
                f"{self.path} leads out of {self.within} through a link, to {self.path.resolve()}; remove the link, or "
                "name that folder as `decisions` in your own settings"
            )


class Documents:
    """Where the document of each debate is to be written."""

    def __init__(self, decisions: Path, chosen: Path) -> None:
        """Approved ones go to `decisions`; `chosen` is the folder in which the places are kept that users chose."""
        here = Path.cwd()
        is_here = Path(os.path.normpath(here / decisions)).is_relative_to(here)
        self._decisions = Place(decisions, within=here if is_here else None)
        self._chosen = chosen

    def choose(self, debate_id: str, place: Place) -> None:
        """Keep where a document is to be written, whichever process of this machine ends its debate."""
        place = place.absolute()
        within = str(place.within) if place.within else None
        kept = {"path": str(place.path), "report": place.report, "within": within}
        private_folder(self._chosen)
        write_whole(self._chosen / f"{debate_id}.json", json.dumps(kept).encode())

    def place_of(self, reading: Reading) -> Place | None:
        """None when there is no outcome, or nobody has approved it or said where it goes."""
        if reading.outcome is None:
            return None
        return self._chosen_for(reading.record.id) or (self._decisions if reading.outcome.is_approved() else None)

    def write(self, reading: Reading) -> Path | None:
        """The file with the document of a debate, written unless it is there; None when it goes nowhere.

        A decision stays in the folder it was first written to, wherever its debate is looked at later.
        """
        place = self.place_of(reading)
        written = place.write(reading) if place else None
        if place is self._decisions:
            try:
                self.choose(reading.record.id, place)
            except OSError as error:
                log.warning("%s: its document may be written to another folder too: %s", reading.record.id, error)
        return written

    def _chosen_for(self, debate_id: str) -> Place | None:
        """Unless it lies in a folder that is gone."""
        try:
            kept = json.loads((self._chosen / f"{debate_id}.json").read_bytes())
            place = Place(Path(kept["path"]), kept["report"], Path(kept["within"]) if kept["within"] else None)
        except (OSError, ValueError, KeyError, TypeError):
            return None
        if place.within and not place.within.is_dir():
            return None
        return self._decisions if place == self._decisions.absolute() else place
