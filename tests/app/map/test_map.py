"""The method map: every registered method is on it, every row of it is whole, and every link resolves."""

import json
import re
from dataclasses import replace
from html import unescape

import pytest

from specviz.app.form.methods import kinds
from specviz.app.form.request import Limits, request_from
from specviz.app.map import (
    FACETS,
    NEW,
    NOTHING,
    PAGES,
    cards,
    choices,
    is_new,
    matching,
    method_page,
    methods_of,
    page_link,
    preset_link,
    recording_link,
    recordings,
    systems,
)
from specviz.app.step.filling import asked_values
from specviz.live.catalog import saved
from specviz.protocol.links import read_request
from specviz.protocol.runs import RunRequest
from specviz.resources import ROOT
from specviz.studies.study import studies

CLI_PAGE = (ROOT.parent / "docs" / "cli.md").read_text(encoding="utf-8")
PRESETS = [(one, preset) for one in systems() for preset in one.presets]
PLANNED: set[str] = set()
"""rows of the list of systems that nothing here runs yet"""


def test_every_row_of_the_list_is_on_the_map_and_what_is_planned_says_so() -> None:
    names = [one.name for one in systems()]
    assert len(names) == len(set(names)) == 35
    assert {one.name for one in systems() if one.status == "planned"} == PLANNED
    for one in systems():
        assert all(one.values(facet) and all(one.values(facet)) for facet in FACETS), one.name


def test_every_command_of_the_map_is_one() -> None:
    """`specviz A B …`: a command of the program, and its experiment, stage or study."""
    commands = [command for one in systems() for command in one.commands]
    assert len(commands) >= 3
    for command in commands:
        program, *words = command.split()
        assert program == "specviz"
        if words[0] == "study":
            assert words[1] in {study.command for study in studies()}
        else:
            assert f"specviz {' '.join(words)}" in CLI_PAGE or words[0] == "train", command


@pytest.mark.parametrize("group", ["drafter", "tree_policy", "stop_policy", "verifier"])
def test_every_registered_method_is_on_the_map(group: str) -> None:
    kind = next(one for one in kinds(saved()) if one.group == group)
    on_it = {str(methods_of(preset)[group]) for _, preset in PRESETS}
    assert {method.name for method in kind.methods} <= on_it


@pytest.mark.parametrize(("one", "preset"), PRESETS, ids=lambda value: getattr(value, "label", ""))
def test_every_preset_resolves(one: object, preset: object) -> None:
    del one
    assert preset.recording in recordings()
    assert (PAGES / f"{preset.page}.md").is_file()
    assert method_page(preset.page).startswith("#")
    chosen = re.fullmatch(r"#tab=watch&choose=([\w-]+)", preset_link(preset))
    values = {**asked_values(read_request(chosen[1])), "prompt": "one"}
    request = request_from(values, saved(), Limits())
    assert request.drafter.name == methods_of(preset)["drafter"]
    assert recording_link(preset) == f"#tab=watch&run={preset.recording}"
    assert page_link(preset) == f"#tab=map&doc={preset.page}"


def test_a_preset_on_a_verifiers_page_chooses_that_verifier() -> None:
    verifiers = {method.name for kind in kinds(saved()) if kind.group == "verifier" for method in kind.methods}
    found = {preset.page: methods_of(preset)["verifier"] for _, preset in PRESETS if preset.page in verifiers}
    assert len(found) > 8
    assert {page: verifier for page, verifier in found.items() if page != verifier} == {}


def test_what_stands_for_comparison_says_what_it_shares_and_why_it_does_not_speculate() -> None:
    compared = [one for one in systems() if one.comparison]
    assert [one.name for one in compared] == ["Prompt-in-Decoder", "Paraformer", "FastSeq", "IBDecoder"]
    shown = unescape(cards(compared, frozenset()))
    for one in compared:
        assert one.shares
        assert one.differs
        assert one.shares in shown
        assert one.differs in shown
    assert not any(one.shares or one.differs for one in systems() if not one.comparison)


def test_the_name_of_a_link_holds_the_words_that_are_seen_of_it() -> None:
    """Who speaks to the browser says what they see."""
    shown = cards(systems(), frozenset(recordings()))
    named = re.findall(r'aria-label="([^"]+)">([^<]+)</a>', shown)
    assert len(named) == 3 * len(PRESETS)
    assert [both for both in named if both[1] not in both[0]] == []


def test_every_link_on_the_page_is_one_of_these() -> None:
    shown = cards(systems(), frozenset(recordings()))
    links = [unescape(one) for one in re.findall(r'href="([^"]+)"', shown)]
    assert len(links) > 3 * len(PRESETS)
    known = {make(preset) for _, preset in PRESETS for make in (preset_link, recording_link, page_link)}
    assert all(
        link in known
        or re.fullmatch(r"https://arxiv\.org/abs/\d{4}\.\d{5}|https://arxiv\.org/abs/\d{4}\.\d{4,5}", link)
        for link in links
    )
    assert "recording</a>" not in cards(systems(), frozenset())


def test_filters_ask_for_all_facets_at_once() -> None:
    assert matching({}) == systems()
    drafts = choices("drafts")
    assert {"smaller model", "look-up", "target itself"} <= set(drafts)
    found = matching({"drafts": ["look-up"], "needs": ["memory"]})
    assert {one.name for one in found} == {"Token Recycling", "RASD, REST, prompt look-up"}
    assert matching({"drafts": ["look-up"], "needs": ["second device"]}) == ()
    assert cards((), frozenset()) == NOTHING


def test_the_systems_are_counted_by_what_they_are_here() -> None:
    running, compared = (next(one for one in systems() if one.comparison is kind) for kind in (False, True))
    assert "3 systems: 2 run here, 1 for comparison." in cards([running, running, compared], frozenset())
    assert "1 system: 1 runs here." in cards([running], frozenset())
    unfinished = replace(running, presets=(), commands=())
    assert "1 system: 1 planned." in cards([unfinished], frozenset())


def test_every_system_has_the_month_of_its_first_paper_and_those_of_the_youngest_year_are_new() -> None:
    dates = {one.name: one.date for one in systems()}
    seen = (dates["Speculative decoding"], dates["AMUSD, PEARL, SSD: drafting while verifying"])
    assert seen == ("Nov 2022", "Aug 2024")
    new = {one.name for one in systems() if is_new(one)}
    assert new == {"DFlash", "DDTree", "DSpark", "Static ensemble"}
    assert {one.name for one in matching({"year": ["2026"]})} == new
    shown = cards(systems(), frozenset())
    assert shown.count(NEW) == len(new)
    assert '<time datetime="2026-02">Feb 2026</time> · <strong class="sv-map-new">new this year</strong>' in shown


def test_a_page_of_another_name_is_not_read() -> None:
    for name in ("../cli", "", "nothing", str(ROOT)):
        assert method_page(name) == "There is no page of that name."


def test_recordings_hold_what_the_map_reads_of_them() -> None:
    assert json.dumps(methods_of(PRESETS[0][1]))
    assert set(methods_of(PRESETS[0][1])) >= {"drafter", "tree_policy", "stop_policy", "verifier", "temperature"}
    assert RunRequest(prompt="").tree_policy.name == "auto"
