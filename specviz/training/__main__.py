"""`python -m specviz.training`: the same options as `specviz train`, without the command line root."""

import argparse
import sys

from specviz.training.command import configure, run

if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m specviz.training", description="Train the bundled models.")
    configure(parser)
    sys.exit(run(parser.parse_args()))
