# One command each:
#   make app        serves the page
#   make test       the whole suite; make test-fast leaves out what is slow or needs a browser
#   make check      format, lint, types, import contracts; the scripts and their types too where `npm install` has been run
#   make generate   writes every file that follows from the code anew
#   make mutants    plants faults and shows that the suite finds each
#   make gpu        on a machine with a CUDA device: tests, equality, speed and recordings there, into gpu/ (docs/gpu.md)
#
#   PYTHON=python3.12             another interpreter, 3.11 or newer
#   TORCH_ARGS="--index-url …"    further words for the pip call that installs torch
#   PIP_ARGS="…"                  further words for every other pip call
#   PYTEST_ARGS="tests/trace -x"  a part of the suite
#   WORKERS=1                     test processes at a time; otherwise three for two cores, four at most
#   GPU_OUT=gpu GPU_ARGS="--only bench" WHEELS=folder   of make gpu
#   CHROMIUM=/path/to/chromium    the browser of the browser tests; SPECVIZ_NO_BROWSER=1 leaves them out
PYTHON ?= python3
TORCH_ARGS ?=
PIP_ARGS ?=
PYTEST_ARGS ?=
WORKERS ?= $(shell echo $$((($$(getconf _NPROCESSORS_ONLN) * 3 + 1) / 2)))
GPU_OUT ?= gpu
GPU_ARGS ?=
WHEELS ?=
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check
# Each process holds torch and a browser. Whoever is done first takes over from the others. Tests of the page wait for a
# browser and a server, so that one process per core leaves the cores idle now and then.
PARALLEL = -n $(WORKERS) --maxprocesses 4 --dist worksteal
FIND_CHROMIUM = command -v "$$CHROMIUM" || command -v chromium-headless-shell || command -v chromium || command -v chromium-browser || command -v google-chrome
export CHROMIUM
# Some containers forbid it; without it each of the suite's processes compiles every module and every test anew.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: app test test-fast check generate mutants gpu bench clean browser real
.DELETE_ON_ERROR:

app: $(VENV)/app.stamp
	$(BIN)/python app.py

test: $(VENV)/dev.stamp browser real
	@if [ -n "$$SPECVIZ_NO_BROWSER" ]; then $(BIN)/python -m pytest $(PARALLEL) -m "not browser" $(PYTEST_ARGS); \
	else CHROMIUM="$$($(FIND_CHROMIUM))" $(BIN)/python -m pytest $(PARALLEL) $(PYTEST_ARGS); fi

# For daily work: about a minute, on all cores; proofs, contracts and training are left to `make test`.
test-fast: $(VENV)/dev.stamp
	$(BIN)/python -m pytest -n auto -m "not slow and not browser" $(foreach part,proof contracts training,--ignore tests/$(part)) $(PYTEST_ARGS)

mutants: $(VENV)/dev.stamp
	$(BIN)/python -m tests.mutants

# An installed Python that has what is needed is used as it is: there may be no network, and it has the device's torch.
gpu:
	@python="$$(command -v $(PYTHON))"; \
	if ! "$$python" -c 'import torch, transformers, pytest' 2>/dev/null; then \
	  $(MAKE) $(VENV)/dev.stamp && python=$(BIN)/python || exit; fi; \
	if [ -n "$(WHEELS)" ]; then \
	  "$$python" -m pip install --quiet --no-index --no-deps --upgrade --target $(GPU_OUT)-packages $(WHEELS)/*.whl || exit; fi; \
	PYTHONPATH="$(CURDIR):$(CURDIR)/$(GPU_OUT)-packages" "$$python" -m tests.gpu --out $(GPU_OUT) $(GPU_ARGS)

generate: $(VENV)/dev.stamp
	$(BIN)/python -m tests.generate

# Gradio leaves a stub beside each of our components, torn where two processes wrote it at once; mypy is to read the code.
check: $(VENV)/dev.stamp
	find specviz -name '*.pyi' -delete
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	@if [ -d node_modules/eslint ]; then \
	  node="$$($(BIN)/python -c 'from playwright._impl._driver import compute_driver_executable as f; print(f()[0])')"; \
	  "$$node" node_modules/eslint/bin/eslint.js assets/js tests/js && \
	  "$$node" node_modules/prettier/bin/prettier.cjs --check assets/js tests/js && \
	  if [ ! -d node_modules/typescript ]; then echo "package.json names typescript: run npm install again"; exit 2; fi && \
	  "$$node" node_modules/typescript/bin/tsc; fi

bench: $(VENV)/app.stamp
	$(BIN)/specviz bench

clean:
	rm -rf $(VENV) build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .import_linter_cache

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "SpecViz needs Python 3.11 or newer, but $(PYTHON) is $$($(PYTHON) -V 2>&1); run for example 'make $(MAKECMDGOALS) PYTHON=python3.12'."; exit 2; }
	@$(PYTHON) -c 'import venv, ensurepip' || \
	  { echo "Python's venv module is missing; on Debian or Ubuntu: apt-get install python3-venv"; exit 2; }
	$(PYTHON) -m venv $(VENV)

# torch goes first and alone, so that nothing later can pull another build of it.
$(VENV)/app.stamp: requirements.txt pyproject.toml | $(VENV)/bin/python
	$(PIP) $(TORCH_ARGS) 'torch>=2.11,<2.14'
	$(PIP) $(PIP_ARGS) -r requirements.txt
	$(PIP) $(PIP_ARGS) --no-deps --editable .
	touch $@

$(VENV)/dev.stamp: $(VENV)/app.stamp
	$(PIP) $(PIP_ARGS) --editable '.[dev]'
	touch $@

# Without a network the tests marked `real` say so and are skipped.
real: $(VENV)/dev.stamp
	@$(BIN)/specviz get smollm2 || echo "The tests marked real are skipped: they need that model."

browser:
	@if [ -n "$$SPECVIZ_NO_BROWSER" ] || { $(FIND_CHROMIUM); } >/dev/null; then exit 0; fi; \
	if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
	  echo "Installing chromium for the browser tests"; \
	  export DEBIAN_FRONTEND=noninteractive; apt-get update -qq; \
	  { apt-get install -y -qq chromium-headless-shell || apt-get install -y -qq chromium; } >/dev/null; \
	else \
	  echo "The browser tests need Chromium: install it (Debian: sudo apt-get install chromium-headless-shell; macOS: brew install chromium),"; \
	  echo "point CHROMIUM at one, or leave those tests out with SPECVIZ_NO_BROWSER=1 make test."; exit 2; \
	fi
