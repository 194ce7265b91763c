"""What stands beside a sweep's numbers: where they come from; and the files a visitor can take away.

Names in a result may come from strangers; they are escaped where they are drawn.
"""

from __future__ import annotations

from specviz.app.look.notices import SOURCES, Badge
from specviz.app.offered import offered
from specviz.app.runs.gallery import ShownSweep
from specviz.protocol.sweeps import store as sweep_store
from specviz.protocol.sweeps.definition import SweepDefinition
from specviz.protocol.sweeps.result import points_of
from specviz.protocol.sweeps.store import sweep_csv
from specviz.protocol.sweeps.toml_file import to_toml
from specviz.trace.header import ModelCard, in_role


def origin(shown: ShownSweep) -> list[Badge]:
    """Where the numbers come from, as badges."""
    result = shown.result
    about, machine, asked = result.provenance, result.provenance.machine, result.definition
    source = "live" if shown.live else "recorded"
    software = f"{machine.system}, Python {machine.python}, torch {machine.torch}, transformers {machine.transformers}"
    threads = f"{machine.threads} thread{'s' * (machine.threads != 1)}"
    badges = [
        Badge(source, "live" if shown.live else "recorded", SOURCES[source]),
        Badge(about.created[:10], "plain", f"begun {about.created}, by {about.producer}: {about.command}"),
        Badge(f"{machine.processor}, {machine.cores} cores, {threads}, {machine.dtype}", "plain", software),
        _model("target", about.target),
    ]
    if about.workers:
        machines = sorted({f"{worker.host}: {worker.machine.processor}" for worker in about.workers})
        count = f"{len(about.workers)} worker{'s' * (len(about.workers) != 1)}"
        badges.append(Badge(count, "plain", f"each prompt on one of them; machines: {'; '.join(machines)}"))
    models = {card.weights_sha256: card for card in about.drafters.values()}
    badges += [_model("drafter", card) for card in models.values()]
    kept = len({point.prompt for point in result.points})
    badges.append(
        Badge(
            f"{kept} prompt{'s' * (kept != 1)} × {asked.repeats}, {asked.max_new_tokens} tokens",
            "plain",
            f"{len(result.points)} of {result.planned_runs} runs, plain decoding among them",
        )
    )
    badges += [Badge(f"left out: {one.name}", "plain", one.reason) for one in result.absent]
    return badges


def _model(role: str, card: ModelCard) -> Badge:
    explanation = f"{card.parameters:,} parameters, {card.dtype}, sha256 {card.weights_sha256}"
    return Badge(f"{in_role(role, card.name)} {card.weights_sha256[:8]}", "plain", explanation)


def offer_results(shown: ShownSweep) -> tuple[str, str]:
    """Where `sweep.json` and `sweep.csv` lie."""
    as_csv = sweep_csv(points_of(shown.result))
    return offered("sweep.json", sweep_store.dumps(shown.result)), offered("sweep.csv", as_csv)


def offer_settings(definition: SweepDefinition) -> str:
    """Where `sweep.toml` lies, which runs the same from `specviz bench sweep` and from here."""
    return offered("sweep.toml", to_toml(definition))
