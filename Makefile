# Two commands: `make reports` runs the notebooks into HTML, `make test` checks everything.
PYTHON ?= python3.11
SUITE  ?= sample
# Notebooks at a time. Long runs go one by one: their sweeps use every core, or every GPU.
JOBS   ?= $(if $(filter klue paper,$(SUITE)),1,2)
# Extra words for pip, e.g. PIP_ARGS="--extra-index-url …" to choose a CPU or CUDA build of torch.
PIP_ARGS ?=
BIN := .venv/bin
READY := .venv/.ready
TESTS := .venv/.tests

.PHONY: reports test lab bench clean
.DEFAULT_GOAL := reports

reports: $(READY)
	$(BIN)/nunchi run params/$(SUITE) --jobs $(JOBS)
	@echo "open reports/$(SUITE)/index.html"

test: $(TESTS)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/nbstripout --keep-id --verify notebooks/*.ipynb
	$(BIN)/python -m pytest

lab: $(READY)
	$(BIN)/jupyter lab --notebook-dir=. notebooks

bench: $(READY)
	$(BIN)/python -m tests.benchmarks

clean:
	rm -rf .venv .cache build *.egg-info .pytest_cache .ruff_cache .hypothesis reports/sample reports/smoke reports/bench reports/scratch

# The stamp is written last, so an interrupted install is done again.
$(READY): requirements.txt pyproject.toml
	@command -v $(PYTHON) >/dev/null || { echo "$(PYTHON) not found: install Python 3.11, or name one: make PYTHON=/path/to/python3.11"; exit 1; }
	@$(PYTHON) -c 'import sys; v = sys.version_info[:2]; sys.exit(0 if v == (3, 11) else "Python 3.11 is needed, %s is %d.%d: make PYTHON=python3.11" % (sys.executable, *v))'
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet $(PIP_ARGS) -r requirements.txt
	$(BIN)/python -m pip install --quiet --no-deps --editable .
	@touch $@

# The tests also need the extras that they exercise: a real Ray cluster of two workers.
$(TESTS): $(READY)
	$(BIN)/python -m pip install --quiet $(PIP_ARGS) --editable '.[ray]'
	@touch $@
