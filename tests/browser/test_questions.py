"""The chips under the player and the kind sentence about a prompt, in a real browser over a source of a test."""

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from specviz.protocol.runs import Catalog, PromptCard, RunRequest
from specviz.trace import codec
from specviz.trace.events import Step
from specviz.trace.header import Started
from tests.app.doubles import ReplaySource, catalog, sample
from tests.browser.page_server import opened, served
from tests.browser.tabs import open_tab

pytestmark = pytest.mark.browser
WORKING = PromptCard("sums-346-183", "sums", "Difference", "Two numbers.", "What is 346 minus 183?")


class SurprisedSource(ReplaySource):
    """Its target knows nothing but sums; its runs say which options they were asked with."""

    def run(self, request: RunRequest, *others: Any) -> Iterator[Step]:
        for step in super().run(request, *others):
            event = step.event
            if isinstance(event, Started):
                event = replace(event, drafter=replace(event.drafter, options=dict(request.drafter.options)))
            yield replace(step, event=event)

    def catalog(self) -> Catalog:
        return replace(catalog(), prompts=(*catalog().prompts, WORKING))

    def surprise(self, request: RunRequest) -> float | None:
        return 1.0 if "minus" in request.prompt else 6.0


def test_a_chip_runs_both_sides_of_a_question_and_a_prompt_of_the_wide_world_gets_a_kind_sentence(
    page: Page, tmp_path: Path
) -> None:
    """And prompts that work; and no box of the bar is empty."""
    run, source = sample(), SurprisedSource(sample())
    own = replace(run.started, target=replace(run.started.target, name="target"))
    codec.write(replace(run, started=own), tmp_path / "sample.json.gz")
    with served(source, tmp_path, tabs=["watch", "what-if"]) as address:
        home = opened(page, address)
        home.locator("#sv-questions").get_by_role("button", name="chain against tree").click()
        expect(home.locator("#sv-question-line")).to_contain_text("The same prompt twice")
        expect(home.locator("#sv-before")).to_contain_text(re.compile(r"before γ 3: .*now γ tree 3,2,1: ", re.DOTALL))
        expect(home.locator("#sv-run")).to_be_enabled()
        drafted = [request for request, _ in source.requests if request.record]  # others are made for their times alone
        chain, tree = drafted[-2:]
        assert (chain.prompt, chain.drafter.options["gamma"]) == (tree.prompt, 3)
        assert not chain.drafter.options.get("branching")
        assert list(tree.drafter.options["branching"]) == [3, 2, 1]
        expect(home.locator("#sv-drafter input")).to_have_value("model")
        prompt, outside = home.locator("#sv-prompt textarea"), home.locator("#sv-outside")
        expect(outside).to_be_hidden()
        before = len(source.requests)
        home.locator("#sv-questions").get_by_role("button", name="with a real model").click()
        expect(home.locator("#sv-question-line")).to_contain_text("as target model")
        assert len(source.requests) == before
        prompt.fill("Why is the sky blue?")
        home.locator("#sv-run").click()
        expect(outside).to_contain_text("unlike anything these two small models have learnt")
        assert source.requests[-1][0].prompt == "Why is the sky blue?"
        outside.get_by_role("button", name=WORKING.text).click()
        expect(prompt).to_have_value(WORKING.text)
        expect(outside).to_be_hidden()
        home.locator("#sv-run").click()
        expect(home.locator("#sv-message")).to_contain_text("20 tokens")
        expect(outside).to_be_hidden()
        boxes = home.locator(".sv-bar-row input:visible, .sv-bar-row textarea:visible")
        assert boxes.count() >= 4
        assert all(boxes.nth(place).input_value() for place in range(boxes.count()))
        open_tab(home, "What if")
        expect(home.locator("#sv-what-if-preset input")).to_have_value("choose one to fill in")
