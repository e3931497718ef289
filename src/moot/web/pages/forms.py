"""The form of a new debate, made of what a format's settings declare; any format gets one, an installed one too.

What is posted is compared with what was shown: only what somebody has changed becomes a setting.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from pydantic import JsonValue, ValidationError

from moot.core.debate import BY_SEAT, JsonObject, Limits, Seat, Settings
from moot.core.format import AnyFormat, Choice
from moot.errors import InvalidInput
from moot.reading.seats import colours_of
from moot.text.plain import capitalized
from moot.web.pages import form_values
from moot.web.pages.faults import fault_text
from moot.web.pages.form_values import Posted, Schema, Widget

Group: TypeAlias = Literal["first", "limits", "models", "more", "sources"]
SOURCES = "sources"
"""The setting that is one field for all formats: who chooses another format keeps what they have given."""


@dataclass(frozen=True, slots=True)
class Option:
    value: str
    label: str
    hint: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class FormField:
    """One field; `name` is what it is posted under, `value` what it shows."""

    name: str
    label: str
    widget: Widget
    group: Group = "more"
    hint: str = ""
    value: str = ""
    fault: str = ""
    options: tuple[Option, ...] = ()
    chosen: tuple[str, ...] = ()
    parts: tuple[FormField, ...] = ()
    rows: tuple[tuple[FormField, ...], ...] = ()
    changed: bool = False
    """Whether it shows something else than it would by itself."""

    @property
    def cards(self) -> bool:
        """Whether its few values explain themselves: each gets a card."""
        return self.widget == "choice" and len(self.options) <= 4 and all(option.hint for option in self.options)

    @property
    def is_model(self) -> bool:
        return self.name.rpartition(".")[2].startswith("model")

    @property
    def id(self) -> str:
        return self.name.replace(".", "-")


@dataclass(frozen=True, slots=True)
class Form:
    """The fields of a format, with what is wrong with what was posted."""

    format: AnyFormat
    fields: tuple[FormField, ...]

    def group(self, group: Group) -> list[FormField]:
        own = [each for each in self.fields if each.group == group]
        if group == "first":
            order = {f"{self.format.name}.{name}": at for at, name in enumerate(self.format.first)}
            return sorted(own, key=lambda each: order.get(each.name, -1))
        return sorted(own, key=lambda each: each.widget in ("flag", "seats"))  # what is short comes first

    @property
    def faulty(self) -> bool:
        """Whether something is wrong that stands in the fold."""
        return any(part.fault for each in self._folded for part in (each, *each.parts))

    @property
    def changed(self) -> bool:
        """Whether something in the fold is not as it would be by itself."""
        return any(each.changed for each in self._folded)

    @property
    def _folded(self) -> list[FormField]:
        return [each for each in self.fields if each.group not in ("first", "sources")]

    @property
    def colours(self) -> Mapping[str, int]:
        return colours_of(self.format)

    @property
    def seats(self) -> list[tuple[Seat, list[FormField]]]:
        """What is chosen seat by seat, as the rows of a table."""
        by_name = {each.name.rpartition(".")[2]: each for each in self.fields if each.widget == "seats"}
        columns = [by_name[name].parts for name in BY_SEAT if name in by_name]
        return [(seat, [column[at] for column in columns]) for at, seat in enumerate(self.format.usual_seats)]


def form(
    format: AnyFormat, configured: Mapping[str, JsonValue], posted: Posted, faults: Mapping[str, str] | None = None
) -> Form:
    """The form as it was posted, or with the defaults where nothing was."""
    shown, choices = defaults(format, configured), format.choices(configured)
    made = (
        _made(format, name, shown.get(name), posted, choices.get(name, ()), faults or {})
        for name in form_values.schemas(format)
        if name not in format.hidden
    )
    return Form(format, tuple(made))


def settings(format: AnyFormat, configured: Mapping[str, JsonValue], posted: Posted) -> JsonObject:
    """What was chosen other than it was shown. Raises InvalidFields that names each field at fault."""
    shown = defaults(format, configured)
    chosen: JsonObject = {}
    faults: dict[str, str] = {}
    for name, schema in form_values.schemas(format).items():
        full, widget = posted_as(format, name), form_values.widget_of(name, schema)
        if name in format.hidden or not any(form_values.under(key, full) for key in posted):
            continue
        try:
            value = form_values.read(widget, full, schema, posted)
        except InvalidInput as error:
            faults[name] = str(error)
            continue
        if value != form_values.read(widget, full, schema, form_values.as_posted(full, name, schema, shown.get(name))):
            chosen[name] = value
    _check(format, {**configured, **chosen}, faults)
    return chosen


class InvalidFields(InvalidInput):
    """Settings that cannot be used; the faults by the name of their field, those of all together under ''."""

    def __init__(self, faults: Mapping[str, str]) -> None:
        super().__init__("; ".join(f"{name}: {fault}" if name else fault for name, fault in faults.items()))
        self.faults = faults


def defaults(format: AnyFormat, configured: Mapping[str, JsonValue]) -> JsonObject:
    """What every setting is unless somebody says otherwise."""
    try:
        shown: JsonObject = format.settings.model_validate(configured).model_dump(mode="json")
    except ValidationError:  # the format needs something: then there is nothing to show
        return dict(configured)
    return shown


def _check(format: AnyFormat, chosen: Mapping[str, JsonValue], faults: dict[str, str]) -> None:
    try:
        format.settings.model_validate(chosen)
    except ValidationError as error:
        for fault in error.errors():
            name, *place = [str(part) for part in fault["loc"]] or [""]
            if name in BY_SEAT and place:
                faults.setdefault(f"{name}.{place[0]}", fault_text(fault))
                continue
            where = ", ".join(part for part in map(_place, place) if part)
            faults.setdefault(name, f"{where}: {fault_text(fault)}" if where else fault_text(fault))
    if faults:
        raise InvalidFields(faults)


def _place(part: str) -> str:
    """A step on the way to a fault, as a reader counts; pydantic's names of types are left out."""
    if part.isdecimal():
        return f"number {int(part) + 1}"
    return part.replace("_", " ") if part.replace("_", "").isalpha() and part.islower() and part not in _TYPES else ""


_TYPES = {"int", "str", "float", "bool", "key"}


# From a schema to a field


def posted_as(format: AnyFormat, name: str) -> str:
    return name if name == SOURCES else f"{format.name}.{name}"


def _group(format: AnyFormat, name: str) -> Group:
    if name == SOURCES:
        return "sources"
    if name in format.first or format.settings.model_fields[name].is_required():
        return "first"
    if name in Limits.model_fields:
        return "limits"
    return "models" if name in Settings.model_fields or name.startswith("model_") else "more"


def label(name: str, schema: Schema) -> str:
    """What a format calls a setting, or its name."""
    group = name.removeprefix("model_")
    usual = name if group == name else f"model, {group}"
    return str(schema.get("title") or usual.replace("_", " ").capitalize())


def _made(
    format: AnyFormat,
    name: str,
    shown: JsonValue,
    posted: Posted,
    choices: Sequence[Choice],
    faults: Mapping[str, str],
) -> FormField:
    schema = form_values.schemas(format)[name]
    full, widget = posted_as(format, name), form_values.widget_of(name, schema)
    is_posted = any(form_values.under(key, full) for key in posted)
    usual = form_values.as_posted(full, name, schema, shown)
    given = posted if is_posted else usual
    has_rows = widget in ("rows", "number_or_list")
    return FormField(
        name=full,
        label=label(name, schema),
        widget=widget,
        group=_group(format, name),
        hint=capitalized(schema.get("description", "")),
        value=form_values.last(given, full),
        fault=faults.get(name, ""),
        options=_options(schema, choices, widget),
        chosen=tuple(given.get(f"{full}.pick", ())),
        parts=tuple(_seat_fields(format, name, given, faults)) if widget == "seats" else (),
        rows=tuple(_row_fields(full, form_values.rows_of(schema), given)) if has_rows else (),
        changed=is_posted and _differs(widget, full, schema, posted, usual),
    )


def _differs(widget: Widget, full: str, schema: Schema, posted: Posted, usual: Posted) -> bool:
    try:
        return form_values.read(widget, full, schema, posted) != form_values.read(widget, full, schema, usual)
    except InvalidInput:
        return True


def _options(schema: Schema, choices: Sequence[Choice], widget: Widget) -> tuple[Option, ...]:
    if widget == "number_or_list":
        number = form_values.alternatives(schema)[0]
        counts = range(number.get("minimum", 1), number.get("maximum", 4) + 1)
        picks = (Option(choice.name, choice.name, choice.hint) for choice in choices)
        return (*(Option(str(count), str(count)) for count in counts), *picks)
    values = next((each["enum"] for each in form_values.alternatives(schema) if "enum" in each), ())
    hints = _hints(str(schema.get("description", "")))
    return tuple(Option(str(value), str(value).replace("_", " "), hints.get(str(value), "")) for value in values)


def _hints(description: str) -> dict[str, str]:
    """What each value means, where a description tells that: `quick: once; careful: up to eight times`."""
    told = (part.partition(": ") for part in description.split("; "))
    return {name.strip(): capitalized(hint.strip()) for name, _, hint in told if hint}


def _seat_fields(format: AnyFormat, name: str, given: Posted, faults: Mapping[str, str]) -> Iterator[FormField]:
    for seat in format.usual_seats:
        full, fault = f"{format.name}.{name}.{seat.name}", faults.get(f"{name}.{seat.name}", "")
        value = form_values.last(given, full)
        yield FormField(name=full, label=seat.title, widget="line", value=value, fault=fault)


def _row_fields(full: str, parts: Mapping[str, Schema], given: Posted) -> Iterator[tuple[FormField, ...]]:
    """The rows that were filled, and an empty one."""
    numbers = form_values.row_numbers(full, parts, given)
    for number in [*numbers, max(numbers, default=-1) + 1]:
        yield tuple(_part(f"{full}.{number}.{name}", name, schema, given) for name, schema in parts.items())


def _part(full: str, name: str, schema: Schema, given: Posted) -> FormField:
    usual = "" if schema.get("default") is None else str(schema["default"])
    widget = form_values.widget_of(name, schema)
    options, value = _options(schema, (), widget), form_values.last(given, full, usual)
    return FormField(name=full, label=label(name, schema), widget=widget, value=value, options=options)
