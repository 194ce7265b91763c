"""`python -m tests.generate` writes every file that follows from the code anew; `--check` only names the stale ones.

Then it does, for methods that are new, what takes a model or minutes: a recorded run and rows of the proof's table.
"""

import argparse
import sys

from tests.generate import new_methods
from tests.generate.files import ROOT, stale


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.generate", description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; exit code 1 where a file is stale")
    args = parser.parse_args()
    found = []
    for path, text in stale():
        found.append(path)
        if not args.check:
            path.write_text(text, encoding="utf-8")
        print(f"{'stale' if args.check else 'wrote'} {path.relative_to(ROOT)}")
    if args.check:
        return 1 if found else 0
    return new_methods.record() or new_methods.prove()


if __name__ == "__main__":
    sys.exit(main())
