"""`python -m specviz`: the same as the `specviz` command."""

import sys

from specviz.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
