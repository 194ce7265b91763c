"""`specviz site`: write a static site with the player and every recording, for any host or none.

Place in the flow: hands the shipped recordings, sweeps and lessons to `specviz.app.site`.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("out", metavar="OUT", type=Path, help="folder to write: new, empty, or an earlier site")
    parser.add_argument("--traces", type=Path, metavar="DIR", help="recordings to show (default: those that ship)")
    parser.add_argument("--sweeps", type=Path, metavar="DIR", help="sweeps to chart (default: those that ship)")
    parser.add_argument(
        "--engine",
        action="store_true",
        help="carry the bundled models, so that visitors run them in their own browsers",
    )


def run(args: argparse.Namespace) -> int:
    from specviz.app.learn import lessons_of
    from specviz.app.runs.gallery import gallery
    from specviz.app.site import write_site
    from specviz.resources import ROOT

    shown = gallery(args.traces or ROOT / "traces")
    files = write_site(args.out, shown, args.sweeps or ROOT / "sweeps", json.loads(lessons_of(shown)), args.engine)
    size = sum(path.stat().st_size for path in files)
    print(f"wrote {len(files)} files, {size / 1e6:.1f} MB; open {args.out / 'index.html'}")
    return 0
