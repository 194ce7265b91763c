"""Faults of the player's scripts."""

from tests.mutants.faults.fault import SCRIPTS, Edits, edit

FAULTS: Edits = {
    ("assets/js/rules/numbers.js", SCRIPTS): {
        "counters: what lies behind the end of the text is counted": edit(
            "return drafts(round).filter((node) => !behind.has(node.id));", "return drafts(round);"
        ),
        "player: a probability just below one is shown as one": edit(
            'if (p > 0.9999 && p < 1) return ">0.9999";', 'if (p > 0.9999 && p < 1) return "1";'
        ),
        "counters: a token left open lengthens the mean acceptance length": edit(
            "1 + (accepted - without) / spec", "1 + accepted / spec"
        ),
        "counters: rounds without a draft are in the mean acceptance length": edit(
            "1 + (accepted - without) / spec", "1 + (accepted - without) / rounds.length"
        ),
        "counters: alpha is of the rounds that are walked alone": edit(
            "walked.length === rounds.length ? trials.length : null", "trials.length"
        ),
        "counters: nodes that ride along are tested": edit(
            "filter((trial) => own.has(trial.node))", "filter((trial) => trial.node)"
        ),
        "counters: nodes that ride along are unreached": edit(
            'counted(round).filter((one) => one.fate === "unreached")',
            'round.nodes.filter((one) => one.fate === "unreached")',
        ),
        "counters: committing takes no time": edit('    ["commit", "committed"],\n', ""),
        "counters: any pass stands for a plain token": edit("time.rows === 1", "time.rows >= 1"),
        "bars: an unlisted token may have all of the rest": edit(
            "Math.min(head.rest, head.probs", "Math.max(head.rest, head.probs"
        ),
        "bars: what both have is what either has": edit(
            "both ? Math.min(row.draft, row.target)", "both ? Math.max(row.draft, row.target)"
        ),
    },
    ("assets/js/rules/gain.js", SCRIPTS): {
        "headline: a gain whose turns lie on both sides of 1 is told": edit(
            "(low <= 1 && high >= 1 && low < high) || ", ""
        )
    },
    ("assets/js/rules/sibling_rules.js", SCRIPTS): {
        "player: the probability of a path may exceed one": edit(
            "const atMostOne = (x) => Math.min(1, x);", "const atMostOne = (x) => x;"
        ),
        "player: the probability that any of K siblings passes forgets K": edit(
            "1 - (1 - beta) ** facts.siblings", "1 - (1 - beta)"
        ),
    },
    ("assets/js/rules/path_rules.js", SCRIPTS): {
        "player: the typical bar rises with the entropy": edit(
            "delta * Math.exp(-entropy)", "delta * Math.exp(entropy)"
        )
    },
    ("assets/js/rules/rejudge.js", SCRIPTS): {
        "player: judging again ignores the number of levels asked for": edit(
            "(gamma === null || node.depth <= gamma)", "(gamma === null || node.depth >= 0)"
        ),
        "judging again: rejected siblings that were not drawn are out of q too": edit(
            "gone.filter((other) => other.kind === child.kind && other.source === child.source)",
            "gone.filter((other) => other.source === child.source)",
        ),
        "judging again: rejected siblings stay in q": edit(
            "gone.filter((other) => other.kind === child.kind && other.source === child.source)", "[]"
        ),
        "judging again: a rejection is forgotten": edit("          gone.push(child);\n", ""),
        "judging again: what may be certain is accepted": edit("if (low >= 1) return", "if (high >= 1) return"),
        "judging again: what is certain needs a number": edit("if (low >= 1) return", "if (low > 1) return"),
        "judging again: accepted at equality": edit("u < low ?", "u <= low ?"),
        "judging again: untold at equality": edit("u >= high", "u > high"),
        "judging again: a rejected point mass takes all of its drafter's row": edit(
            'child.kind === "point_mass" ? null : proposal(scene, parent, child, gone),',
            "proposal(scene, parent, child, gone),",
        ),
        "judging again: q of several models is told": edit(
            'if (which === "draft" && new Set', 'if (which === "target" && new Set'
        ),
        "judging again: p after a rejection is the target's own": edit(
            "const first = scene.same && !gone.length;", "const first = scene.same;"
        ),
        "judging again: of a longest path only the first sibling is tried": edit("if (!single) return;", "return;"),
        "judging again: a probability is taken back to temperature 1 by a product": edit(
            "(low / most) ** warm", "(low / most) * warm"
        ),
    },
    ("assets/js/panels/run_cache.js", SCRIPTS): {
        "player: a path that shares its prefix is counted without its root": edit("leaf.depth + 1", "leaf.depth")
    },
    ("assets/js/panels/pass_rows.js", SCRIPTS): {
        "player: nodes of the same text get a row of the mask each": edit(
            "if (rows[own]) rows[own].nodes.push(node.id);", "if (!rows) rows[own].nodes.push(node.id);"
        )
    },
    ("assets/js/panels/columns.js", SCRIPTS): {
        "player: the columns divide by the temperature twice": edit(
            "const power = cold ? 1 : 1 / sampling.temperature;",
            "const power = cold ? 1 : 1 / sampling.temperature ** 2;",
        )
    },
    ("assets/js/rules/layout.js", SCRIPTS): {
        "player: of many children those that were tried are folded away": edit(
            "open.has(id) || said.has(id) || id === selected", "open.has(id) && said.has(id) && id === selected"
        )
    },
    ("assets/js/panels/found.js", SCRIPTS): {
        "player: after a found round comes the one before it": edit(
            "rounds.filter((one) => one > round)", "rounds.filter((one) => one < round)"
        )
    },
    ("assets/js/page/paths.js", SCRIPTS): {
        "drawing: siblings after a removed leaf keep their ranks": edit(
            "at === depth ? rank - 1 : rank", "at === depth ? rank : rank"
        )
    },
    ("assets/js/rules/timeline.js", SCRIPTS): {
        "timeline: a drafter beside the target is drawn before its pass": edit(
            "const drafter = apart ? ofLanes", "const drafter = false ? ofLanes"
        ),
        "timeline: waiting counts as drafting": edit(
            "some((span) => span.lane !== IN_TURN)", "some((span) => span.lane === IN_TURN)"
        ),
        "timeline: what both did at once is what either did": edit(
            "Math.min(one[a][1], other[b][1]) - Math.max(", "Math.max(one[a][1], other[b][1]) - Math.min("
        ),
    },
    ("specviz/app/race/view.py", "tests/bench/race/test_race.py"): {
        "race: a target that waits is drawn as drafting": edit(
            "work = PHASES[1:] if drafts_beside(rounds) else PHASES", "work = PHASES"
        )
    },
    ("assets/js/panels/counters.js", SCRIPTS): {
        "four numbers: alpha is of what was accepted, tried or not": edit(
            "S.ratio(sum.passed / sum.tested)", "S.ratio(sum.accepted / sum.tested)"
        ),
        "four numbers: alpha is the acceptance rate": edit(
            "S.ratio(sum.passed / sum.tested)", "S.ratio(sum.passed / sum.drafted)"
        ),
        "four numbers: as many rounds are left out as drafted": edit(
            "const alone = sum.passes - sum.spec;", "const alone = sum.spec;"
        ),
    },
    ("assets/js/rules/prompt_text.js", SCRIPTS): {
        "player: a chat's message is looked for in the template's last words": edit(
            "starts.findLast(ended) ?? starts.at(-1)", "starts.at(-1)"
        )
    },
}
