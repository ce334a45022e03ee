# Set-up is part of every command: a fresh machine needs Python ≥ 3.11, pip and make.
PYTHON ?= python3
VENV ?= .venv
BIN = $(VENV)/bin
# one thread per test worker: two threads each on two cores would be slower
PYTEST = OMP_NUM_THREADS=1 $(BIN)/python -m pytest -q -rs

.PHONY: demo test test-all test-slurm test-browser slurm chromium test-matrix check docs speed site dist clean

demo: $(VENV)/.installed
	$(BIN)/grokscope demo

test: $(VENV)/.installed-test
	$(PYTEST) -n auto

test-all: $(VENV)/.installed-test
	$(PYTEST) -n auto -m ''

# a SLURM cluster of its own, started as ordinary processes
test-slurm: $(VENV)/.installed-test slurm
	$(PYTEST) -m slurm tests/slurm

# the tests in Chromium, which `make test` runs too where it is installed
test-browser: $(VENV)/.installed-test chromium
	$(PYTEST) tests/live/test_browser.py tests/offline tests/docs/test_site.py

# what these need from Debian; without it they are skipped with the reason
slurm:
	@tools/debian_packages.sh "munged slurmctld slurmd sbatch" slurm-wlm munge

chromium:
	@tools/debian_packages.sh chromium chromium

# the tests about bits with other instruction sets, threads, cores and versions of Python; CELLS="one 3.12" chooses some
test-matrix: $(VENV)/.installed-dev
	$(BIN)/python -m tools.test_matrix $(CELLS)

check: $(VENV)/.installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo
	$(BIN)/python -m tools.equation_index --check
	$(BIN)/python -m tools.speed_page --check
	$(BIN)/python -m tools.readme_page --check
	$(BIN)/python -m tools.forecast_page --check

docs: $(VENV)/.installed speed
	$(BIN)/grokscope claims --markdown -o docs/gallery.html > docs/claims.md
	$(BIN)/grokscope race --full --markdown > docs/race.md
	$(BIN)/python -m tools.equation_index
	$(BIN)/python -m tools.concept_pictures
	$(BIN)/python -m tools.forecast_page
	$(BIN)/python -m tools.readme_page

# docs/speed.md and its pictures from results/speed/*.json
speed: $(VENV)/.installed
	$(BIN)/python -m tools.speed_page

# the documentation, which works from disk: open site/index.html
site: $(VENV)/.installed-docs
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict

# wheel and source distribution, into dist/
dist: $(VENV)/.installed-dev
	rm -rf dist
	$(BIN)/python -m build

clean:
	rm -rf $(VENV) .venv-3.* build dist site demo runs .pytest_cache .mypy_cache .ruff_cache .hypothesis

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.installed: pyproject.toml | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --editable '.[live]'
	touch $@

$(VENV)/.installed-dev: pyproject.toml | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --editable '.[dev]'
	touch $@ $(VENV)/.installed

$(VENV)/.installed-docs: pyproject.toml | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --editable '.[docs]'
	touch $@ $(VENV)/.installed

# transformers, transformer-lens, lightning and the like: only the tests need them
$(VENV)/.installed-test: $(VENV)/.installed-dev
	$(BIN)/python -m pip install --quiet --editable '.[test]'
	touch $@
