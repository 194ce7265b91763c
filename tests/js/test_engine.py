"""The browser's engine under node against the Python one in float32: its kernels, its tokens, its passes."""

import json
from pathlib import Path
from typing import Any

import pytest
import torch

from specviz.lm.load import LoadedModel, load
from tests.js.engine import answer
from tests.js.node import ROOT, run

ASC = ROOT / "node_modules" / "assemblyscript" / "bin" / "asc.js"
CLOSE = 1e-5
"""of probabilities"""
HOSTILE = (
    "",
    " ",
    "a  b   c \n\n  d\r\n\te \u0085 f\u00a0g\u2028h\ufeffi",
    "naïve café 東京 🐈‍⬛ ½ ٣ _x_ don't",
    "<|endoftext|>a<|pad|> <|endoftext|",
    "x" * 300 + " " * 50 + "\n" * 9,
    "\x00\x1f\x7f\u200b\u202e",
)
"""texts that a tokenizer may cut wrongly: white space of all kinds, marks, special tokens spelt out"""


def prompts() -> list[str]:
    data = json.loads((ROOT / "assets" / "prompts" / "prompts.json").read_text(encoding="utf-8"))
    return [prompt["text"] for prompt in data["prompts"]]


@pytest.fixture(scope="module")
def target() -> LoadedModel:
    return load("target", dtype="float32")


@pytest.mark.parametrize("script", ["kernels", "kernels-relaxed"])
def test_the_shipped_kernels_are_what_their_source_compiles_to(script: str, tmp_path: Path) -> None:
    if not ASC.is_file():
        pytest.skip("the compiler of the kernels is not here; run npm install")
    command = json.loads((ROOT / "package.json").read_text(encoding="utf-8"))["scripts"][script].split()
    shipped = command[command.index("--outFile") + 1]
    command[command.index("--outFile") + 1] = str(tmp_path / "kernels.wasm")
    done = run(str(ASC), *command[1:])
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "kernels.wasm").read_bytes() == (ROOT / shipped).read_bytes(), (
        f"{shipped} is not what kernels.ts compiles to; run npm run {script}."
    )


def test_every_text_has_the_token_ids_that_python_gives_it(target: LoadedModel) -> None:
    texts = [*prompts(), *HOSTILE, (ROOT / "README.md").read_text(encoding="utf-8")]
    expected = [target.tokenizer.encode(text) for text in texts]
    for text, ids, due in zip(texts, answer("ids", texts=texts), expected, strict=True):
        assert ids == due, repr(text[:80])


def test_every_token_has_the_bytes_that_python_gives_it(target: LoadedModel) -> None:
    codec = target.tokenizer
    size = codec.size + 2  # rows behind the vocabulary too
    assert answer("bytes", size=size) == [codec.token_bytes(token).hex() for token in range(size)]


def passes_over(ids: list[int]) -> list[dict[str, Any]]:
    """A prompt, a tree of six rows below its end of which one path is kept, and a chain below that."""
    n = len(ids)
    tree = {"tokens": [5, 300, 301, 302, 303, 300], "parents": [n - 1, n, n, n + 2, n + 2, n + 4]}
    return [
        {"tokens": ids, "parents": None, "keep": list(range(n))},
        {**tree, "keep": [n, n + 2, n + 4]},
        {"tokens": [17, 18], "parents": None, "keep": []},
    ]


@pytest.mark.parametrize("kernels", ["relaxed", "simd", "plain"])
@pytest.mark.parametrize("name", ["target", "drafter", "drafter-weak"])
def test_text_and_trees_have_the_probabilities_that_python_gives_them(name: str, kernels: str) -> None:
    loaded = load(name, dtype="float32")
    texts = [passes_over(loaded.tokenizer.encode(text)) for text in prompts()[: 60 if kernels == "relaxed" else 1 : 12]]
    answers = answer("logits", model=name, texts=texts, kernels=kernels)
    for passes, answered in zip(texts, answers, strict=True):
        cache = loaded.model.new_cache()
        for asked, rows in zip(passes, answered, strict=True):
            expected = loaded.model.forward(asked["tokens"], cache, asked["parents"])
            cache.keep(asked["keep"])
            assert (torch.tensor(rows).softmax(-1) - expected.softmax(-1)).abs().max() < CLOSE


def test_a_text_that_outgrows_the_context_is_refused_in_a_sentence() -> None:
    asked = {"question": "logits", "model": "drafter-weak", "texts": [passes_over([5] * 1025)]}
    done = run("tests/js/engine_answers.js", stdin=json.dumps(asked))
    assert "the text would reach 1025 tokens, but the model's context holds 1024" in done.stderr
