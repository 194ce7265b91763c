"""How a Space starts, from a clean folder with its card's own requirements: `python -m tests.space KIND`.

It writes the folder of the kind, makes an environment of the card's Python with what `requirements.txt` there asks for,
starts `app.py` with the variables of a Space, and says when the page's first byte and the first run's answer came, and
what the server then holds. On ZeroGPU the GPU's lender is a stand-in on this machine that has no GPU to lend, so the
first run is refused, in a sentence. Nothing is asked of the hub: its models are left out.
"""

import argparse
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from tempfile import TemporaryDirectory

import httpx
import psutil
import torch
from gradio_client import Client

from specviz.app.page.settings import card_of, kind_of_space
from specviz.app.space import write_space
from specviz.lm.step_time import machine
from tests.browser.page_server import free_port

START_S = 600.0
ASKED = {"prompt": "def mean(values):", "drafter": "model", "max_new_tokens": 32, "api_name": "/run"}


class Lender(BaseHTTPRequestHandler):
    """What `spaces` asks: it is heard at the start, and refused a GPU."""

    def do_POST(self) -> None:
        self.send_response(200 if self.path.startswith("/startup-report") else 503)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Quiet."""


@contextmanager
def lender() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Lender)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()


def environment_of(folder: Path, place: Path, python: str) -> Path:
    """The interpreter of an environment with what the folder asks for; one that is there already is used again."""
    interpreter = place / "bin" / "python"
    if not interpreter.exists():
        subprocess.run([python, "-m", "venv", place], check=True)
        install = [interpreter, "-m", "pip", "install", "--quiet", "-r", folder / "requirements.txt"]
        subprocess.run(install, check=True)
    return interpreter


def variables(folder: Path, kind: str, lends: str) -> dict[str, str]:
    """Those of a Space, and nothing of this repository."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "SPECVIZ", "GRADIO"))}
    kept |= {"SPACE_ID": "ada/specviz", "CPU_CORES": "2", "MEMORY": "16Gi", "HF_HUB_OFFLINE": "1"}
    if kind_of_space(kind)["tier"] == "zero-gpu":
        kept |= {"SPACES_ZERO_GPU": "true", "SPACES_ZERO_DEVICE_API_URL": lends, "ACCELERATOR": "zero-a10g"}
        kept |= {"ZEROGPU_OFFLOAD_DIR": str(folder.parent / "tensors")}
    return kept


def megabytes(process: psutil.Process) -> float:
    """What it and those that it started hold in memory; what they share counts once."""
    family = [process, *process.children(recursive=True)]
    return sum(float(each.memory_full_info().pss) for each in family) / 1e6


def first_byte(url: str, process: subprocess.Popen[bytes], begun: float) -> float:
    """Seconds until the page answers. Raises SystemExit where it never does."""
    while time.monotonic() - begun < START_S and process.poll() is None:
        try:
            httpx.get(url, timeout=60).raise_for_status()
            return time.monotonic() - begun
        except httpx.HTTPError:
            time.sleep(0.05)
    raise SystemExit("the page did not answer; what it said stands above.")


def first_run(url: str) -> str:
    """What its answer begins with, or the sentence of a refusal."""
    try:
        client = Client(url, verbose=False, httpx_kwargs={"timeout": START_S})
        return repr(client.predict(**ASKED)["text"][:40])
    except Exception as error:  # the page's own sentence, whatever class the client gives it
        return str(error)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kind", choices=("zero", "cpu"))
    parser.add_argument("--python", default=f"python{card_of('zero')['python_version']}", help="makes the environment")
    parser.add_argument("--environment", type=Path, help="use this one, or make it there and keep it")
    args = parser.parse_args()
    with TemporaryDirectory() as name, lender() as lends:
        folder = write_space(args.kind, "ada/specviz", Path(name) / "space").path
        interpreter = environment_of(folder, (args.environment or Path(name) / "environment").resolve(), args.python)
        port = free_port()
        settings = {**variables(folder, args.kind, lends), "GRADIO_SERVER_PORT": str(port)}
        begun = time.monotonic()
        process = subprocess.Popen([interpreter, "app.py"], cwd=folder, env=settings, stdout=sys.stderr)
        try:
            url = f"http://127.0.0.1:{port}/"
            page_s = first_byte(url, process, begun)
            page_mb = megabytes(psutil.Process(process.pid))
            said = first_run(url)
            run_s = time.monotonic() - begun
            run_mb = megabytes(psutil.Process(process.pid))
        finally:
            process.terminate()
            process.wait(30)
    print(f"{args.kind}, on {machine(torch.device('cpu'), '').processor}:")
    print(f"first byte of the page after {page_s:.1f} s, {page_mb:.0f} MB")
    print(f"first run answered after {run_s:.1f} s, {run_mb:.0f} MB: {said}")


if __name__ == "__main__":
    main()
