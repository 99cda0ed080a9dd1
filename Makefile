# Two commands do everything on a machine that has Python 3.11+, git and make:
#   make demo    set up .venv and watch a bug found, proved and gone
#   make test    the whole gate: lint, types, layers, laws, units, examples, docs
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
READY  := $(VENV)/.ready
export PIP_DISABLE_PIP_VERSION_CHECK = 1
# The environment form reaches pip's isolated build environments too, so hatchling is pinned as well.
export PIP_CONSTRAINT = $(CURDIR)/constraints.txt

.PHONY: demo test lint types layers unit campaign failures lab bench clean

demo: $(READY)
	$(BIN)/zerograd demo

test: lint types layers unit

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(READY)
	$(BIN)/mypy

layers: $(READY)
	$(BIN)/lint-imports

unit: $(READY)
	$(BIN)/pytest -n auto

# The laws on new random examples every time: a counterexample found here becomes a case, then a mend.
campaign: $(READY)
	HYPOTHESIS_PROFILE=campaign $(BIN)/pytest -n auto tests/laws tests/source tests/run tests/trace

# A Step that fails at 1,000 random points of random blocks.
failures: $(READY)
	ZEROGRAD_FAILURES=1000 HYPOTHESIS_PROFILE=campaign $(BIN)/pytest tests/laws/test_failures.py

lab: $(READY)
	$(BIN)/zerograd lab

bench: $(READY)
	$(BIN)/python benchmarks/startup.py

$(READY): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet -e '.[torch,lab,lsp,dev]'
	touch $@

clean:
	rm -rf $(VENV) build dist .mypy_cache .pytest_cache .ruff_cache .hypothesis .import_linter_cache
