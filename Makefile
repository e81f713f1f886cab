# stepformer: `make help` lists the targets. Each is one command on the tools that requirements.txt pins.
#   PYTHON=python3.12       the Python that the environment is made with (3.11 or newer)
#   CHAPTER=05_attention    one chapter instead of all, for execute and lab
#   TORCH_INDEX=<address>   take torch from this package index (README: the CPU build of torch)

PYTHON ?= python3
CHAPTER ?=
TORCH_INDEX ?=

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.NOTPARALLEL:
.DELETE_ON_ERROR:
.PHONY: help setup book serve lab execute check test test-all lint web bench clean

VENV := .venv
PY := $(VENV)/bin/python
PYTEST := $(PY) -m pytest

# A target that is stamped is set up once, and again only when the files that it depends on change.
ENVIRONMENT := $(VENV)/.ready
TOOLS := $(VENV)/.tools
PLAYER_TOOLS := web/node_modules/.ready

# One thread each: results then do not depend on the number of cores, and two test processes do not fight for them.
export OMP_NUM_THREADS ?= 1
export OPENBLAS_NUM_THREADS ?= 1
export MKL_NUM_THREADS ?= 1

# Where Python is told to keep no compiled code, pytest would compile every test again in every process.
unexport PYTHONDONTWRITEBYTECODE

help: ## list the targets
	@awk -F':.*## ' '/^[a-z-]+:.*## / {printf "  make %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: $(ENVIRONMENT) ## install everything; the only target that downloads, run by the others when it is needed
	@rm -f $(TOOLS)
	@$(MAKE) --no-print-directory $(TOOLS)

$(TOOLS): $(ENVIRONMENT) web/package-lock.json
	@if git rev-parse --git-dir >/dev/null 2>&1; then \
	  git config diff.stepformer-notebook.textconv '$(PY) scripts/notebook_text.py'; fi
	@if command -v npm >/dev/null; then $(MAKE) --no-print-directory --silent $(PLAYER_TOOLS); \
	  PYTHONPATH=scripts $(PY) bench/stock_page.py; \
	  else echo "No npm: make web and the tests that need it are off. On Debian: apt-get install nodejs npm"; fi
	@$(PY) tests/browser/chromium.py --install
	@touch $@

$(ENVIRONMENT): requirements.txt pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { \
	  echo "stepformer needs Python 3.11 or newer, and '$(PYTHON)' is $$($(PYTHON) --version 2>&1 || true)." >&2; \
	  echo "Name another one: make PYTHON=python3.12 book" >&2; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || { \
	  echo "'$(PYTHON)' lacks the module venv. On Debian or Ubuntu: apt-get install python3-venv" >&2; exit 1; }
	@echo "Setting up $(VENV) (once; a few minutes and about 1.5 GB) ..."
	@test -x $(PY) || $(PYTHON) -m venv $(VENV)
	@if [ -n "$(TORCH_INDEX)" ]; then \
	  $(PY) -m pip install --quiet --index-url "$(TORCH_INDEX)" "$$(grep '^torch==' requirements.txt)"; fi
	@$(PY) -m pip install --quiet --requirement requirements.txt
	@$(PY) -m pip install --quiet --no-deps --no-build-isolation --editable .
	@touch $@

$(PLAYER_TOOLS): web/package-lock.json
	cd web && npm ci --no-audit --no-fund --loglevel=error
	@touch $@

book: $(ENVIRONMENT) ## build the site from the stored notebook outputs and print where it is
	@$(PY) scripts/build_book.py

serve: book ## serve the built site on this computer and print the address
	@$(PY) scripts/serve.py

lab: $(ENVIRONMENT) ## open the chapters in JupyterLab, where the players talk to Python
	$(VENV)/bin/jupyter lab $(if $(CHAPTER),chapters/$(CHAPTER).ipynb,chapters)

execute: $(ENVIRONMENT) ## execute the chapters, or CHAPTER=05_attention, and store their normalised outputs
	$(PY) scripts/execute_notebooks.py $(CHAPTER)

lint: $(ENVIRONMENT) ## ruff, on all Python
	@$(PY) -m ruff check .

check: lint ## what to run before every commit: under a minute, no browser, no training
	$(PYTEST) -n 2 --dist loadfile --no-loadscope-reorder -p no:nbval --hypothesis-profile=quick --ignore tests/browser --ignore tests/notebooks -m "not slow" tests  # nbval would look at each test

test: $(TOOLS) lint book ## every test, browser and notebooks included: before every push, and in CI
	$(PYTEST) -n 2 --dist loadfile --no-loadscope-reorder --durations 25 --durations-min 10 --nbval --nbval-current-env tests chapters

test-all: $(TOOLS) lint book ## the tests repeated with other threads, seeds and processor kernels; prints a summary
	$(PY) scripts/test_all.py

web: ## rebuild the player from web/ (needs Node)
	@command -v npm >/dev/null || { echo "make web needs Node. On Debian: apt-get install nodejs npm" >&2; exit 1; }
	@$(MAKE) --no-print-directory $(PLAYER_TOOLS)
	cd web && node build.js

bench: $(TOOLS) book ## page weight, mounting time, edit latency, import time: a table, and JSON in bench/
	$(PY) bench/run.py

clean: ## remove the built site and the caches; .venv and web/node_modules stay
	rm -rf _build .pytest_cache .ruff_cache .hypothesis build src/*.egg-info
	find . -path ./$(VENV) -prune -o -path ./web/node_modules -prune -o \
	  \( -name __pycache__ -o -name .ipynb_checkpoints \) -type d -prune -exec rm -rf {} +
