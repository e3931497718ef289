"""Quotes that were thought up against the check, in seven languages, with what is true of each."""

from __future__ import annotations

from moot.sources.source import Source
from quote_cases import SOURCES, Case

INFORME = Source(
    name="informe.md",
    text="La piscina no es segura para los niños. La obra cuesta 1.850.000 euros y dura 3,5 meses. El ayuntamiento "
    "nunca prometió abrirla en verano.",
)
TAQRIR = Source(
    name="taqrir.md",
    text="المسبح ليس آمنا للأطفال اليوم. تكلف الأشغال ١٨٥٠ دينارا في الشهر. لم تعد البلدية بفتحه في الصيف.",
)
SCAN = Source(
    name="scan.pdf",
    text="The pool was inspec-\nted by the county engi-\nneer in March 2024. Its con-\ncrete shell loses 40 litres of "
    "water a day,\nwhich is not a danger to\nbathers. “The filter,” the engineer wrote, “will not last another "
    "season.” A new one costs $12,500 (about 11,600 €) and weighs 350 kg.\fIt must be replaced before May; until then "
    "the pool may stay open from 9:00 to 17:30. Do we need a second opinion?",
)
NIHONGO = Source(
    name="nihongo.md", text="このプールは子供にとって安全ではありません。工事費は1850万円で、期間は3か月です。"
)
BESCHLUSS = Source(
    name="beschluss.md",
    text="Wir empfehlen den Umbau in diesem Jahr nicht. Das Becken öffnet erst im Mai, nicht im April.",
)
EVERYWHERE = (*SOURCES, INFORME, TAQRIR, SCAN, NIHONGO, BESCHLUSS)
"""S1 numbers, S2 German, S3 French, S4 Spanish, S5 Arabic, S6 a scanned PDF, S7 Japanese, S8 German."""
REDIS = "Nobody has run Redis in production"


def _case(form: str, text: str, false: bool, verdict: str = "") -> Case:
    return Case(form, text, false, verdict, EVERYWHERE)


ATTACKS = (
    # tags without brackets, of sources that do not exist, and names like them
    _case("S9 says", 'S9 says "Redis never fails in our experience".', True, "no_source"),
    _case("S9 says", "S9 states that “the primary is idle all day long”.", True, "no_source"),
    _case("S9 says", 'According to S9, "the primary is idle all day long".', True, "no_source"),
    _case("S9 says", '"The primary is idle all day long", says S9.', True, "no_source"),
    _case("S9 says", '"The primary is idle all day long", according to S9, so we wait.', True, "no_source"),
    _case("S9 says", 'S9: "the primary is idle all day long"', True, "no_source"),
    _case("S9 says", 'As S9 (p. 4) puts it, "the primary is idle all day long".', True, "no_source"),
    _case("S9 says", 'S9 also notes: "the primary is idle all day long"', True, "no_source"),
    _case("S9 says", "S9 sagt: „Der Server steht den ganzen Tag still“.", True, "no_source"),
    _case("S9 says", "Laut S9 „steht der Server den ganzen Tag still“.", True, "no_source"),
    _case("S9 says", "S9 affirme : « le serveur ne fait rien de la journée ».", True, "no_source"),
    _case("S9 says", "As S9 writes:\n\n> the primary is idle all day long", True, "no_source"),
    _case("S9 says", "> the primary is idle all day long\n> — S9", True, "no_source"),
    _case("a name like a tag", 'An S9 bucket is "cheap and slow" storage.', False),
    _case("a name like a tag", 'With an S11 visa "you may stay" for a year.', False),
    _case("a name like a tag", 'My iPhone 4S says "no signal here".', False),
    _case("a name like a tag", 'The S9 says "battery is low" and goes off.', False),
    _case("a name like a tag", 'The S9 phone is "the best there is", they hope.', False),
    _case("a name like a tag", 'We chose S11: "cheap and slow" is all it is.', False),
    _case("a name like a tag", 'Take the S11 towards "Bahnhof Zoo Nord".', False),
    # marks of all languages, nested, in blocks
    _case("marks", '"“The filter,” the engineer wrote, “will not last another season.”" [S6]', False),
    _case("marks", "\"'The filter,' the engineer wrote, 'will not last another season.'\" [S6]", False),
    _case("marks", '"The filter will last another season" [S6]', True),
    _case("marks", "„Das Becken ist heute ‚nicht sicher‘ für alle Badegäste“ (S2)", False),
    _case("marks", "“The pool was inspected by the county engineer” [S6]", False),
    _case("marks", "»Das Becken ist heute nicht sicher« (S2)", False),
    _case("marks", "”Nobody has run Redis in production” [S1]", False),
    _case("marks", "”Somebody has run Redis in production” [S1]", True),
    _case("marks", "“Somebody has run Redis in production“ [S1]", True),
    _case("marks", "``Somebody has run Redis in production'' [S1]", True),
    _case("marks", f"``{REDIS}'' [S1]", False),
    _case("marks", f'*"{REDIS}"* [S1]', False),
    _case("marks", f"_{REDIS}_ \\[S1\\]", False),
    _case("marks", f'\\"{REDIS}\\" [S1]', False),
    _case("marks", "&quot;Somebody has run Redis in production&quot; [S1]", True),
    _case("marks", "「このプールは子供にとって安全ではありません」[S7]", False),
    _case("marks", "「このプールは子供にとって安全です」[S7]", True),
    _case("marks", "『工事費は1850万円で、期間は3か月です』（S7）", False),
    _case("marks", "『工事費は1950万円で、期間は3か月です』（S7）", True),
    _case("marks", "《工事费是1950万元，工期3个月》[S7]", False),  # the title of a book
    _case("marks", "> **S1:** Somebody has run Redis in production", True),
    _case("marks", f"> [S1] {REDIS}", False),
    _case("marks", "> [S1] Somebody has run Redis in production", True),
    _case("marks", f'- [S1]: "{REDIS}"\n- [S1]: "The replica can read unlogged tables"', True, "near"),
    _case("marks", f'| claim | source |\n|---|---|\n| "{REDIS}" | S1 |', False),
    _case("marks", '| claim | source |\n|---|---|\n| "Somebody has run Redis in production" | S1 |', True),
    _case("marks", '"Somebody has run Redis in production."[^1]\n\n[^1]: S1', True),
    _case("marks", f'"{REDIS}" ([S1])', False),
    _case("marks", '"Somebody has run Redis in production" **[S1]**', True),
    _case("marks", '"Somebody has run Redis in production" — S1', True),
    _case("marks", '"Somebody has run Redis in production" [S1; S2]', True),
    _case("marks", '"Somebody has run Redis in production" [Source 1]', True),
    _case("marks", '"Somebody has run Redis in production" [source: S1]', True),
    _case("marks", '"Somebody has run Redis in production" 【S1】', True),
    # typography, PDFs
    _case("typography", '"inspected by the county engineer in March 2024" [S6]', False),
    _case(
        "typography",
        '"Its concrete shell loses 40 litres of water a day, which is not a danger to bathers" [S6]',
        False,
    ),
    _case("typography", '"Its con- crete shell loses 40 litres of water a day" [S6]', False),
    _case("typography", '"ITS CONCRETE SHELL loses 40 litres of water…" [S6]', False),
    _case("typography", '"Its **concrete shell** loses _40 litres_ of water a day" [S6]', False),
    _case("typography", '"may stay open from 9:00 to 17:30" [S6]', False),
    _case("typography", '"A new one costs $12,500 (about €11,600)" [S6]', False),
    _case("typography", '"weighs 350\u00a0kg" [S6]', False),
    _case("typography", '"weighs 350kg. It must be replaced before May" [S6]', False),
    _case("typography", '"three incidents from stale data" [S1]', True, "near"),
    _case("typography", '"an unlogged table and a primary key look-up in PostgreSQL" [S1]', False),
    _case("typography", '"the service\u2010level objective for a card" [S1]', True),
    _case("typography", '"… which is not a danger to bathers …" [S6]', False),
    _case("typography", '"The pool was inspected [...] in March 2024" [S6]', False),
    _case("typography", '"The pool (was) inspected by the county engineer" [S6]', False),
    _case("typography", "« La piscina no es segura para los niños » [S4]", False),
    _case("typography", "«المسبح ليس آمناً للأطفال اليوم» [S5]", False),
    _case("typography", "«تكلف الأشغال 1850 دينارا في الشهر» [S5]", False),
    # a number, a unit, a sign
    _case("changed", '"weighs 350 g" [S6]', True),
    _case("changed", '"weighs 350 tonnes of steel" [S6]', True),
    _case("changed", '"loses 400 litres of water a day" [S6]', True),
    _case("changed", '"loses 40 litres of water an hour" [S6]', True),
    _case("changed", '"A new one costs €12,500" [S6]', True),
    _case("changed", '"may stay open from 9:00 to 19:30" [S6]', True),
    _case("changed", '"in March 2023" [S6]', True),
    _case("changed", '"costs 148 euros a year" [S1]', True),
    _case("changed", '"CPU of the primary at peak: −62%" [S1]', True),
    _case("changed", '"took 2,4 ms at the 95th percentile" [S1]', False),
    _case("changed", "«La obra cuesta 1.850 euros» [S4]", True),
    _case("changed", "«dura 35 meses» [S4]", True),
    _case("changed", "«تكلف الأشغال ١٩٥٠ دينارا في الشهر» [S5]", True),
    # a “not” put in, taken out or hidden
    _case("not", '"which is a danger to bathers" [S6]', True, "near"),
    _case("not", '"will not last another season" … "not a danger" [S6]', False),
    _case("not", "„Wir empfehlen den Umbau in diesem Jahr“ [S8]", True, "near"),
    _case("not", "„Wir empfehlen den Umbau in diesem Jahr nicht“ [S8]", False),
    _case("not", "„Das Becken öffnet erst im Mai“ [S8]", False),
    _case("not", '"has run Redis in production" [S1], so we are safe.', True, "near"),
    _case("not", 'Nobody "has run Redis in production" [S1].', False),
    _case("not", '"last another season" [S6]: the filter is fine.', True, "near"),
    _case("not", 'It will not "last another season" [S6].', False),
    _case("not", '"a danger to bathers" [S6] is what they looked for.', False),
    _case("typography", '"[t]he pool may stay open from 9:00 to 17:30" [S6]', False),
    _case("not", '"loses 40 litres of water a day, which is … a danger to bathers" [S6]', True),
    _case("not", '"The pool was not inspected by the county engineer" [S6]', True),
    _case("not", '"The pool wasn\'t inspected by the county engineer" [S6]', True),
    _case("not", "„Das Becken ist heute sicher für alle Badegäste“ [S2]", True, "near"),
    _case("not", "„Die Sanierung ist nicht mit dem Förderverein abgestimmt“ [S2]", True),
    _case("not", "« Le bassin n'est pas loin de jamais être sans danger pour tous » [S3]", True),
    _case("not", "« Les travaux ne coûtent pas 1 850 euros par mois » [S3]", True),
    _case("not", "«La piscina es segura para los niños» [S4]", True, "near"),
    _case("not", "«La piscina … es segura para los niños» [S4]", True),
    _case("not", "«El ayuntamiento prometió abrirla en verano» [S4]", True, "near"),
    _case("not", "«المسبح آمن للأطفال اليوم» [S5]", True),
    _case("not", "«المسبح آمنا للأطفال اليوم» [S5]", True),
    _case("not", "「このプールは子供にとって安全」[S7]", True),
    # the wrong source, two passages
    _case("wrong source", f'"{REDIS}" [S6]', True),
    _case("wrong source", f'S6 says "{REDIS}", and S1 says "The replica cannot read unlogged tables".', True),
    _case("wrong source", f'S1 says "{REDIS}", whereas S6 says "which is not a danger to bathers".', False),
    _case("wrong source", f'"{REDIS}" [S1] but "which is a danger to bathers" [S6]', True),
    _case("wrong source", '"Nobody has run Redis in production. The replica cannot read unlogged tables." [S1]', True),
    _case("wrong source", '"The replica cannot read unlogged tables. Nobody has run Redis in production." [S1]', True),
    _case("wrong source", '"The replica cannot read unlogged tables … Nobody has run Redis in production" [S1]', False),
    _case("wrong source", '"Nobody has run Redis in production … The replica cannot read unlogged tables" [S1]', True),
    _case("wrong source", '"The filter will not last" and "a new one costs $12,500" [S6]', True),
    _case("wrong source", '"weighs 350 kg. It must be replaced before May" [S6 p. 1]', False),
    # no source is quoted
    _case("no source", 'Debater B said "it will be cheaper to wait for the autumn", and B is right.', False),
    _case("no source", 'This "solution" is a so-called "quick win".', False),
    _case("no source", 'The book "Thinking, Fast and Slow in Large Organisations" warns of that.', False),
    _case("no source", "In „Der Prozess und die Verwandlung der Städte“ stand das anders.", True),
    _case("no source", 'Ask yourself: "what would happen if we did nothing at all?"', False),
    _case("no source", 'The report asks "Do we need a second opinion?"', False),
    _case("no source", 'The report asks "Do we need a third opinion at all?" [S6]', True),
    _case("no source", "Set `cache.enabled = true and ttl = 60 seconds for all` in the file.", False),
    _case("no source", '```\nprint("this is no quote of anything at all")\n```', False),
    # a second attack, after all that was mended
    _case("second attack", f'In its words (S1): "{REDIS}".', False),
    _case("second attack", 'As noted in S1 § Database, "The replica can read unlogged tables".', True),
    _case("second attack", 'S1, section Database: "The replica can read unlogged tables"', True),
    _case("second attack", 'S1 (Team and cost): "Everybody has run Redis in production"', True),
    _case("second attack", "Source S1 is blunt — “Everybody has run Redis in production.”", True),
    _case("second attack", '"Everybody has run Redis in production," S1 admits.', True),
    _case("second attack", '"Everybody has run Redis in production" is what S1 tells us.', True),
    _case("second attack", '"Everybody has run Redis in production" (S1, S2)', True),
    _case("second attack", '"Everybody has run Redis in production"¹ [S1]', True),
    _case("second attack", 'Per [S1], everyone "has run Redis in production for years".', True),
    _case("second attack", '> "Everybody has run Redis in production"\n>\n> [S1]', True),
    _case("second attack", "> Everybody has run Redis in production\n> (S1, Team and cost)", True),
    _case("second attack", ">Everybody has run Redis in production – [S1]", True),
    _case("second attack", "S1:\n> Everybody has run Redis in production\n\nand so on", True),
    _case("second attack", f'- **S1** – "{REDIS}"\n- **S2** – "Das Becken ist heute nicht sicher"', False),
    _case("second attack", f'- **S1** – "{REDIS}"\n- **S2** – "Das Becken ist heute sicher"', True),
    _case("second attack", f'1. "{REDIS}" — S1\n2. "The replica can read unlogged tables" — S1', True),
    _case("second attack", "“Nobody has run Redis … for more than three years” [S1]", False),
    _case("second attack", "“Nobody has run Redis in production […] four have tuned PostgreSQL” [S1]", False),
    _case("second attack", '"Nobody [on the team] has run Redis in production" [S1]', False),
    _case("second attack", '"Nobody has [ever] run Redis in production" [S1]', False),
    _case("second attack", '"We [do not] miss it on 11 of 28 days" [S1]', True),
    _case("second attack", '"miss it on 11 of 28 days" [S1]', False),
    _case("second attack", '"miss it on 11 of 28 weeks" [S1]', True),
    _case("second attack", '"71 percent of requests read one of 42,000 product cards" [S1]', True),
    _case("second attack", '"All cards together are 160 GB" [S1]', True),
    _case("second attack", '"CPU of the primary at peak: 62 %" [S1]', False),
    _case("second attack", '"the 95th percentile, because it joins six tables" [S1]', False),
    _case("second attack", '"the ninety-fifth percentile" [S1]', True),
    _case("second attack", '"One PostgreSQL 16 primary (8 vCPU, 32 GB) & one replica" [S1]', True),
    _case("second attack", "« Le bassin est loin d’être sans danger pour tous » [S3]", True),
    _case("second attack", "« le bassin est loin de jamais être sans danger » , selon S3.", False),
    _case("second attack", "« le bassin est sans danger pour tous », selon S3.", True),
    _case("second attack", "S4 dice: «La piscina no es segura para los niños»", False),
    _case("second attack", "S4 dice: «La piscina es segura para los niños»", True),
    _case("S9 says", "S9 dice: «La piscina es segura para los niños»", True),
    _case("second attack", "يقول S5: «المسبح آمن للأطفال اليوم»", True),
    _case("S9 says", "يقول S9: «المسبح آمن للأطفال اليوم»", True),
    _case("second attack", "يقول S5: «المسبح ليس آمنا للأطفال اليوم»", False),
    _case("second attack", "S7によると「このプールは子供にとって安全です」。", True),
    _case("S9 says", "S9によると「このプールは子供にとって安全です」。", True),
    _case("second attack", 'The S1 visa office says "we are closed on Mondays" here.', True),
    _case("a name like a tag", 'Galaxy S9: "a phone too far" was the headline.', False),
    _case("a name like a tag", 'Chapter S9 is called "on the state".', False),
    _case("a name like a tag", 'Appendix S9 says "see the table above".', False),
    _case("a name like a tag", 'Bug S9 was closed as "works for me".', False),
    _case("S9 says", 'Debater A claims S9 says "nothing at all here", which is nowhere.', True),
    _case("a name like a tag", 'He wrote "S9 says so" on the wall.', False),
    _case(
        "second attack",
        '"The pool was inspected by the county engineer in March 2024. Its concrete shell loses 40 litres" (S6, p. 1)',
        False,
    ),
    _case("second attack", '"replaced before May; until then the pool may stay open" (S6, p. 2)', False),
    _case("second attack", 'Is it true that "the pool may stay open from 9:00 to 17:30"?', False),
    _case("second attack", "The engineer's 'which is not a danger to bathers' [S6] settles it.", False),
    _case("second attack", "The engineer's 'which is a danger to bathers' [S6] settles it.", True),
    _case("second attack", '"Its concrete shell loses 40 liters of water a day" [S6]', True),
    _case("second attack", '"It\'s concrete shell loses 40 litres of water a day" [S6]', True),
)
NOT_TOLD = (
    "「このプールは子供にとって安全」[S7]",  # cut before its negation, in a language without a file
    "يقول S9: «المسبح آمن للأطفال اليوم»",  # nor is it known there what says means
)
"""What the check misses by now."""
