"""Faults of what a class touches, comments on, hands in and is measured by, and of lessons in plain words."""

from __future__ import annotations

from tests.mutants.faults.fault import SCRIPTS, Fault

EXERCISES = "tests/lessons/test_exercises.py"
LESSONS = "tests/lessons/test_faults.py"

FAULTS: tuple[Fault, ...] = (
    Fault(
        "overlap: all of a guess is kept",
        "assets/js/rules/overlap.js",
        "const kept = p.map((share, at) => Math.min(share, q[at]));",
        "const kept = p.map((share, at) => Math.max(0, q[at]));",
        (SCRIPTS,),
    ),
    Fault(
        "overlap: what a dragged bar takes is missing in no other",
        "assets/js/rules/overlap.js",
        "      WHOLE - kept,\n",
        "      WHOLE,\n",
        (SCRIPTS,),
    ),
    Fault(
        "clocks: a pass over many rows is held against one row",
        "assets/js/panels/clocks.js",
        "share: ratio / rows",
        "share: ratio",
        (SCRIPTS,),
    ),
    Fault(
        "handed-in lines: the check is not looked at",
        "assets/js/rules/hand_in.js",
        'if (check !== S.textHash(parts.slice(0, -1).join("|")))',
        'if (check === "")',
        (SCRIPTS,),
    ),
    Fault(
        "board: of a student's lines the first counts",
        "assets/js/rules/class_board.js",
        "        students.get(name).handed.set(task, score);\n",
        "        if (!students.get(name).handed.has(task)) students.get(name).handed.set(task, score);\n",
        (SCRIPTS,),
    ),
    Fault(
        "board: who took one test counts in the gain",
        "assets/js/rules/class_board.js",
        "handed.get(BEFORE) && handed.get(AFTER)",
        "handed.get(BEFORE) || handed.get(AFTER)",
        (SCRIPTS,),
    ),
    Fault(
        "board: a spreadsheet works out a student's name",
        "assets/js/rules/class_board.js",
        "/^[=+\\-@\\t\\r\\n＝＋－＠]/.test(text)",
        "/^[+\\-@\\t\\r\\n＝＋－＠]/.test(text)",
        (SCRIPTS,),
    ),
    Fault(
        "race of one's own: a ratio may be more than the tokens of a pass",
        "assets/js/rules/race_line.js",
        "if (ratio > perPass)",
        "if (ratio < 0)",
        (SCRIPTS,),
    ),
    Fault(
        "race of one's own: a student's last race counts, not the fastest",
        "assets/js/rules/class_board.js",
        "else if (!(races.get(name)?.ratio >= entry.ratio)) races",
        "else races",
        (SCRIPTS,),
    ),
    Fault(
        "sweep of one's own tab: every ratio is taken over the first run of plain decoding",
        "assets/js/rules/tab_sweep.js",
        "timesAsFast(trace, plain.get(repeat))",
        "timesAsFast(trace, plain.get(0))",
        (SCRIPTS,),
    ),
    Fault(
        "race of one's own tab: a token is there before its round is over",
        "assets/js/rules/tab_race.js",
        "[end, texts[at], token.origin]",
        "[0, texts[at], token.origin]",
        (SCRIPTS,),
    ),
    Fault(
        "the tab's engine: a run is heard by whoever asked for something after it",
        "assets/js/page/tab_engine.js",
        "if (data.id !== going?.id) return;",
        "if (!going) return;",
        (SCRIPTS,),
    ),
    Fault(
        "the tab's engine: a run in int8 says float32",
        "assets/js/engine/decode.js",
        "target: { ...this.target.card, dtype: this.dtype },",
        "target: this.target.card,",
        (SCRIPTS,),
    ),
    Fault(
        "comments: those of one run are shown on every other",
        "assets/js/player/pins.js",
        "(runs.get(runOf(trace)) || [])",
        "([...runs.values()][0] || [])",
        (SCRIPTS,),
    ),
    Fault(
        "comments: what nobody can see is kept",
        "assets/js/player/pins.js",
        'String(text).replace(UNSEEN, " ").replace',
        "String(text).replace",
        (SCRIPTS,),
    ),
    Fault(
        "plain words: what a guess does in most cases it does in few",
        "assets/js/rules/plain_words.js",
        "Math.round(probability * 100)",
        "Math.round((1 - probability) * 100)",
        (SCRIPTS,),
    ),
    Fault(
        "plain words: the guess that stayed is the one that was never checked",
        "assets/js/rules/words.js",
        "if (trials.get(node.id) === false) return { at: node.id, rejected: true };",
        "if (trials.get(node.id) === false) return { at: id, rejected: true };",
        (SCRIPTS,),
    ),
    Fault(
        "plain words: guess mode asks for the target's most likely token",
        "assets/js/rules/plain_words.js",
        '"would the big model write it, too"',
        '"is this the target\'s most likely token"',
        (SCRIPTS,),
    ),
    Fault(
        "links: a rule comes with negative probabilities",
        "assets/js/page/rule_draft.js",
        "Number.isFinite(value) && value >= 0",
        "Number.isFinite(value)",
        (SCRIPTS,),
    ),
    Fault(
        "links: a rule comes with any number of guesses",
        "assets/js/page/rule_draft.js",
        "Number.isInteger(count) && count > 0 && count < 4",
        "Number.isInteger(count)",
        (SCRIPTS,),
    ),
    Fault(
        "exercises: the homework does not say of which lesson it is",
        "specviz/lessons/exercises.py",
        'f"{whole.title}: {_title_of(lesson)}"',
        "whole.title",
        (f"{EXERCISES}::test_every_lesson_has_three_exercises_as_homework",),
    ),
    Fault(
        "lessons: plain words may be as long as they like",
        "specviz/lessons/lesson.py",
        "for text in (beat.text, beat.plain):",
        "for text in (beat.text,):",
        (f"{LESSONS}::test_a_fault_in_the_file_is_named",),
    ),
    Fault(
        "lessons: the editor opens with a rule that nobody can read",
        "specviz/lessons/lesson.py",
        "        if write.rule:\n            parse(write.rule)\n",
        "        pass\n",
        (f"{LESSONS}::test_a_fault_in_the_file_is_named",),
    ),
)
