"""Faults of the doctor: findings, the clinic's question and answer, engine flags, and reports by category."""

from __future__ import annotations

from tests.mutants.faults.fault import CHECK, Fault

CLINIC_TAB = "tests/app/test_doctor_clinic.py"
FINDINGS = "tests/doctor/test_findings.py"
FLAGS = "tests/doctor/test_engine_flags.py"
REPORT = "tests/bench/test_speed_bench.py"

FAULTS: tuple[Fault, ...] = (
    Fault(
        "doctor: drafts fail where hardly any step comes to",
        "specviz/doctor/findings.py",
        "if falls[steepest] >= STEEP and ended[steepest + 1] >= MANY:",
        "if falls[steepest] >= STEEP:",
        (FINDINGS,),
    ),
    Fault(
        "report: a category's length is over its steps and not over its prompts",
        "specviz/bench/speed_bench.py",
        "len(by_prompt), mean(by_prompt.values()), conditional(histogram)",
        "len(by_prompt), sum(n * k for n, k in histogram.items()) / sum(histogram.values()), conditional(histogram)",
        (REPORT,),
    ),
    Fault(
        "report: conditional acceptance is of all steps",
        "specviz/bench/speed_bench.py",
        "rates.append(longer / left)",
        "rates.append(longer / sum(histogram.values()))",
        (REPORT,),
    ),
    Fault(
        "flags: SGLang verifies as many rows as there are candidates",
        "specviz/doctor/engine_flags.py",
        '--speculative-eagle-topk 1 --speculative-num-draft-tokens {gamma + 1}"',
        '--speculative-eagle-topk 1 --speculative-num-draft-tokens {gamma}"',
        (FLAGS,),
    ),
    Fault(
        "flags: engines are sent to weights that they cannot read",
        "specviz/doctor/engine_flags.py",
        'if asked.layout == "own" and asked.drafter in HEADS:',
        'if asked.layout == "own" and asked.drafter not in HEADS:',
        (FLAGS,),
    ),
    Fault(
        "advice: what no engine has comes with nobody's flags",
        "specviz/doctor/advice.py",
        "asked = asked if instead is None else _asked(instead)",
        "asked = _asked(best)",
        ("tests/doctor/test_advice.py",),
    ),
    Fault(
        "clinic: the page writes what a token says as HTML",
        "specviz/app/doctor/clinic.py",
        "{escape(json.dumps(text, ensure_ascii=False))}",
        "{json.dumps(text, ensure_ascii=False)}",
        (CLINIC_TAB,),
    ),
    Fault(
        "clinic: a stranger may ask any model",
        "specviz/app/doctor/clinic.py",
        "check_models(self._models(question), self.source.catalog(), self.limits)",
        "self._models(question)",
        (CLINIC_TAB,),
    ),
    Fault(
        "check: another engine's drafter may leave rows of its cache out",
        "specviz/trace/rules/passes.py",
        "due.add(this.base_length - 1)",
        "due.update(range(2 * this.base_length))",
        (CHECK,),
    ),
    Fault(
        "record: a sampled Gemma assistant is written down as if it had drawn",
        "specviz/record/cards.py",
        "if kind == GEMMA and config.do_sample:",
        "if kind == GEMMA and config.do_sample is None:",
        ("tests/record/test_published_drafters.py",),
    ),
)
