# Two commands do everything on a machine that has Python 3.11+, git and make:
#   make demo    set up .venv and watch a bug found, proved and gone
#   make test    the whole gate: lint, types, layers, laws, units, examples, docs
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
READY  := $(VENV)/.ready
GATE   := $(VENV)/.gate
export PIP_DISABLE_PIP_VERSION_CHECK = 1
# The environment form reaches pip's isolated build environments too, so hatchling is pinned as well.
export PIP_CONSTRAINT = $(CURDIR)/constraints.txt

.PHONY: demo test lint types layers unit campaign laws-reader fuzz failures faults frameworks editors pages docs pictures lab bench \
	bench-check dist first-finding clean

demo: $(READY)
	$(BIN)/zerograd demo

test: lint types layers unit

lint: $(GATE)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(GATE)
	$(BIN)/mypy
	$(BIN)/mypy benchmarks/check/*.py

layers: $(GATE)
	$(BIN)/lint-imports

unit: $(GATE)
	$(BIN)/pytest -n auto --dist loadgroup -rs

# The laws on new random examples every time: a counterexample found here becomes a case, then a mend.
campaign: $(GATE)
	HYPOTHESIS_PROFILE=campaign $(BIN)/pytest -n auto tests/laws tests/source tests/run tests/trace

# What a reader of source is held to, as figures: benchmarks/results/reader.md. LAWS='metamorphic --codes ZG001' for some.
laws-reader: $(GATE)
	PYTHONPATH=tests:src OMP_NUM_THREADS=1 $(BIN)/python -m laws.reader $(LAWS)

# Ten thousand files that should not be: no crash, no file over a second, one line for each that cannot be read.
fuzz: $(GATE)
	$(BIN)/python benchmarks/check/fuzz.py

# More loops of other people's frameworks, all of them right: exit 1 if one is accused.
frameworks: $(GATE)
	for loops in benchmarks/frameworks/loops_*.py; do echo "$$loops"; $(BIN)/zerograd run --strict $$loops || exit 1; done
	for loops in accelerate transformers; do \
	  $(BIN)/torchrun --standalone --nproc-per-node 2 -m zerograd run --strict benchmarks/frameworks/loops_$$loops.py || exit 1; done

# A Step that fails: at 1,000 random operations of random blocks, at every line of engine/, at 20,000 random instants.
failures: $(GATE)
	ZEROGRAD_FAILURES=1000 HYPOTHESIS_PROFILE=campaign $(BIN)/pytest tests/laws/test_failures.py
	ZEROGRAD_STRIKES=1 ZEROGRAD_INSTANTS=10000 $(BIN)/pytest -s -n auto tests/laws/test_strikes.py

# Runs of two ranks that are killed, stopped, slowed and poisoned at 200 random points; 500 damaged checkpoints.
faults: $(GATE)
	ZEROGRAD_FAULTS=200 $(BIN)/pytest tests/laws/test_faults.py
	ZEROGRAD_DAMAGES=500 $(BIN)/pytest tests/engine/checkpoint/test_checkpoints.py -k damage

# The extension of VS Code, built, tested against the real server and packed; and Neovim, if it is here. Needs Node 20 and npm.
editors: $(GATE)
	cd editors/vscode && npm ci && npm run types && npm run build
	cd editors/vscode && ZEROGRAD=$(CURDIR)/$(BIN)/zerograd npm test
	cp LICENSE editors/vscode/LICENSE && cd editors/vscode && npm run package
	PATH=$(CURDIR)/$(BIN):$$PATH $(BIN)/python editors/neovim/try.py

# The pictures of docs/report.md, from real runs in a real browser.
pictures: $(GATE)
	$(BIN)/python benchmarks/report/pictures.py docs/pictures

# The pages and pictures that are made: docs/rules and docs/api.md from the objects, the diagram, the terminal.
pages: $(READY)
	$(BIN)/python docs/rules
	for made in api diagram terminal; do $(BIN)/python docs/making/$$made.py || exit 1; done

# build/site: open build/site/index.html. A link that leads nowhere is an error.
docs: $(GATE)
	$(BIN)/python docs/making/site.py

# Every published claim, run and measured; docs/lab is written from it.
lab: $(READY)
	$(BIN)/zerograd lab --folder build/lab --docs docs/lab

bench: $(READY)
	$(BIN)/python benchmarks/startup.py

# FACTS has cases.jsonl and repos.json, MIRRORS a git directory for each repository they name: benchmarks/check/corpus.py.
# PEERS may name other checkers: PEERS='--dslinter path/to/pylint --torchfix path/to/torchfix'.
bench-check: $(READY)
	$(BIN)/python benchmarks/check --facts $(FACTS) --mirrors $(MIRRORS) $(PEERS)

# The source archive, and the wheel that is built from it.
dist: $(GATE)
	rm -rf dist
	$(BIN)/python -m build --outdir dist .

# From pip install of that wheel, in an environment of its own, to the first finding.
first-finding: dist
	$(BIN)/python benchmarks/first_finding.py dist/*.whl

$(READY): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install -e '.[torch,lab]'
	touch $@

# Tools, a Jupyter kernel, and the frameworks whose loops are audited: the demo does not wait for them.
$(GATE): $(READY)
	$(BIN)/python -m pip install -e '.[torch,lab,lsp,dev,docs,frameworks]'
	touch $@

clean:
	rm -rf $(VENV) build dist .mypy_cache .pytest_cache .ruff_cache .hypothesis .import_linter_cache .zerograd_cache
