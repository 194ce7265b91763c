"""How the page's events behave: small answers skip the queue, everything that computes shares one lane.

None of them is a public endpoint.
"""

from __future__ import annotations

from typing import Any

QUIET: dict[str, Any] = {"queue": False, "show_progress": "hidden", "api_visibility": "private"}
"""small answers that skip the queue"""
QUEUED: dict[str, Any] = {**QUIET, "queue": True}
"""small answers that change a `gr.State`: outside the queue Gradio tells nobody who listens for that"""
LATEST: dict[str, Any] = {**QUIET, "trigger_mode": "always_last"}
"""small answers of which only the last one matters, such as while somebody types"""
ENGINE: dict[str, Any] = {
    "concurrency_id": "engine",
    "concurrency_limit": 1,
    "show_progress": "hidden",
    "api_visibility": "private",
}
"""everything that computes: two runs at once would spoil each other's times"""
TRAINING: dict[str, Any] = {**ENGINE, "concurrency_id": "training"}
"""one training at a time, beside the engine's lane: it takes turns with runs step by step"""
READING: dict[str, Any] = {**ENGINE, "concurrency_id": "reading", "concurrency_limit": 2}
"""reads many traces: seconds of counting, beside the engine's lane"""
