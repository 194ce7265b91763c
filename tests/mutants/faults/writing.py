"""Faults of the rules that students write: their language, their law, the mistakes in them, and what is handed in."""

from tests.mutants.faults.fault import SCRIPTS, Edits, edit

RULES = "tests/written_rules/test_rules.py"
TASKS = "tests/written_rules/test_tasks.py"
BROWSER = f"{RULES}::test_the_browser_gives_the_same_laws_mistakes_and_verdicts_on_tasks"
WAYS = f"{RULES}::test_a_mistake_is_recognised_in_whatever_way_it_is_written"

FAULTS: Edits = {
    ("specviz/written_rules/law.py", f"{RULES}::test_what_is_lost_is_missing_in_the_law", BROWSER): {
        "written rules: a replacement of negative weights is drawn from all the same": edit(
            "mass <= TINY or any(value < -TINY or value == math.inf for value in row)", "mass <= TINY"
        )
    },
    (
        "specviz/written_rules/law.py",
        f"{TASKS}::test_the_start_of_a_task_does_not_solve_it_and_its_solution_does",
        BROWSER,
    ): {
        "written rules: u is uniform whoever drew with it": edit(
            'if world.draw == "shared" else (0.0, 1.0)', "if False else (0.0, 1.0)"
        )
    },
    ("assets/js/rules/rule_law.js", BROWSER): {
        "written rules: the second token does not hang on the first": edit(
            "row[(place + token + 1) % row.length]", "row[place % row.length]"
        )
    },
    ("assets/js/rules/rule_verdict.js", SCRIPTS): {
        "written rules: a rule that is exact for these p and q is exact": edit(
            "!isExact(rule, { ...world, ...probe })", "!isExact(rule, world)"
        )
    },
    ("specviz/written_rules/verdict.py", WAYS): {
        "written rules: a factor on the ratio is no lenience": edit(
            "_scaled(lambda factor: factor > 1 + ROUNDING)", "_scaled(lambda factor: factor > 3)"
        )
    },
    ("assets/js/page/rule_worker.js", SCRIPTS): {
        "written rules: a slow rule is never stopped": edit(
            "timer = setTimeout(() => fail(SLOW), LIMIT);", "timer = 0;"
        )
    },
    ("assets/js/rules/plain_names.js", SCRIPTS): {
        "plain words: a label keeps a word of the field": edit('rejected: "goes",', 'rejected: "rejected",')
    },
    ("specviz/written_rules/tasks.py", f"{TASKS}::test_a_handed_in_line_carries_task_and_rule_and_shows_a_change"): {
        "handed-in rules: the checksum is not looked at": edit(
            'len(parts) == 3 and f"{zlib.crc32(body.encode()):08x}" == check', "len(parts) == 3"
        )
    },
    ("specviz/cli/commands/grade.py", f"{TASKS}::test_grade_writes_every_line_as_csv_without_formulas"): {
        "handed-in rules: a spreadsheet works out a student's name": edit(
            "writer.writerow(map(cell, cells))", "writer.writerow(cells)"
        )
    },
}
