"""The Proof tab in a real browser: the switch is flipped and the bias appears, a small test runs, at two widths."""

from collections.abc import Iterator
from dataclasses import replace

import pytest
from playwright.sync_api import Page, expect

from specviz.protocol.runs import Catalog, MethodDescription
from tests.app.doubles import ReplaySource, sample
from tests.browser.page_server import opened, served
from tests.browser.tabs import open_tab

pytestmark = pytest.mark.browser
RULES = tuple(MethodDescription(name, "", "", True, ()) for name in ("sequential", "naive"))


class Proving(ReplaySource):
    """Offers verifiers that the engine has."""

    def catalog(self) -> Catalog:
        return replace(super().catalog(), verifiers=RULES)


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    source = Proving(sample())
    source.prover()  # imports torch, which may take longer than a page is waited for
    with served(source, tmp_path_factory.mktemp("gallery"), tabs=["watch", "proof"]) as url:
        yield url


def test_the_switch_is_flipped_by_key_and_the_bias_appears_at_two_widths_and_in_a_sample(
    page: Page, address: str
) -> None:
    proof = opened(page, address)
    open_tab(proof, "Proof")
    expect(proof.locator("#sv-proof-summary")).to_contain_text("Equal to the target: 5 lines")
    proof.locator("#sv-proof-break").get_by_label("skip the residual").focus()
    proof.keyboard.press("Space")
    expect(proof.locator("#sv-proof-summary")).to_contain_text("Biased: a -0.1500, b +0.0900, c +0.0600")
    expect(proof.locator("#sv-proof-summary .sv-bias").first).to_be_visible()
    expect(proof.locator(".sv-rule .svw-verdict")).to_contain_text("Biased towards b")
    expect(proof.locator("#sv-proof-table .sv-proof-sums .sv-biased")).to_have_count(3)
    proof.set_viewport_size({"width": 390, "height": 844})
    assert proof.evaluate("document.documentElement.scrollWidth") <= 390
    lines = proof.locator(".sv-proof-lines")
    lines.focus()
    assert lines.evaluate("box => box === document.activeElement && box.scrollWidth > box.clientWidth")
    lines.evaluate("box => { box.scrollLeft = box.scrollWidth }")
    caption = lines.locator("caption").bounding_box()
    assert caption["x"] >= 0, "it stays while the table goes by"
    assert caption["x"] + caption["width"] <= 390
    proof.locator("#sv-proof-break").get_by_label("intact").check()
    expect(proof.locator("#sv-proof-summary")).to_contain_text("Equal to the target")
    expect(proof.locator("#sv-proof-summary .sv-bias")).to_have_count(0)
    proof.locator("#sv-proof-break").get_by_label("reuse the noise").check()
    expect(proof.locator("#sv-proof-summary")).to_contain_text("Biased")
    proof.locator("#sv-proof-runs input[type=number]").fill("100")
    proof.keyboard.press("Tab")
    proof.locator("#sv-proof-sample").click()
    expect(proof.locator("#sv-proof-sampled")).to_contain_text("the output follows another")
    expect(proof.locator("#sv-proof-sample")).to_be_enabled()
    proof.locator("#sv-proof-greedy").click()
    expect(proof.locator("#sv-proof-equality")).to_contain_text("✓ 20 of 20 tokens equal")
    proof.locator("#sv-proof-p input, #sv-proof-p textarea").fill("much")
    expect(proof.locator("#sv-proof-summary")).to_contain_text("must be three numbers with commas")
