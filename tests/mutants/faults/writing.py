"""Faults of the rules that students write: their language, their law, the mistakes in them, and what is handed in."""

from __future__ import annotations

from tests.mutants.faults.fault import SCRIPTS, Fault

RULES = "tests/written_rules/test_rules.py"
TASKS = "tests/written_rules/test_tasks.py"
BROWSER = f"{RULES}::test_the_browser_gives_the_same_laws_mistakes_and_verdicts_on_tasks"
WAYS = f"{RULES}::test_a_mistake_is_recognised_in_whatever_way_it_is_written"

FAULTS: tuple[Fault, ...] = (
    Fault(
        "written rules: a replacement of negative weights is drawn from all the same",
        "specviz/written_rules/law.py",
        "mass <= TINY or any(value < -TINY or value == math.inf for value in row)",
        "mass <= TINY",
        (f"{RULES}::test_what_is_lost_is_missing_in_the_law", BROWSER),
    ),
    Fault(
        "written rules: u is uniform whoever drew with it",
        "specviz/written_rules/law.py",
        'if world.draw == "shared" else (0.0, 1.0)',
        "if False else (0.0, 1.0)",
        (f"{TASKS}::test_the_start_of_a_task_does_not_solve_it_and_its_solution_does", BROWSER),
    ),
    Fault(
        "written rules: the second token does not hang on the first",
        "assets/js/rules/rule_law.js",
        "row[(place + token + 1) % row.length]",
        "row[place % row.length]",
        (BROWSER,),
    ),
    Fault(
        "written rules: a rule that is exact for these p and q is exact",
        "assets/js/rules/rule_verdict.js",
        "!isExact(rule, { ...world, ...probe })",
        "!isExact(rule, world)",
        (SCRIPTS,),
    ),
    Fault(
        "written rules: a factor on the ratio is no lenience",
        "specviz/written_rules/verdict.py",
        "_scaled(lambda factor: factor > 1 + ROUNDING)",
        "_scaled(lambda factor: factor > 3)",
        (WAYS,),
    ),
    Fault(
        "written rules: a slow rule is never stopped",
        "assets/js/page/rule_worker.js",
        "timer = setTimeout(() => fail(SLOW), LIMIT);",
        "timer = 0;",
        (SCRIPTS,),
    ),
    Fault(
        "plain words: a label keeps a word of the field",
        "assets/js/rules/plain_names.js",
        'rejected: "goes",',
        'rejected: "rejected",',
        (SCRIPTS,),
    ),
    Fault(
        "handed-in rules: the checksum is not looked at",
        "specviz/written_rules/tasks.py",
        'len(parts) == 3 and f"{zlib.crc32(body.encode()):08x}" == check',
        "len(parts) == 3",
        (f"{TASKS}::test_a_handed_in_line_carries_task_and_rule_and_shows_a_change",),
    ),
    Fault(
        "handed-in rules: a spreadsheet works out a student's name",
        "specviz/cli/commands/grade.py",
        "writer.writerow(map(cell, cells))",
        "writer.writerow(cells)",
        (f"{TASKS}::test_grade_writes_every_line_as_csv_without_formulas",),
    ),
)
