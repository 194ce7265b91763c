"""In which order the suite runs on several processes: what takes long comes first, so that short tests fill the end."""

from collections.abc import Sequence


def long_first(modules: Sequence[tuple[int, str]], processes: int) -> list[int]:
    """Indices of `modules`, each (number of its tests, "browser", "slow" or ""), in the order in which to run them.

    pytest-xdist's `worksteal` gives each process a run of equal length, and who is done takes the end of another's.
    Browser tests begin the first run, as they leave a core idle now and then; slow modules begin the others.
    """
    longs = [[i for i, (_, kind) in enumerate(modules) if kind == "browser"], *([] for _ in range(processes - 1))]
    for turn, i in enumerate(i for i, (_, kind) in enumerate(modules) if kind == "slow"):
        longs[1 + turn % (processes - 1) if processes > 1 else 0].append(i)
    short = [i for i, (_, kind) in enumerate(modules) if not kind]
    room = sum(tests for tests, _ in modules) // processes
    order: list[int] = []
    for run in longs:
        filled = sum(modules[i][0] for i in run)
        order += run
        while short and filled < room:
            filled += modules[short[0]][0]
            order.append(short.pop(0))
    return order + short
