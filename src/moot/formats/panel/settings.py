"""What a user chooses for a panel, and what they can choose from."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal, Self, TypeAlias

from pydantic import BeforeValidator, Field, JsonValue, ValidationError, model_validator

from moot.core.debate import Seat, Settings
from moot.core.format import Choice, Choices
from moot.errors import InvalidInput, faults, meant
from moot.formats.panel import perspectives as catalogs
from moot.formats.panel.perspectives import Perspective
from moot.trust.poll import VOTER, PolledSettings
from moot.trust.scribe import NotedSettings
from moot.trust.voting import Rule

Decider: TypeAlias = Literal["moderator", Rule]


def _number_or_names(value: Any) -> Any:
    """`3`, `auto`, or names with commas between them, as they are typed."""
    if not isinstance(value, str):
        return value
    text = value.strip()
    if text.lower() in ("", "auto"):
        return None
    return int(text) if text.isdecimal() else [name.strip() for name in text.split(",") if name.strip()]


def _unlimited(value: Any) -> Any:
    return 0 if isinstance(value, str) and value.strip().lower() == "unlimited" else value


class FirstSettings(Settings):
    """What can be chosen from version 1 on."""

    max_runtime_seconds: float = Field(1800, gt=0, allow_inf_nan=False)
    max_total_output_tokens: int = Field(40_000, ge=1, le=1_000_000_000)
    perspectives: Annotated[
        Annotated[int, Field(ge=2, le=4)] | list[str | Perspective] | None, BeforeValidator(_number_or_names)
    ] = Field(None, description="how many debaters, or which perspectives; chosen by the moderator otherwise")
    custom_perspectives: list[Perspective] = Field(
        default_factory=list, description="perspectives of your own, beside the built-in ones or in their place"
    )
    checkpoints: bool = Field(True, description="ask a person after each round, and for approval at the end")
    checkpoint_timeout_seconds: float = Field(1800, gt=0, allow_inf_nan=False, description="then it is paused")
    round_timeout_seconds: float | None = Field(
        None,
        gt=0,
        allow_inf_nan=False,
        description="of a round's debaters; who is silent then misses it. Empty: 120, or as the model's pace needs",
    )
    token_budget_per_round: Annotated[int, Field(ge=0), BeforeValidator(_unlimited)] = Field(
        2000, description="output tokens of one debater in one round; 0 or unlimited turns it off"
    )
    model_debater: str | None = Field(None, description="the model of all debaters")
    model_moderator: str | None = Field(None, description="the moderator's model")

    rules: ClassVar[int] = 3
    """The version of the panel whose settings these are."""

    @model_validator(mode="after")
    def _can_debate(self) -> Self:
        """A set of another size is refused before anything is asked of a model; whether it has anything to debate is
        told once the moderator has seen it."""
        if isinstance(self.perspectives, list) and (why := catalogs.fault(self.named(), self.rules == 1)):
            raise ValueError(why)
        return self

    def known(self) -> tuple[Perspective, ...]:
        """The catalog, with the user's own."""
        return catalogs.catalog(self.custom_perspectives)

    def named(self) -> list[Perspective]:
        """The perspectives the user has chosen, by name or in full."""
        known = self.known()
        wanted = self.perspectives if isinstance(self.perspectives, list) else []
        return [each if isinstance(each, Perspective) else _find(known, each) for each in wanted]


class PanelSettings(FirstSettings, PolledSettings, NotedSettings):
    decision: Decider = Field(
        "moderator",
        title="Decided by",
        description="the moderator, who does not know how the perspectives vote, or a rule that counts their votes",
    )

    nearness: float | None = Field(
        None,
        title="Opposition of the perspectives",
        description="how near what one of those chosen gives up is to what another wants, from -1 to 1; found when a "
        "debate is made",
    )

    @property
    def votes(self) -> bool:
        """Whether the perspectives vote at the end."""
        return self.decision != "moderator" or self.depth != "quick"

    def seated(self, seat: Seat) -> bool:
        return super().seated(seat) or (seat.group == VOTER and self.votes)


class SecondSettings(PanelSettings):
    """Of panels that believe whoever says that they agree."""

    rules: ClassVar[int] = 2


def _find(known: tuple[Perspective, ...], name: str) -> Perspective:
    if found := catalogs.find(known, name):
        return found
    names = [each.name for each in known]
    raise ValueError(f"no perspective named {name!r}{meant(name, names) or ';'} known: {', '.join(names)}")


def compared(settings: PanelSettings) -> list[tuple[str, str]]:
    """What perspectives that a person has chosen may hold against each other; a moderator judges its own choice."""
    return catalogs.exchanged(settings.named())


def choices(configured: Mapping[str, JsonValue]) -> Choices:
    try:
        known = PanelSettings.model_validate(configured).known()
    except ValidationError as error:
        raise InvalidInput(f"panel settings in moot.yaml: {faults(error.errors())}") from None
    shown = {"name", "priorities", "trade_offs"}
    return {
        "perspectives": tuple(
            Choice(each.name, ", ".join(each.priorities), each.model_dump(mode="json", include=shown)) for each in known
        )
    }
