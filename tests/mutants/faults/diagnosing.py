"""Faults of the doctor: findings, the clinic's question and answer, engine flags, and reports by category."""

from tests.mutants.faults.fault import CHECK, Edits, edit

CLINIC_TAB = "tests/app/test_doctor_clinic.py"
FINDINGS = "tests/doctor/test_findings.py"
FLAGS = "tests/doctor/test_engine_flags.py"
REPORT = "tests/bench/test_speed_bench.py"

FAULTS: Edits = {
    ("specviz/doctor/findings.py", FINDINGS): {
        "doctor: drafts fail where hardly any step comes to": edit(
            "if falls[steepest] >= STEEP and ended[steepest + 1] >= MANY:", "if falls[steepest] >= STEEP:"
        )
    },
    ("specviz/bench/speed_bench.py", REPORT): {
        "report: a category's length is over its steps and not over its prompts": edit(
            "len(by_prompt), mean(by_prompt.values()), conditional",
            "len(by_prompt), sum(n * k for n, k in histogram.items()) / sum(histogram.values()), conditional",
        ),
        "report: conditional acceptance is of all steps": edit(
            "rates.append(longer / left)", "rates.append(longer / sum(histogram.values()))"
        ),
    },
    ("specviz/doctor/engine_flags.py", FLAGS): {
        "flags: SGLang verifies as many rows as there are candidates": edit(
            '--speculative-eagle-topk 1 --speculative-num-draft-tokens {gamma + 1}"',
            '--speculative-eagle-topk 1 --speculative-num-draft-tokens {gamma}"',
        ),
        "flags: engines are sent to weights that they cannot read": edit(
            'if asked.layout == "own" and asked.drafter in HEADS:',
            'if asked.layout == "own" and asked.drafter not in HEADS:',
        ),
    },
    ("specviz/doctor/advice.py", "tests/doctor/test_advice.py"): {
        "advice: what no engine has comes with nobody's flags": edit(
            "asked = asked if instead is None else _asked(instead)", "asked = _asked(best)"
        )
    },
    ("specviz/app/doctor/clinic.py", CLINIC_TAB): {
        "clinic: the page writes what a token says as HTML": edit(
            "{escape(json.dumps(text, ensure_ascii=False))}", "{json.dumps(text, ensure_ascii=False)}"
        ),
        "clinic: a stranger may ask any model": edit(
            "check_models(self._models(question), self.source.catalog(), self.limits)", "self._models(question)"
        ),
    },
    ("specviz/trace/rules/passes.py", CHECK): {
        "check: another engine's drafter may leave rows of its cache out": edit(
            "due.add(this.base_length - 1)", "due.update(range(2 * this.base_length))"
        )
    },
    ("specviz/record/cards.py", "tests/record/test_published_drafters.py"): {
        "record: a sampled Gemma assistant is written down as if it had drawn": edit(
            "if kind == GEMMA and config.do_sample:", "if kind == GEMMA and config.do_sample is None:"
        )
    },
}
