"""Faults of the player's scripts."""

from __future__ import annotations

from tests.mutants.faults.fault import SCRIPTS, Fault

FAULTS: tuple[Fault, ...] = (
    Fault(
        "player: the probability of a path may exceed one",
        "assets/js/sibling_rules.js",
        "const atMostOne = (x) => Math.min(1, x);",
        "const atMostOne = (x) => x;",
        (SCRIPTS,),
    ),
    Fault(
        "player: the typical bar rises with the entropy",
        "assets/js/path_rules.js",
        "delta * Math.exp(-entropy)",
        "delta * Math.exp(entropy)",
        (SCRIPTS,),
    ),
    Fault(
        "player: the probability that any of K siblings passes forgets K",
        "assets/js/sibling_rules.js",
        "1 - (1 - beta) ** facts.siblings",
        "1 - (1 - beta)",
        (SCRIPTS,),
    ),
    Fault(
        "player: judging again ignores the number of levels asked for",
        "assets/js/rejudge.js",
        "(gamma === null || node.depth <= gamma)",
        "(gamma === null || node.depth >= 0)",
        (SCRIPTS,),
    ),
    Fault(
        "player: a probability just below one is shown as one",
        "assets/js/numbers.js",
        'if (p > 0.9999 && p < 1) return ">0.9999";',
        'if (p > 0.9999 && p < 1) return "1";',
        (SCRIPTS,),
    ),
    Fault(
        "player: a path that shares its prefix is counted without its root",
        "assets/js/run_cache.js",
        "leaf.depth + 1",
        "leaf.depth",
        (SCRIPTS,),
    ),
    Fault(
        "player: nodes of the same text get a row of the mask each",
        "assets/js/pass_rows.js",
        "if (rows[own]) rows[own].nodes.push(node.id);",
        "if (!rows) rows[own].nodes.push(node.id);",
        (SCRIPTS,),
    ),
    Fault(
        "player: the columns divide by the temperature twice",
        "assets/js/columns.js",
        "const power = cold ? 1 : 1 / sampling.temperature;",
        "const power = cold ? 1 : 1 / sampling.temperature ** 2;",
        (SCRIPTS,),
    ),
    Fault(
        "player: of many children those that were tried are folded away",
        "assets/js/layout.js",
        "open.has(id) || said.has(id) || id === selected",
        "open.has(id) && said.has(id) && id === selected",
        (SCRIPTS,),
    ),
    Fault(
        "player: after a found round comes the one before it",
        "assets/js/found.js",
        "rounds.filter((one) => one > round)",
        "rounds.filter((one) => one < round)",
        (SCRIPTS,),
    ),
    Fault(
        "drawing: siblings after a removed leaf keep their ranks",
        "assets/js/paths.js",
        "at === depth ? rank - 1 : rank",
        "at === depth ? rank : rank",
        (SCRIPTS,),
    ),
    Fault(
        "timeline: a drafter beside the target is drawn before its pass",
        "assets/js/timeline.js",
        "const drafter = apart ? ofLanes",
        "const drafter = false ? ofLanes",
        (SCRIPTS,),
    ),
    Fault(
        "timeline: waiting counts as drafting",
        "assets/js/timeline.js",
        "some((span) => span.lane !== IN_TURN)",
        "some((span) => span.lane === IN_TURN)",
        (SCRIPTS,),
    ),
    Fault(
        "timeline: what both did at once is what either did",
        "assets/js/timeline.js",
        "Math.min(one[a][1], other[b][1]) - Math.max(",
        "Math.max(one[a][1], other[b][1]) - Math.min(",
        (SCRIPTS,),
    ),
    Fault(
        "race: a target that waits is drawn as drafting",
        "specviz/app/race/spans.py",
        "work = PHASES[1:] if drafts_beside(rounds) else PHASES",
        "work = PHASES",
        ("tests/bench/race/test_race.py",),
    ),
)
