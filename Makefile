# `make reports` runs the notebooks into HTML, `make test` checks everything, `make check` the fast part of it.
PYTHON ?= python3.11
SUITE  ?= sample
# Notebooks at a time. On GPUs they go one by one: their sweeps use every GPU.
JOBS   ?= $(if $(filter small-gpu paper,$(SUITE)),1,2)
# Extra words for pip, e.g. PIP_ARGS="--extra-index-url …" to choose a CPU or CUDA build of torch.
PIP_ARGS ?=
# Keep compiled modules, whatever the shell says: every kernel and worker would compile the package anew.
unexport PYTHONDONTWRITEBYTECODE
BIN := .venv/bin
READY := .venv/.ready
DEV := .venv/.dev
# A file's tests stay together, because they share fixtures. Four workers on two cores, where tests wait: for a
# kernel, a browser, a cluster.
PYTEST := $(BIN)/python -m pytest --dist loadfile

# Of `make fuzz`, `make soak` and `make mutants`. RECORD=1, of `make coverage` too: put what they find into
# reports/recorded/proof, from where `make readme` takes it.
MINUTES ?= 10
ROUNDS  ?= 30
MUTANTS ?= 25
ONLY    ?=
RECORD  ?=
RECORDED := $(if $(RECORD),--record)

.PHONY: reports pages readme test check lint coverage durations lab bench fuzz soak mutants lock clean
.DEFAULT_GOAL := reports

reports: $(READY)
	$(BIN)/nunchi run params/$(SUITE) --jobs $(JOBS)
	@echo "open reports/$(SUITE)/index.html"

# The sample suite in both languages, as .github/workflows/pages.yml publishes it: reports/pages/{en,ko}/sample.
pages: $(READY)
	rm -rf reports/pages
	mkdir -p reports/pages/en reports/pages/ko
	cp -r reports/sample reports/pages/en/
	cp -r reports/sample reports/pages/ko/
	$(BIN)/nunchi render params/sample --out reports/pages/ko --language ko
	printf '<!DOCTYPE html><title>Nunchi</title><a href="en/sample/index.html">English</a> <a href="ko/sample/index.html" lang="ko">한국어</a>\n' > reports/pages/index.html

# Record what reports/sample and reports/klue found, and make README's tables from it.
readme: $(READY)
	$(BIN)/nunchi readme

test: lint
	$(PYTEST) -n 4

# The same tests, half as fast: which branches of helpers/ no test takes.
coverage: $(DEV)
	$(PYTEST) -n 2 --cov --cov-report= || { $(BIN)/python -m tests.proof; exit 1; }
	$(BIN)/python -m tests.proof $(RECORDED)

# The tests that take under half a second each. Those that take longer are listed in tests/durations.json.
check: lint
	$(PYTEST) -n 2 --fast

lint: $(DEV)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/nbstripout --keep-id --verify notebooks/*.ipynb
	$(BIN)/lint-imports
	$(BIN)/mypy

# Run it on an idle machine: a test that takes over half a second there leaves `make check`.
durations: $(DEV)
	$(PYTEST) -n 2 --record-durations

lab: $(READY)
	$(BIN)/jupyter lab --notebook-dir=. notebooks

# RECORD=1, on an idle machine: later runs are held to the ratios of this one.
bench: $(DEV)
	$(BIN)/python -m tests.benchmarks $(if $(RECORD),--record)

# Hostile files for every reader; what breaks one is saved below reports/fuzz.
fuzz: $(DEV)
	$(BIN)/python -m tests.fuzz --minutes $(MINUTES) $(RECORDED)

# The smoke suite with kills, full disks and a second suite beside it, against an undisturbed run.
soak: $(DEV)
	$(BIN)/python -m tests.soak --rounds $(ROUNDS) --only "$(ONLY)" $(RECORDED)

# Change single lines of the modules that numbers rest on: do their tests notice? MUTANTS=0 takes every change.
mutants: $(DEV)
	$(BIN)/python .ci/mutants.py --sample $(MUTANTS) --only "$(ONLY)" $(RECORDED)

# Take the newest versions that pyproject.toml allows. Run `make test` and `make reports` before committing them.
lock: | .venv
	$(BIN)/python .ci/lock.py $(PIP_ARGS)

clean:
	rm -rf .venv .cache build *.egg-info .pytest_cache .ruff_cache .mypy_cache .import_linter_cache .hypothesis .coverage reports/sample reports/smoke reports/bench reports/scratch reports/pages reports/fuzz reports/soak.json

.venv:
	@command -v $(PYTHON) >/dev/null || { echo "$(PYTHON) not found: install Python 3.11, or name one: make PYTHON=/path/to/python3.11"; exit 1; }
	@$(PYTHON) -c 'import sys; v = sys.version_info[:2]; sys.exit(0 if (3, 11) <= v <= (3, 13) else "Python 3.11 to 3.13 is needed, %s is %d.%d: make PYTHON=python3.11" % (sys.executable, *v))'
	$(PYTHON) -m venv .venv

# What reports need, then what tests add, both at the versions of the lock. The stamps are written last, so an
# interrupted install is done again.
$(READY): requirements.txt pyproject.toml | .venv
	$(BIN)/python -m pip install --quiet $(PIP_ARGS) --constraint requirements.txt --editable .
	@touch $@

$(DEV): $(READY)
	$(BIN)/python -m pip install --quiet $(PIP_ARGS) --constraint requirements.txt --editable '.[dev]'
	@touch $@
