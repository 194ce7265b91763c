"""Is greedy text on this device in float32 that of `transformers.generate` on it, whoever drafts?

python -m tests.gpu.equality --device cuda    one line per drafter and way of launching; exit status 1 where one differs
"""

import argparse
import sys
from collections.abc import Sequence
from dataclasses import dataclass

import torch

from specviz.live.catalog import bundled_prompts
from specviz.live.source import LiveSource, collect
from specviz.lm.place import read_spread
from specviz.protocol.choice import Choice
from specviz.protocol.runs import PromptCard, RunRequest
from specviz.resources import asset_path

DRAFTERS = ("none", "model", "eagle", "medusa", "ngram", "suffix")


@dataclass(frozen=True, slots=True)
class Compared:
    """One drafter on one device."""

    drafter: str
    device: str
    prompts: int
    tokens: int
    different: tuple[str, ...]
    """prompts whose text differs"""


def generated(prompts: Sequence[PromptCard], tokens: int, device: torch.device) -> list[list[int]]:
    """What transformers writes after each prompt."""
    from transformers import AutoModelForCausalLM, AutoTokenizer

    folder = asset_path("models", "target")
    model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).to(device).eval()
    tokenizer = AutoTokenizer.from_pretrained(folder)
    found = []
    for card in prompts:
        ids = torch.tensor([tokenizer(card.text)["input_ids"]], device=device)
        with torch.inference_mode():
            output = model.generate(
                ids, attention_mask=torch.ones_like(ids), do_sample=False, max_new_tokens=tokens, pad_token_id=0
            )
        found.append(output[0, ids.shape[1] :].tolist())
    return found


def compare(device: str, drafters: Sequence[str], prompts: int, tokens: int) -> list[Compared]:
    """Each drafter, with passes replayed and launched kernel by kernel where the device is one of CUDA."""
    cards = bundled_prompts()
    cards = cards[:: max(1, len(cards) // prompts)][:prompts]
    wanted = generated(cards, tokens, read_spread(device).device)
    source, found = LiveSource(measure=False), []
    ways = [device] if read_spread(device).device.type == "cpu" else [device, f"eager:{device}"]
    for where in ways:
        for drafter in drafters:
            different = []
            for card, text in zip(cards, wanted, strict=True):
                how = {"dtype": "float32", "device": where, "max_new_tokens": tokens, "record": False}
                request = RunRequest(card.text, drafter=Choice(drafter), **how)
                if collect(source, request).finished.output_ids != text:
                    different.append(card.id)
            found.append(Compared(drafter, where, len(cards), tokens, tuple(different)))
    return found


def main(words: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.gpu.equality", description=__doc__.splitlines()[0])
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--drafters", default=",".join(DRAFTERS))
    parser.add_argument("--prompts", type=int, default=6)
    parser.add_argument("--tokens", type=int, default=64)
    args = parser.parse_args(words)
    found = compare(args.device, args.drafters.split(","), args.prompts, args.tokens)
    for one in found:
        said = "equal" if not one.different else f"DIFFERENT after {', '.join(one.different)}"
        sys.stdout.write(f"{one.device:12} {one.drafter:8} {one.prompts} prompts, {one.tokens} tokens: {said}\n")
    return int(any(one.different for one in found))


if __name__ == "__main__":
    sys.exit(main())
