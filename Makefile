# `make demo` and `make test` are each the whole set-up: they build .venv, install, and run.
PYTHON ?= python3
BIN := .venv/bin

.PHONY: demo test check bench lab guide format clean

demo: .venv/ready
	$(BIN)/deciban demo --folder demo

test: .venv/ready
	$(BIN)/pytest -q -n auto

check: .venv/ready
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/pytest -q tests/docs

bench: .venv/ready
	$(BIN)/python -m benchmarks; $(BIN)/python -m benchmarks --tables

lab: .venv/ready
	$(BIN)/python -m benchmarks.lab
	$(BIN)/python -m benchmarks.lab_tables

guide: .venv/ready
	$(BIN)/python docs/guides/make_guide.py

format: .venv/ready
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

.venv/ready: pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "deciban needs Python 3.11 or newer; $(PYTHON) is $$($(PYTHON) --version). Hint: make PYTHON=python3.12 ..."; exit 1; }
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[plot,dev]'
	touch .venv/ready

clean:
	rm -rf .venv demo .mypy_cache .ruff_cache .pytest_cache .hypothesis
