"""The commands about debates: to have them, to steer them, and to read what is kept of them."""

from __future__ import annotations

import sys
from typing import Any

import click

from moot.terminal import options
from moot.terminal.command import Command, refuse_unused, run
from moot.terminal.help import EXAMPLE_DEBATES, FORMATS, USUAL_FORMAT, beginning_with
from moot.terminal.options import FILE, NUMBER, Number, argument, flag, option, words

EXPORTS = ("md", "json", "html", "argdown", "aif", "jsonl")


def _debate(list: bool, as_json: bool, **given: Any) -> int:
    if list:
        from moot.terminal.listing import list_debates

        refuse_unused("beside --list", used=("list", "as_json"))
        return run(list_debates(as_json))
    from moot.terminal.commands import debate

    return run(debate(as_json=as_json, **given), runs_debates=not given["estimate"])


def _demo(name: str | None, speed: float) -> int:
    from moot.terminal.demo import demo

    return run(demo(name, speed), runs_debates=sys.stdout.isatty())  # a pipe gets the recording alone


debate = Command(
    _debate,
    "Debate a QUESTION and watch it live.",
    argument("question", required=False, help="What to debate."),
    option(
        "--format",
        "-f",
        metavar="|".join(FORMATS),
        help="The rules of the debate.",
        show_default=f"{USUAL_FORMAT}; duel for a tiny local model",
        shell_complete=beginning_with(FORMATS),
    ),
    option("--perspectives", metavar="N|NAMES", help="How many debaters, or their perspectives: 3, or 'A,B'."),
    option(
        "--max-rounds", "-n", type=NUMBER, help="End after so many rounds at the latest.", show_default="the format's"
    ),
    flag("--no-checkpoints", help="Run through without asking a person between rounds."),
    option(
        "--source",
        "-s",
        multiple=True,
        type=click.Path(),
        metavar="PATH",
        help="A file, folder or 'pattern' of documents or code to argue from.",
    ),
    flag("--research", help="Let debaters look things up before they speak (docs/research.md)."),
    flag("--precedents", help="Offer approved decisions of this folder as sources."),
    option("--stance-a", metavar="pro|con", help="Debater A's stance."),
    flag("--quick", "-q", help="Judge once: the price of a plain debate."),
    flag("--careful", help="Judge up to eight times."),
    option("--ballots", type=NUMBER, help="Ask so many models alone, in a poll or beside a duel or panel."),
    *options.chosen,
    flag("--estimate", help="Say what it would cost, and call no model."),
    *options.tape,
    flag("--timing", help="Replay at the recorded pace."),
    option("--resume", metavar="ID", help="Go on, also with another --model."),
    flag("--list", help="Show the latest debates."),
    *options.told,
    examples=(
        'moot debate "Should we use Redis or PostgreSQL for caching?" --source our-numbers.pdf',
        'moot debate "Tabs are better than spaces" -f duel -m ollama:qwen3:32b',
        'moot debate "Which database?" --perspectives 3 --no-checkpoints --estimate',
        "moot debate --resume DEB-k3v8q2ab --model openai:gpt-4.1",
    ),
)
demo = Command(
    _demo,
    "Watch a recorded debate of a large model, then have one of your own.",
    argument(
        "name",
        required=False,
        metavar="[NAME]",
        help=f"{', '.join(EXAMPLE_DEBATES[:-1])} or {EXAMPLE_DEBATES[-1]}.",
        shell_complete=beginning_with(EXAMPLE_DEBATES),
    ),
    option(
        "--speed", type=Number(0, kind=float), default=1.0, show_default=True, help="Twice as fast: 2; all at once: 0."
    ),
    examples=("moot demo", "moot demo --speed 3"),
)
COMMANDS = (
    debate,
    Command(
        "commands.fork",
        "Go on from the first turns of a debate in a new one, with other models or settings.",
        options.debate_id,
        option(
            "--at",
            type=NUMBER,
            help="Begin with its first N turns; without it with as many as leave something to play.",
        ),
        options.model,
        options.model_for,
        options.set,
        *options.told,
        examples=("moot fork DEB-k3v8q2ab --at 4 -m openai:gpt-4.1",),
        runs_debates=True,
    ),
    Command(
        "evaluate.evaluate",
        "Have an idea defended, attacked and scored; several ideas end in a ranking.",
        argument(
            "paths",
            nargs=-1,
            required=True,
            type=FILE,
            metavar="PATH…",
            help="A markdown file or a folder with idea.md.",
        ),
        option(
            "--debate/--no-debate",
            default=True,
            show_default=True,
            help="Argue the scores, or stop once there are some.",
        ),
        option("--topics", type=FILE, metavar="FILE", help="Topics of your own."),
        option("--output", "-o", type=FILE, metavar="PLACE", help="Where the report goes."),
        flag("--compare", help="Show how scores moved since the last time."),
        *options.chosen,
        *options.tape,
        options.events,
        examples=("moot evaluate ideas/balcony-solar", "moot evaluate ideas/* --compare"),
        runs_debates=True,
    ),
    Command(
        "commands.reply",
        "Answer a debate that waits, and go on with it; or guide one that runs.",
        options.debate_id,
        flag("--continue", help="Let the next round begin."),
        words("--guide", metavar="TEXT", help="Guidance for all that follows."),
        flag("--end", help="End the rounds and conclude."),
        words("--answer", metavar="TEXT", help="The answer to a question."),
        flag("--approve", help="Approve the decision."),
        words("--reject", metavar="REASON", help="Reject the decision; '' for no reason."),
        option("--output", "-o", type=FILE, metavar="DIR", help="Where an approved decision is written."),
        *options.tape,
        options.events,
        examples=(
            'moot reply DEB-k3v8q2ab --guide "Think of the three-person team"',
            "moot reply DEB-k3v8q2ab --approve",
        ),
        runs_debates=True,
    ),
    Command(
        "commands.conclude",
        "End the rounds after the step in progress, and go on to the verdict.",
        options.debate_id,
        runs_debates=True,
    ),
    Command(
        "kept.show",
        "Show a debate: its turns, its outcome, what went wrong.",
        options.debate_id,
        options.json,
        flag("--sources", help="What became of its sources instead."),
        option("--source", metavar="S1", help="The text of one source instead."),
        flag("--claims", help="What was claimed, what was said to it, how it ended."),
        examples=("moot show DEB-k3v8q2ab", "moot show DEB-k3v8q2ab --claims"),
    ),
    Command("kept.stop", "Stop a debate after the step in progress; it can be resumed.", options.debate_id),
    Command(
        "kept.rate",
        "Rate the outcome of a debate.",
        options.debate_id,
        argument("stars", type=NUMBER, help="1 to 5."),
        words("--comment", default="", metavar="TEXT", help="Why."),
        examples=('moot rate DEB-k3v8q2ab 4 --comment "Missed the licence"',),
    ),
    Command(
        "kept.export",
        "Print a debate as a document: the decision or the transcript, the whole trace, a page, or an argument map.",
        argument("debate_id", required=False, metavar="[ID]", help="The debate, DEB-…"),
        option(
            "--as",
            "style",
            default="md",
            show_default=True,
            metavar="|".join(EXPORTS),
            help="The form of it; jsonl for many.",
            shell_complete=beginning_with(EXPORTS),
        ),
        option(
            "--output", "-o", type=FILE, metavar="PATH", help="A new file instead of the screen; a new folder for many."
        ),
        flag("--all", help="Many debates, with a manifest."),
        option("--status", default="finished", show_default=True, help="Of many, those of this status; any for all."),
        option("--format", help="Of many, those of this format.", shell_complete=beginning_with(FORMATS)),
        option("--since", metavar="TIME", help="Of many, those created since then."),
        examples=(
            "moot export DEB-k3v8q2ab --as html -o decision.html",
            "moot export --all --as jsonl -o traces --since 2026-01-01",
        ),
    ),
    Command("kept.workflow", "Make an issue of a decision and hand it to what moot.yaml names.", options.debate_id),
    Command(
        "kept.claims",
        "Show where a claim was made in any debate, by whom, and how it ended.",
        argument("words", help="What they are about."),
        options.json,
        examples=('moot claims "latency"',),
    ),
    Command("kept.perspectives", "Show the perspectives a panel can be cast from."),
    demo,
    Command(
        "commands.rejudge",
        "Judge a finished debate again in a new one, by another model or more often; costs its judgings only.",
        options.debate_id,
        option("--judge", metavar="MODEL", help="PROVIDER:MODEL; the same judge without it."),
        option(
            "--judgings",
            type=NUMBER,
            default=8,
            show_default=True,
            help="How often at most, 1 or an even number up to 12.",
        ),
        *options.told,
        examples=("moot rejudge DEB-k3v8q2ab --judge anthropic:claude-sonnet-4-5 --judgings 8",),
        runs_debates=True,
    ),
)
