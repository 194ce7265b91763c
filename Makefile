# One command each: `make app` serves the page, `make test` runs the whole suite, `make check` holds the house rules.
PYTHON ?= python3
PIP_ARGS ?=
VENV := .venv
BIN := $(VENV)/bin
CHROMIUM ?= $(shell command -v chromium || command -v chromium-browser || command -v google-chrome)

.PHONY: app test check bench clean browser
.DELETE_ON_ERROR:

app: $(VENV)/app.stamp
	$(BIN)/python app.py

test: $(VENV)/dev.stamp browser
	CHROMIUM="$$(command -v $(CHROMIUM) chromium chromium-browser google-chrome 2>/dev/null | head -n 1)" \
	  $(BIN)/python -m pytest

check: $(VENV)/dev.stamp
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: $(VENV)/app.stamp
	$(BIN)/specviz bench

clean:
	rm -rf $(VENV) build *.egg-info

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "SpecViz needs Python 3.11 or newer, but $(PYTHON) is $$($(PYTHON) -V 2>&1); run 'make $(MAKECMDGOALS) PYTHON=python3.12', say."; exit 2; }
	@$(PYTHON) -c 'import venv, ensurepip' || \
	  { echo "Python's venv module is missing; on Debian or Ubuntu: apt-get install python3-venv"; exit 2; }
	$(PYTHON) -m venv $(VENV)

# torch goes first and alone, so that nothing later can pull another build of it.
$(VENV)/app.stamp: requirements.txt pyproject.toml | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet $(PIP_ARGS) 'torch>=2.11,<2.14'
	$(BIN)/python -m pip install --quiet $(PIP_ARGS) -r requirements.txt
	$(BIN)/python -m pip install --quiet $(PIP_ARGS) --no-deps --editable .
	touch $@

$(VENV)/dev.stamp: $(VENV)/app.stamp
	$(BIN)/python -m pip install --quiet $(PIP_ARGS) --editable '.[dev]'
	touch $@

browser:
	@if [ -n "$(CHROMIUM)" ] || [ -n "$$SPECVIZ_NO_BROWSER" ]; then exit 0; fi; \
	if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
	  echo "Installing chromium for the browser tests"; \
	  DEBIAN_FRONTEND=noninteractive sh -c 'apt-get update -qq && apt-get install -y -qq chromium' >/dev/null; \
	else \
	  echo "The browser tests need Chromium: install it (Debian: sudo apt-get install chromium), or point CHROMIUM at one,"; \
	  echo "or leave those tests out with SPECVIZ_NO_BROWSER=1 make test."; exit 2; \
	fi
