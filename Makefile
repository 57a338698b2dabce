# `make demo` and `make test` are each the whole set-up: they build .venv, install, and run.
PYTHON ?= python3
BIN := .venv/bin

.PHONY: demo test thorough soak check lint bench lab guide gallery format clean

demo: .venv/installed
	$(BIN)/deciban demo --folder demo

test: .venv/installed
	$(BIN)/pytest -q -n auto --dist worksteal

# Tens of thousands of strings in every way of reading, each command of the documents as a process, a real corpus.
thorough: .venv/installed
	$(BIN)/pytest -q -n auto -m thorough tests

# A mail server, its clients and the commands beside it, killed at random: `make soak ROUNDS=1000` for more rounds.
ROUNDS ?= 300
soak: .venv/ready
	DECIBAN_SOAK_ROUNDS=$(ROUNDS) $(BIN)/pytest -q tests/mail/test_soak.py

check: lint
	$(BIN)/pytest -q tests/docs

lint: .venv/installed
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

# A part that misses a target does not keep the others from being measured.
bench: .venv/peers
	$(BIN)/python -m benchmarks; $(BIN)/python -m benchmarks --tables; $(BIN)/python -m benchmarks --text; \
	$(BIN)/python -m benchmarks --judging; $(BIN)/python -m benchmarks --partner; \
	$(BIN)/python -m benchmarks --mail

lab: .venv/installed
	$(BIN)/python -m benchmarks.lab
	$(BIN)/python -m benchmarks.lab_tables
	$(BIN)/python -m benchmarks.lab_calibration
	$(BIN)/python -m benchmarks.lab_dependence
	$(BIN)/python -m benchmarks.lab_evidence
	$(BIN)/python -m benchmarks.lab_mail
	$(BIN)/python -m benchmarks.lab_mail_explanations
	$(BIN)/python -m benchmarks.lab_ng_jordan
	$(BIN)/python -m benchmarks.lab_start
	$(BIN)/python -m benchmarks.lab_text
	DECIBAN_DATA=$$($(BIN)/python -c 'from benchmarks import data; print(data.folder())') \
	  $(BIN)/python docs/guides/make_newsgroups.py

guide: .venv/installed
	$(BIN)/python docs/guides/make_guide.py

# Every picture, by the commands that docs/gallery.md shows.
gallery: .venv/installed
	$(BIN)/python docs/make_gallery.py

format: .venv/installed
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

.venv/installed: pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "deciban needs Python 3.11 or newer; $(PYTHON) is $$($(PYTHON) --version). Hint: make PYTHON=python3.12 ..."; exit 1; }
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[plot,dev]'
	touch .venv/installed

# Vowpal Wabbit, to be measured against; without it the report says so. (fastText is a package of the system.)
.venv/peers: .venv/installed
	-$(BIN)/python -m pip install --quiet --disable-pip-version-check vowpalwabbit
	touch .venv/peers

clean:
	rm -rf .venv demo build .mypy_cache .ruff_cache .pytest_cache .hypothesis
