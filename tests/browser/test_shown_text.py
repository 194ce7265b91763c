"""What the player shows of a run's text: tokens literally, hostile names as text, a chat's message, exhibits."""

import json
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.browser.test_player import SAMPLE, WALK, node, opened

pytestmark = pytest.mark.browser


@pytest.fixture
def player(page: Page, tmp_path: Path) -> Page:
    """The sample run, opened."""
    return opened(page, tmp_path, SAMPLE)


def test_the_letter_of_a_token_that_ends_its_line_stands_at_its_sign_and_the_legend_explains_it(
    page: Page, tmp_path: Path
) -> None:
    trace = json.loads(SAMPLE)
    first, second = (str(one["token"]) for one in trace["rounds"][0]["committed"]["tokens"][:2])
    trace["vocab"][first], trace["vocab"][second] = {"bytes": "Cg==", "text": "\n"}, {"bytes": "SW4=", "text": "In"}
    opened(page, tmp_path, json.dumps(trace), "#round=1&beat=7")
    line_end = page.locator(".svp-tok").first
    assert (line_end.inner_text(), line_end.get_attribute("data-letter")) == ("⏎", "A")
    assert page.locator(".svp-round").first.inner_text() == "⏎\nIn"
    expect(page.locator(".svp-treefoot .svp-legend li").first).to_have_text("acceptedA")


def test_every_token_is_shown_literally(player: Page) -> None:
    """The sample's vocabulary holds tags, template markers, a closing script, right-to-left and unseen characters."""
    vocab = json.loads(SAMPLE)["vocab"]
    for text in ("<b>", "${1+1}", "`", "{{x}}", "</script>", "&amp;"):
        assert any(entry["text"] == text for entry in vocab.values())
    player.keyboard.press("Home")
    seen = "\n".join(player.evaluate(WALK, "document.querySelector('.svp').innerText"))
    for text in ("<b>", "${1+1}", "`", "{{x}}", "</script>", "&amp;", "‹202E›", "‹200B›"):
        assert text in seen, text
    assert "\u202e" not in seen
    assert player.locator(".svp :is(script, img, iframe)").count() == 0
    assert player.locator(".svp-made b, .svp-caption b, .svp-name b, .svp-tree b").count() == 0


def test_hostile_names_and_prompts_stay_text(page: Page, tmp_path: Path) -> None:
    trace = json.loads(SAMPLE)
    evil = "</script><img src=x onerror=alert(1)><!--<script>${1+1}`{{x}}"
    trace["started"]["target"]["name"] = trace["started"]["prompt_text"] = evil
    trace["rounds"][0]["drafted"]["note"] = {evil: evil}
    opened(page, tmp_path, json.dumps(trace))
    page.keyboard.press("Home")
    expect(page.locator(".svp-badge")).to_contain_text(evil)
    expect(page.locator(".svp-prompt")).to_contain_text(evil)
    assert page.locator("img").count() == 0


def test_a_character_spread_over_tokens_appears_when_it_is_whole(page: Page, tmp_path: Path) -> None:
    trace = json.loads(SAMPLE)
    trace["vocab"]["9"]["bytes"], trace["vocab"]["10"]["bytes"] = "8J8=", "moAh"  # F0 9F | 9A 80 "!"
    opened(page, tmp_path, json.dumps(trace), "#round=1&beat=6")
    expect(page.locator(".svp-tok").nth(0)).to_have_text("⟨F0·9F⟩")
    page.keyboard.press("ArrowRight")
    expect(page.locator(".svp-tok").nth(1)).to_have_text("🚀!")


MESSAGE = "Why is <b>the</b> sky blue?"
READ = ("<|im_start|>user\n", "<|im_end|>\n<|im_start|>assistant\n")


def test_of_a_chat_the_message_is_shown_and_what_the_template_wrote_on_request(page: Page, tmp_path: Path) -> None:
    trace = json.loads(SAMPLE)
    trace["started"] |= {"chat_message": MESSAGE, "prompt_text": MESSAGE.join(READ)}
    opened(page, tmp_path, json.dumps(trace))
    prompt, fold = page.locator(".svp-prompt"), page.locator(".svp-text > .svp-link")
    for _ in range(2):
        expect(prompt).to_have_text(MESSAGE)
        expect(fold).to_have_text("show all that the model read")
        expect(fold).to_have_attribute("aria-expanded", "false")
        fold.focus()
        page.keyboard.press("Enter")
        expect(prompt).to_have_text(MESSAGE.join(READ), use_inner_text=False)
        assert prompt.locator(".svp-template").all_text_contents() == list(READ)
        expect(fold).to_have_text("show the message alone")
        expect(fold).to_have_attribute("aria-expanded", "true")
        page.keyboard.press("Enter")
    tops = [
        page.locator(part).evaluate("part => part.getClientRects()[0].top") for part in (".svp-prompt", ".svp-made")
    ]
    assert tops[0] < tops[1], "the answer begins on a line of its own"


ROW = {"label": "<i>here</i>", "tokens": [1, 2], "marks": [1], "nodes": [2, 3], "position": 1, "scores": [0.5, 0.25]}
EXHIBITS = [{"title": "<b>seen before</b>", "marked": "matched", "rows": [ROW]}]


def test_a_row_of_an_exhibit_leads_to_its_nodes_and_its_place_in_the_text(page: Page, tmp_path: Path) -> None:
    trace = json.loads(SAMPLE)
    trace["rounds"][0]["drafted"]["knew"] = EXHIBITS
    opened(page, tmp_path, json.dumps(trace), "#round=1&beat=8")
    knew = page.locator(".svp-exhibits")
    row = knew.locator(".svp-exhibit-row")
    expect(knew).to_contain_text("<b>seen before</b>")
    expect(row).to_contain_text("<i>here</i>")
    assert knew.locator("b, i").count() == 0
    expect(knew.locator("li .svp-chip.is-marked")).to_have_count(1)
    row.hover()
    assert page.locator("[data-named]").evaluate_all("all => all.map(one => one.dataset.node)") == ["2", "3"]
    row.get_by_role("button", name="2 nodes").click()
    expect(node(page, 2)).to_have_attribute("aria-selected", "true")
    row.get_by_role("button", name="token 2 of the text").click()
    ids = trace["started"]["prompt_ids"][1:3]
    texts = [trace["vocab"][str(token)]["text"] for token in ids]
    expect(page.locator("mark.svp-cited")).to_have_text("".join(texts), use_inner_text=False)
    page.keyboard.press("Shift+ArrowRight")
    expect(page.locator(".svp-cited")).to_have_count(0)
    expect(knew).to_contain_text("Nothing to show in this round.")


# --- a run that is still being computed ---
