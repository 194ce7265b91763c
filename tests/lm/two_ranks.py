"""`specviz` on two processes with what torchrun tells its own, forked from one that has imported the libraries:
`python -m tests.lm.two_ranks run --tp auto …`."""

import os
import signal
import socket
import sys


def main(*arguments: str) -> int:
    import transformers.models.llama.modeling_llama  # noqa: F401 - once for both

    import specviz.live.source
    import specviz.lm.load
    from specviz.cli.main import main as specviz

    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    os.environ |= {"TORCHELASTIC_RUN_ID": "test", "WORLD_SIZE": "2", "LOCAL_WORLD_SIZE": "2"}
    os.environ |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}
    ranks = []
    for rank in ("0", "1"):
        child = os.fork()
        if child == 0:
            os.environ |= {"RANK": rank, "LOCAL_RANK": rank}
            return specviz(list(arguments))
        ranks.append(child)
    while ranks:
        child, status = os.wait()
        ranks.remove(child)
        if status != 0:
            for other in ranks:
                os.kill(other, signal.SIGKILL)
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
