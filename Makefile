# int_analyzer: the first command is `make demo`, the second `make test`.
# Needs Python 3.11 or newer and make; everything else goes into .venv.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
DEMO := pcaps/bmv2-laofan-int-md-v2.1/s4-coll.pcap pcaps/linux-ioam-spine-to-leaf
# Workers of pytest: two cores are usual where this runs. A worker that has nothing left takes half of what another one still has.
WORKERS ?= 2
PYTEST = $(BIN)/python -m pytest -n $(WORKERS) --dist worksteal
# Options of the benchmark: --quick, --full, --only …
BENCH ?=

.PHONY: help demo kernels kernels-checked test test-plain test-checked test-modes lint bench docs accuracy notebooks wheel-test clean
.DEFAULT_GOAL := help

help: ## list the targets
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 22

$(VENV)/.created:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	  || { echo "$(PYTHON) is older than 3.11: make PYTHON=/path/to/python3.11 …" >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)
	@touch $@

$(VENV)/.installed: $(VENV)/.created pyproject.toml constraints.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable .
	@touch $@

$(VENV)/.installed-dev: $(VENV)/.installed
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[dev,bench,sidecar]'
	@touch $@

demo: $(VENV)/.installed ## set up, analyse real captures, print what is congested
	@for capture in $(DEMO); do \
	  echo; echo "\$$ int-analyzer analyze $$capture"; \
	  $(BIN)/int-analyzer analyze $$capture || exit $$?; \
	done

kernels: $(VENV)/.installed-dev ## compile the kernels into the cache
	$(BIN)/int-analyzer warmup

kernels-checked: $(VENV)/.installed-dev ## … those with checked indices
	NUMBA_BOUNDSCHECK=1 $(BIN)/int-analyzer warmup

test: $(VENV)/.installed-dev ## set up if needed, run all tests, with machine code
	$(PYTEST)

test-plain: $(VENV)/.installed-dev ## the tests of kernels and what is around them as plain Python, with the coverage gate
	NUMBA_DISABLE_JIT=1 $(PYTEST) --cov --cov-report=term

test-checked: $(VENV)/.installed-dev ## the tests of machine code once more, with checked indices
	NUMBA_BOUNDSCHECK=1 $(PYTEST)

test-modes: test-plain test-checked ## both

lint: $(VENV)/.installed-dev ## ruff, its format, mypy, import contracts
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache

bench: $(VENV)/.installed-dev ## ratios against C, libpcap, tcpdump and Python readers (BENCH=--quick: two minutes)
	$(BIN)/python benchmarks/run.py $(BENCH)

docs: $(VENV)/.installed-dev ## write the generated pages of docs/
	$(BIN)/python docs/generate.py

accuracy: $(VENV)/.installed-dev ## simulate, run the labs, analyse, score: docs/accuracy.md (about an hour)
	$(BIN)/python docs/accuracy.py

notebooks: $(VENV)/.installed-dev ## run the notebooks and keep their outputs
	$(BIN)/python notebooks/execute.py --write

wheel-test: $(VENV)/.installed-dev ## build the wheel and use it from an empty folder
	rm -rf build/wheel
	$(BIN)/python -m build --wheel --outdir build/wheel/dist .
	$(PYTHON) -m venv build/wheel/venv
	build/wheel/venv/bin/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt build/wheel/dist/*.whl
	mkdir -p build/wheel/empty
	cd build/wheel/empty && ../venv/bin/int-analyzer --version && ../venv/bin/int-analyzer formats >/dev/null \
	  && ../venv/bin/python -c 'import int_analyzer; int_analyzer.analyze' \
	  && ../venv/bin/int-analyzer analyze --json "$(CURDIR)/$(firstword $(DEMO))" | ../venv/bin/python -c \
	  'import json, sys; found = json.load(sys.stdin)["findings"]; assert found, "no finding"; print("wheel: found node", found[0]["node"], "port", found[0]["port"])'

clean: ## remove everything that make made
	rm -rf $(VENV) build dist .pytest_cache .mypy_cache .ruff_cache .coverage .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
