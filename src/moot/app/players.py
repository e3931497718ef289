"""Who plays the seats of a debate, and what they search."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from moot.core.engine import Player, TurnStore
from moot.core.format import AnyFormat
from moot.core.prompts import Prompts
from moot.llm.models import Models
from moot.players.human import HumanPlayer
from moot.players.library import LibraryPlayer
from moot.players.model import ModelPlayer
from moot.players.researcher import ResearchPlayer, Toolbox
from moot.retrieval.embed import Embedder
from moot.retrieval.library import Library
from moot.settings import RetrievalSettings, cache_folder, config_folder
from moot.telemetry.telemetry import Telemetry


@dataclass(frozen=True, slots=True)
class Players:
    prompts: Prompts
    models: Models
    library: Library
    toolbox: Toolbox
    telemetry: Telemetry

    def __call__(self, format: AnyFormat, store: TurnStore) -> Callable[[str], Player]:
        """The player of each seat."""
        model = ModelPlayer(format, self.prompts, self.models.connect)
        players: dict[str, Player] = {
            "model": model,
            "human": HumanPlayer(store.said),
            "library": LibraryPlayer(self.library, self.models.tape),
            "researcher": ResearchPlayer(format, model, self.toolbox, self.library),
        }
        observed = {name: self.telemetry.player(player) for name, player in players.items()}
        return lambda seat: observed[format.seat(seat).player]


def open_library(chosen: RetrievalSettings, models: Models) -> Library:
    async def ollama() -> Embedder:
        from moot.retrieval.embed import OLLAMA_MODEL, OllamaEmbedder

        return OllamaEmbedder(models.ollama(), chosen.embedder.partition(":")[2] or OLLAMA_MODEL)

    embedder = None if chosen.embedder == "wordllama" else ollama
    return Library(config_folder() / "templates", cache_folder() / "templates", chosen.store, embedder)
