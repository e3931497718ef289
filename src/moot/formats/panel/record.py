"""A panel's decision as a document for whoever decides, and as an issue for whoever carries it out.

The decision comes first, then how sure it is and what would change it; who argued what comes last.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from textwrap import indent
from typing import TYPE_CHECKING

from moot.core.debate import Issue, Record, Turn
from moot.core.record import iso
from moot.core.trust import level_word
from moot.text.language import sentences
from moot.text.markdown import bullets, contained, front_matter, in_line
from moot.text.plain import shortened_at_word
from moot.trust.figures import section

if TYPE_CHECKING:
    from moot.formats.panel.decision import Decision, FinalPosition

SHORT = 160


def first_sentence(text: str) -> str:
    sentence = next(iter(sentences(" ".join(text.split()))), "")
    return shortened_at_word(sentence, SHORT)


def document(outcome: Decision, record: Record, turns: Sequence[Turn]) -> Iterator[str]:
    say = outcome.say
    yield _front_matter(outcome, record)
    yield f"# {in_line(first_sentence(outcome.summary)) or '–'}\n"
    yield from _lead(outcome)
    yield from _confidence(outcome)
    if outcome.approved is False:
        yield f"**{say('Rejected')}:** {in_line(outcome.remark) or '–'}\n"
    yield f"## {say('Question')}\n\n{_safe(outcome.title or record.topic)}\n"
    if outcome.title:
        yield f"{say('Asked as')}:\n\n{_safe(record.topic)}\n"
    yield from _section(say("This changes if"), outcome.conditions)
    yield from _section(say("Options considered"), list(_options(outcome)), safe=True)
    yield from _next_steps(outcome)
    yield from _section(say("What the panel was told"), list(_told(outcome, turns)), safe=True)
    yield from _section(say("Points of agreement"), outcome.agreement)
    yield from _section(say("Tensions"), outcome.tensions)
    yield from _section(say("Dissent"), [part for part in outcome.dissent.split("\n\n") if part.strip()])
    yield from _section(say("Open questions"), outcome.open_questions)
    if outcome.figures:
        yield section(outcome.figures, say) + "\n"
    yield f"## {say('Perspectives')}\n"
    for view in outcome.perspectives:
        yield from _perspective(outcome, view)
    yield from _footnotes(outcome, turns)


def _front_matter(outcome: Decision, record: Record) -> str:
    return front_matter(
        {
            "debate": record.id,
            "title": " ".join((outcome.title or record.topic).split()),
            "date": iso(record.finished_at or record.created_at)[:10],
            "status": {True: "accepted", False: "rejected", None: "proposed"}[outcome.approved],
            **({"decided_by": outcome.approved_by} if outcome.approved_by else {}),
            "confidence": outcome.confidence,
            "rounds": len(outcome.rounds),
            "perspectives": [view.name for view in outcome.perspectives],
        }
    )


def _lead(outcome: Decision) -> Iterator[str]:
    """What the decision says beyond its first sentence, and what tipped the balance."""
    said = " ".join(outcome.summary.split())
    first = first_sentence(outcome.summary)
    rest = said.removeprefix(first).strip() if said.startswith(first) else said
    for text in (rest, outcome.lead):
        if text:
            yield f"{_safe(text)}\n"


def _confidence(outcome: Decision) -> Iterator[str]:
    say, level = outcome.say, level_word(outcome.confidence, outcome.say)
    yield f"**{say('Confidence')}:** {level}: {'; '.join(map(in_line, outcome.reasons))}.\n"
    if outcome.trust and outcome.trust.vote:
        yield f"**{say('Vote')}:** {in_line(outcome.trust.vote.summary)}.\n"
    if outcome.trust and (poll := outcome.trust.poll):
        yield f"**{say('Asked alone')}:** {in_line(f'{poll.summary}. {poll.price}')}\n"
    if outcome.lifts:
        yield f"**{say('It would rise with')}:** {'; '.join(map(in_line, outcome.lifts))}.\n"
    if outcome.caveats:
        yield f"**{say('Before you rely on it')}:**\n"
        yield f"{bullets(outcome.caveats)}\n"


def _options(outcome: Decision) -> Iterator[str]:
    say = outcome.say
    for option in outcome.options:
        verdict = say("recommended") if option.recommended else say("not recommended")
        yield f"**{in_line(option.name)}** ({verdict}): {in_line(option.why) or '–'}"


def _next_steps(outcome: Decision) -> Iterator[str]:
    say = outcome.say
    yield from _section(say("Next steps"), list(_tasks(outcome)), safe=True)
    if outcome.acceptance:
        yield f"{say('Done when')}:\n"
        yield "\n".join(f"- [ ] {in_line(check)}" for check in outcome.acceptance) + "\n"


def _tasks(outcome: Decision) -> Iterator[str]:
    """Each with its tick, and whose that is."""
    say = outcome.say
    for at, task in enumerate(outcome.tasks):
        if tick := outcome.done.get(at):
            by = say("done, {who}, {date}", who=in_line(tick.who), date=iso(tick.at)[:10])
            yield f"[x] {in_line(task)} ({by if tick.who else say('done')})"
        else:
            yield f"[ ] {in_line(task)}"


def _told(outcome: Decision, turns: Sequence[Turn]) -> Iterator[str]:
    say = outcome.say
    times = {turn.position: iso(turn.finished_at)[:16].replace("T", " ") for turn in turns}
    for each in outcome.told:
        when = say("after round {round}", round=each.round) if each.round else say("before the first round")
        who = in_line(each.who) or say("the person who asked")
        yield f"{in_line(each.text)} ({who}, {when}, {times.get(each.turn, '–')})"


def _section(heading: str, items: Sequence[str], *, safe: bool = False) -> Iterator[str]:
    """A heading and its list; nothing at all where there is nothing to list."""
    if items:
        yield f"## {heading}\n"
        yield "\n".join(f"- {item if safe else in_line(item)}" for item in items) + "\n"


def _perspective(outcome: Decision, view: FinalPosition) -> Iterator[str]:
    say = outcome.say
    yield f"### {in_line(view.name)}\n"
    for argument in view.key_arguments:
        notes = "".join(f"[^turn-{position}]" for position in argument.turns) or f" ({say('no link found')})"
        barred = f" ({say('rests on a quote that does not stand in its source')})" if argument.barred else ""
        yield f"- {in_line(argument.text)}{notes}{barred}"
    if view.trade_offs:
        yield f"- {say('Gives up')}: {in_line(view.trade_offs)}"
    if view.recommendation:
        yield f"- {say('Last position')}: {in_line(view.recommendation)}"
    if view.would_change:
        yield f"- {say('Would change its mind')}: {in_line(view.would_change)}"
    yield ""


def _footnotes(outcome: Decision, turns: Sequence[Turn]) -> Iterator[str]:
    """Every turn that is pointed to, in full."""
    say = outcome.say
    wanted = {position for view in outcome.perspectives for each in view.key_arguments for position in each.turns}
    by_seat = {view.seat: view.name for view in outcome.perspectives}
    for turn in turns:
        if turn.position in wanted:
            kind = say("opening") if turn.kind == "opening" else say("rebuttal")
            about = f"{in_line(by_seat[turn.seat])}, {say('{kind} of round {round}', kind=kind, round=turn.round)}"
            yield indent(f"[^turn-{turn.position}]: **{about}**\n\n{_safe(turn.content)}\n", "    ").lstrip()


def issue(outcome: Decision, record: Record) -> Issue:
    title = outcome.say("Act on the decision: {title}", title=first_sentence(outcome.title or record.topic))
    return Issue(in_line(title), "\n".join(_issue(outcome, record)))


def _issue(outcome: Decision, record: Record) -> Iterator[str]:
    say = outcome.say
    yield f"## {say('Context')}\n\n{_safe(outcome.title or record.topic)}\n"
    for view in outcome.perspectives:
        yield f"- **{in_line(view.name)}:** {in_line('; '.join(each.text for each in view.key_arguments) or '–')}"
    confidence = f"{say('Confidence')}: {level_word(outcome.confidence, say)}."
    parts = [f"\n## {say('Decision')}", _safe(outcome.summary), _safe(outcome.lead), confidence]
    yield "\n\n".join(filter(None, parts)) + "\n"
    if outcome.dissent:
        yield f"{say('Dissent')}: {in_line(outcome.dissent)}\n"
    yield f"## {say('Tasks')}\n"
    tasks = list(_tasks(outcome)) or [f"[ ] {say('Carry out the decision.')}"]
    yield "\n".join(f"- {task}" for task in tasks) + "\n"
    yield f"## {say('Acceptance criteria')}\n"
    checks = outcome.acceptance or [say("What the decision asks for is in place.")]
    yield "\n".join(f"- [ ] {in_line(check)}" for check in checks) + "\n"
    yield f"{say('Debate')}: {record.id}"


def _safe(text: str) -> str:
    """Somebody's text that cannot leave its place, nor forge a heading of the record or a footnote."""
    return contained(text, 3).replace("[^", "\\[^")
