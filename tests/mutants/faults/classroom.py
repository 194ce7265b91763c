"""Faults of what a class touches, comments on, hands in and is measured by, and of lessons in plain words."""

from tests.mutants.faults.fault import SCRIPTS, Edits, edit

EXERCISES = "tests/lessons/test_exercises.py"
LESSONS = "tests/lessons/test_faults.py"

FAULTS: Edits = {
    ("assets/js/rules/overlap.js", SCRIPTS): {
        "overlap: all of a guess is kept": edit(
            "const kept = p.map((share, at) => Math.min(share, q[at]));",
            "const kept = p.map((share, at) => Math.max(0, q[at]));",
        ),
        "overlap: what a dragged bar takes is missing in no other": edit("      WHOLE - kept,\n", "      WHOLE,\n"),
    },
    ("assets/js/panels/clocks.js", SCRIPTS): {
        "clocks: a pass over many rows is held against one row": edit("share: ratio / rows", "share: ratio")
    },
    ("assets/js/rules/hand_in.js", SCRIPTS): {
        "handed-in lines: the check is not looked at": edit(
            'if (check !== S.textHash(parts.slice(0, -1).join("|")))', 'if (check === "")'
        )
    },
    ("assets/js/rules/class_board.js", SCRIPTS): {
        "board: of a student's lines the first counts": edit(
            "        students.get(name).handed.set(task, score);\n",
            "        if (!students.get(name).handed.has(task)) students.get(name).handed.set(task, score);\n",
        ),
        "board: who took one test counts in the gain": edit(
            "handed.get(BEFORE) && handed.get(AFTER)", "handed.get(BEFORE) || handed.get(AFTER)"
        ),
        "board: a spreadsheet works out a student's name": edit(
            "/^[=+\\-@\\t\\r\\n＝＋－＠]/.test(text)", "/^[+\\-@\\t\\r\\n＝＋－＠]/.test(text)"
        ),
        "race of one's own: a student's last race counts, not the fastest": edit(
            "else if (!(races.get(name)?.ratio >= entry.ratio)) races", "else races"
        ),
    },
    ("assets/js/rules/race_line.js", SCRIPTS): {
        "race of one's own: a ratio may be more than the tokens of a pass": edit(
            "if (ratio > perPass)", "if (ratio < 0)"
        )
    },
    ("assets/js/rules/tab_sweep.js", SCRIPTS): {
        "sweep of one's own tab: every ratio is taken over the first run of plain decoding": edit(
            "timesAsFast(trace, plain.get(repeat))", "timesAsFast(trace, plain.get(0))"
        )
    },
    ("assets/js/rules/tab_race.js", SCRIPTS): {
        "race of one's own tab: a token is there before its round is over": edit(
            "[end, texts[at], token.origin]", "[0, texts[at], token.origin]"
        )
    },
    ("assets/js/page/tab_engine.js", SCRIPTS): {
        "the tab's engine: a run is heard by whoever asked for something after it": edit(
            "if (data.id !== going?.id) return;", "if (!going) return;"
        )
    },
    ("assets/js/engine/decode.js", SCRIPTS): {
        "the tab's engine: a run in int8 says float32": edit(
            "target: { ...this.target.card, dtype: this.dtype },", "target: this.target.card,"
        )
    },
    ("assets/js/player/pins.js", SCRIPTS): {
        "comments: those of one run are shown on every other": edit(
            "(runs.get(runOf(trace)) || [])", "([...runs.values()][0] || [])"
        ),
        "comments: what nobody can see is kept": edit(
            'String(text).replace(UNSEEN, " ").replace', "String(text).replace"
        ),
    },
    ("assets/js/rules/plain_words.js", SCRIPTS): {
        "plain words: what a guess does in most cases it does in few": edit(
            "Math.round(probability * 100)", "Math.round((1 - probability) * 100)"
        ),
        "plain words: guess mode asks for the target's most likely token": edit(
            '"would the big model write it, too"', '"is this the target\'s most likely token"'
        ),
    },
    ("assets/js/rules/words.js", SCRIPTS): {
        "plain words: the guess that stayed is the one that was never checked": edit(
            "if (trials.get(node.id) === false) return { at: node.id, rejected: true };",
            "if (trials.get(node.id) === false) return { at: id, rejected: true };",
        )
    },
    ("assets/js/page/rule_draft.js", SCRIPTS): {
        "links: a rule comes with negative probabilities": edit(
            "Number.isFinite(value) && value >= 0", "Number.isFinite(value)"
        ),
        "links: a rule comes with any number of guesses": edit(
            "Number.isInteger(count) && count > 0 && count < 4", "Number.isInteger(count)"
        ),
    },
    ("specviz/lessons/exercises.py", f"{EXERCISES}::test_every_lesson_has_three_exercises_as_homework"): {
        "exercises: the homework does not say of which lesson it is": edit(
            'f"{whole.title}: {_title_of(lesson)}"', "whole.title"
        )
    },
    ("specviz/lessons/lesson.py", f"{LESSONS}::test_a_fault_in_the_file_is_named"): {
        "lessons: plain words may be as long as they like": edit(
            "for text in (beat.text, beat.plain):", "for text in (beat.text,):"
        ),
        "lessons: the editor opens with a rule that nobody can read": edit(
            "        if write.rule:\n            parse(write.rule)\n", "        pass\n"
        ),
    },
}
