"""What of the When-it-pays tab follows its target: drafters and prompt families of the pair, whether its prompts are
messages, and the recorded sweep.

    pair chosen in Watch ─► its target ─┐
    target chosen here ─────────────────┴─► its pair ─► drafters · families · chat ─► recorded sweep, where one ships

A target of no pair has every drafter; the sweep that stands there stays, and says itself which models it is of. What a
visitor has measured is never put away.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import gradio as gr

from specviz.app.form.fields import families, model_choices
from specviz.app.look.events import QUEUED, QUIET, latest
from specviz.app.runs.gallery import recorded
from specviz.app.speedup.actions import OUTPUTS, SpeedupActions, Updates
from specviz.app.speedup.running import sweepable
from specviz.protocol.pairs import for_target, pair_named, pair_of
from specviz.protocol.runs import Catalog


@dataclass(frozen=True, slots=True)
class FollowActions:
    """Over the tab's own actions; `sweeps`: the folder that holds the recorded results of pairs, by their names."""

    actions: SpeedupActions
    sweeps: Path

    def targets(self) -> gr.Dropdown:
        """Those that there are by now: one may have been fetched since the page was built."""
        return gr.Dropdown(model_choices(self.actions.source.catalog().models, "target"))

    def follow(self, target: str | None) -> Updates:
        """(drafters, families, chat) as they are for the target: what is ticked, because the lists hold those of every
        pair."""
        there, pair = for_target(self.actions.catalog, target or ""), pair_of(self.actions.catalog, target or "")
        names, kinds = [method.name for method in sweepable(there)], families(there)
        chat = gr.skip() if pair is None else pair.chat
        return names, kinds, chat

    def recorded(self, target: str | None, visitor: gr.Request) -> Updates:
        """What was recorded of the target's pair; nothing changes where nothing was."""
        pair = pair_of(self.actions.catalog, target or "")
        first = pair is not None and pair == self.actions.catalog.pairs[0]
        result = None if pair is None or first else recorded(self.sweeps, pair.name)
        if not first and result is None:
            return (gr.skip(),) * len(OUTPUTS)
        key = visitor.session_hash or ""
        now = self.actions.results.pop(key, None)
        kept = now if now is not None and now.live else result
        if kept is not None:
            self.actions.results[key] = kept
        return self.actions.picture(key)


def target_of(catalog: Catalog, name: str | None) -> Any:
    """What the tab's target becomes where the pair of that name is chosen elsewhere; nothing for a target of no pair,
    which is named here by itself."""
    pair = pair_named(catalog, name or "")
    return gr.skip() if pair is None else pair.target


def wire_following(follow: FollowActions, tab: gr.Tab, fields: dict[str, Any], outputs: list[Any]) -> None:
    """`outputs`: what a sweep is shown in."""
    target = fields["target"]
    tab.select(follow.targets, None, target, **QUIET)
    followed = [fields[name] for name in ("drafters", "families", "chat")]
    target.change(follow.follow, target, followed, **latest())
    target.change(follow.recorded, target, outputs, **QUEUED)
