"""What cannot be is refused in a sentence before a model is loaded, by whichever command it is asked of."""

import shlex
from typing import Any

import pytest

from specviz.bench.profile import measure as profiling
from specviz.cli.commands import race
from specviz.cli.sources import SharedModels
from specviz.studies.styles import measure as styles
from tests.cli.conftest import Call

REFUSED = {
    "run": [
        ("", "there is no prompt; give --prompt"),
        ("--prompt-id median", "there is no prompt 'median' in the set"),
        ("--prompt-file nowhere.txt", "cannot read 'nowhere.txt'"),
        ("--prompt x --round 2", "--round and --force-token need --resume"),
        ("--prompt x --trace t.txt", "ending in .json or .json.gz"),
        ("--prompt x --trace nowhere/t.json", "there is no folder 'nowhere'"),
        ("--prompt x --temperature warm", "invalid float value: 'warm'"),
        ("--prompt x --prompt-id mean", "not allowed with argument --prompt"),
        ("--prompt x --drafter model --gamma 99", "--gamma is 99, but must be between 1 and 64"),
    ],
    "race": [
        ("--prompt x --drafters nobody", "there is no drafter 'nobody'"),
        ("--prompt x --drafters none@2", "'none' has no speculation length"),
        ("--prompt x --drafters model@two", "as in model@4"),
        ("--prompt x --drafters ''", "0 drafters were chosen"),
        ("--prompt x --out race.txt", "--out is 'race.txt'"),
        ("", "there is no prompt"),
    ],
    "replay tests/golden/trace-1.0-sample.json": [
        ("--graph t.json", "--graph writes one round's tree; add --round N."),
        ("--round 0 --graph t.png", "--graph is 't.png', but must end in .graphml or .json."),
        ("--round -1", "rounds 0 to 7"),
        ("--round 8", "rounds 0 to 7"),
    ],
    "simulate": [
        ("--alpha 1.5", "alpha is 1.5"),
        ("--tree 3,x", "--tree is '3,x'"),
        ("--rates ''", "no acceptance rate is given"),
        ("--batch 4", "name one with --curve"),
        ("--curve nowhere", "--curve is 'nowhere', which is no file and none of: cpu-2-core-amd-epyc, "),
        ("--replay x.json", "say which with --curve"),
        ("--replay x.json --curve y --gamma 4", "keeps the run's own rounds"),
    ],
    "profile": [("--rows x", "--rows is 'x'"), ("--threads 0", "--threads is 0"), ("--out no/x.json", "folder")],
    "predict": [("--seconds nan", "--seconds is nan, but must be a number above 0"), ("--prompts 0", "--prompts is 0")],
    "get": [("llama", "there is no model 'llama' to get; choose smollm2.")],
    "doctor tests/golden/trace-1.0-sample.json": [
        ("--cost-ratio -1", "--cost-ratio is -1, but must be a number of at least 0."),
        (
            "--clock tests/golden/trace-1.0-sample.json",
            "trace-1.0-sample.json: the JSON is nested deeper than 4 levels; a curve",
        ),
    ],
    "bench asynchronous": [
        ("--lanes lanes.txt", "lanes.txt: a file of lanes is written to a name ending in .json"),
        ("--lanes nowhere/lanes.json", "lanes.json: there is no folder 'nowhere'"),
        ("--prompt-id nobody", "there is no prompt 'nobody' in the set"),
        ("--slow -1", "--slow is -1 ms"),
    ],
    "bench": [("--max-minutes 0", "0 minutes are no time to measure in"), ("--max-minutes x", "minutes value: 'x'")],
    "bench sweep nowhere.toml": [("--max-minutes nan", "nan minutes are no time to measure in")],
    "bench batch": [
        ("--batch 1,two", "--batch is '1,two', but must be numbers like 1,2,4,8,16"),
        ("--batch 0,2", "--batch is '0,2', but must be different numbers of at least 1"),
        ("--batch 2,2", "--batch is '2,2', but must be different numbers"),
        ("--batch ''", "--batch is '', but must be different numbers"),
        ("--batch 512", "512 texts are asked for, but there are 1 to "),
        ("--gamma 33", "gamma is 33, but must"),
        ("--branching '3;x'", "--branching is 'x', but must be numbers like 3,2,1"),
        ("--branching 99", "branching"),
        ("--gamma '' --branching ''", "there is nothing to compare with plain decoding"),
        ("--gamma 2 --branching 1,1", "there is nothing to compare with plain decoding; give different"),
        ("--families cooking", "there is no prompt family 'cooking'; known: code, "),
        ("--texts 0", "0 texts are asked for"),
        ("--batch 1,3 --texts 4", "4 texts do not fill batches of 3"),
        ("--temperature -1", "temperature is -1"),
        ("--repeats 0", "--repeats is 0, but must be at least 1"),
        ("--result batch.txt", "batch.txt: a file of batches is written to a name ending in .json"),
        ("--write nowhere.md", "nowhere.md has no place for the tables"),
    ],
    "study styles": [
        ("--kinds sums,poems", "--kinds has 'poems', but there are: sums, problems"),
        ("--asked message", "--asked has 'message', but there are: words, tag"),
        ("--kinds ''", "--kinds is '', but must name different ones"),
        ("--drafters model,model", "--drafters is 'model,model', but must name different ones"),
        ("--drafters none", "--drafters is 'none', but must name different ones, none of them plain decoding"),
        ("--drafters eagel", "eagel"),
        ("--questions 0", "--questions is 0, but must be at least 1"),
        ("--max-minutes -1", "-1 minutes are no time to measure in"),
        ("--result styles.txt", "styles.txt: a file of styles is written to a name ending in .json"),
        ("--write nowhere.md", "nowhere.md has no place for the tables"),
        ("--tables nowhere.json", "nowhere.json"),
    ],
}
"""command → further words, and part of the sentence"""


@pytest.mark.parametrize(
    ("words", "sentence"), [(f"{command} {words}", said) for command in REFUSED for words, said in REFUSED[command]]
)
def test_what_cannot_be_is_refused_before_anything_runs(
    specviz: Call, played: Any, monkeypatch: pytest.MonkeyPatch, words: str, sentence: str
) -> None:
    monkeypatch.setattr(race, "live_source", lambda: played)
    for home, what in ((SharedModels, "__call__"), (profiling, "profile"), (styles, "compare")):
        monkeypatch.setattr(home, what, lambda *_, **__: pytest.fail("something ran"))
    result = specviz(*shlex.split(words))
    assert (result.code, result.out, played.requests) == (2, "", [])
    said = [line for line in result.err.splitlines() if " is now `specviz study " not in line]
    assert len(said) == 1
    assert sentence in said[0]
