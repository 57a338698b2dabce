# `make demo` and `make test` are each the whole set-up: they build .venv, install, and run.
PYTHON ?= python3
BIN := .venv/bin

# Byte code is written: the tests start hundreds of processes, and packages are installed without it, which is quicker.
export PYTHONDONTWRITEBYTECODE =

.PHONY: demo test thorough spark test-gpu test-interpreted fuzz relations soak check lint docs docs-serve bench lab guide gallery format build lock audit clean

demo: .venv/installed
	$(BIN)/deciban demo --folder demo

test: .venv/installed
	$(BIN)/pytest -q -n auto --dist worksteal

# What `make test` leaves out, each marked by hand with the reason: sessions of every document, every page of the studio in a
# browser, every lecture, kills, fuzzing for minutes, real corpora, cases that take seconds.
thorough: .venv/installed
	$(BIN)/pytest -q -n auto --dist worksteal -m thorough tests

# Mutated inputs of every kind, for so many seconds in all; findings are kept in build/fuzz. SEED=1 for other inputs.
SECONDS ?= 600
SEED ?= 0
fuzz: .venv/installed
	$(BIN)/python -m tests.fuzz --seconds $(SECONDS) --seed $(SEED)

# What must not matter changes no answer, and every surface gives the same: SEED=1 for other tables, rows and changes.
relations: .venv/installed
	$(BIN)/python -m tests.relations --seconds $(SECONDS) --seed $(SEED)
	$(BIN)/python -m tests.surfaces --seconds $(SECONDS) --seed $(SEED)

# A mail server, its clients and the commands beside it, killed at random: `make soak ROUNDS=1000` for more rounds.
ROUNDS ?= 300
soak: .venv/installed
	DECIBAN_SOAK_ROUNDS=$(ROUNDS) $(BIN)/pytest -q tests/mail/test_soak.py

check: lint
	$(BIN)/pytest -q tests/docs

lint: .venv/installed
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

# The documentation site, in build/docs, without network access; a warning is an error, and every link is followed.
docs: .venv/docs
	$(BIN)/sphinx-build -q -W --keep-going -j auto -b html -d build/doctrees docs build/docs
	$(BIN)/python docs/check_site.py build/docs

docs-serve: docs
	$(BIN)/python -m http.server --directory build/docs --bind 127.0.0.1 8000

# A part that misses a target does not keep the others from being measured.
bench: .venv/peers
	$(BIN)/python -m benchmarks; $(BIN)/python -m benchmarks --tables; $(BIN)/python -m benchmarks --text; \
	$(BIN)/python -m benchmarks --validation; $(BIN)/python -m benchmarks --linear; \
	$(BIN)/python -m benchmarks --mail; $(BIN)/python -m benchmarks --serve; $(BIN)/python -m benchmarks --scale

lab: .venv/installed
	$(BIN)/python -m benchmarks.lab
	$(BIN)/python -m benchmarks.lab_tables
	$(BIN)/python -m benchmarks.lab_peers
	$(BIN)/python -m benchmarks.lab_bounds
	$(BIN)/python -m benchmarks.lab_calibration
	$(BIN)/python -m benchmarks.lab_dependence
	$(BIN)/python -m benchmarks.lab_evidence
	$(BIN)/python -m benchmarks.lab_levels
	$(BIN)/python -m benchmarks.lab_mail
	$(BIN)/python -m benchmarks.lab_mail_explanations
	$(BIN)/python -m benchmarks.lab_ng_jordan
	$(BIN)/python -m benchmarks.lab_start
	$(BIN)/python -m benchmarks.lab_text
	DECIBAN_DATA=$$($(BIN)/python -c 'from benchmarks import data; print(data.data_folder())') \
	  $(BIN)/python docs/guides/make_newsgroups.py

guide: .venv/installed
	$(BIN)/python docs/guides/make_guide.py

# Every picture, by the commands that docs/gallery.md shows; and the page of families, score forms and commands.
gallery: .venv/installed
	$(BIN)/python docs/make_gallery.py
	$(BIN)/python docs/make_cheat_sheet.py

format: .venv/installed
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

# The versions of the lock file, by their hashes; a Python that it has no wheels for gets what pyproject.toml allows.
PIP := $(BIN)/python -m pip install --no-compile --quiet --disable-pip-version-check
LOCKED := import sys; sys.exit(not (sys.implementation.name == "cpython" and sys.version_info < (3, 15)))
.venv/installed: pyproject.toml requirements-dev.lock
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "deciban needs Python 3.11 or newer; $(PYTHON) is $$($(PYTHON) --version). Hint: make PYTHON=python3.12 ..."; exit 1; }
	$(PYTHON) -m venv .venv
	if $(BIN)/python -c '$(LOCKED)'; then $(PIP) --require-hashes --requirement requirements-dev.lock; else \
	  echo "requirements-dev.lock is for CPython 3.11 to 3.14; installing what pyproject.toml allows instead."; \
	  $(PIP) '.[plot,dev]'; fi
	$(PIP) --no-deps --no-build-isolation --editable .
	touch .venv/installed

# Tools of these three rules alone, in an environment of their own.
.venv-tools/installed: Makefile
	$(PYTHON) -m venv .venv-tools
	.venv-tools/bin/python -m pip install --quiet --disable-pip-version-check build uv pip-audit
	touch .venv-tools/installed

# A source distribution, and a wheel for every platform, in dist/.
build: .venv-tools/installed
	rm -rf dist
	.venv-tools/bin/python -m build --outdir dist

# The newest versions that pyproject.toml allows, for every platform, with hashes and without the address of an index.
lock: .venv-tools/installed
	.venv-tools/bin/uv pip compile --quiet --upgrade --universal --python-version 3.11 --generate-hashes \
	  --extra plot --extra excel --extra sql --extra onnx --extra dev --no-emit-index-url --no-header --no-annotate pyproject.toml --output-file requirements-dev.lock

# Known vulnerabilities of the locked versions; asks an advisory service on the network.
audit: .venv-tools/installed
	.venv-tools/bin/pip-audit --strict --require-hashes --disable-pip --requirement requirements-dev.lock

# Spark is large: its tests are skipped where it is missing. Java 17 is a package of the system.
.venv/spark: .venv/installed
	$(PIP) 'pyspark>=4,<5' 'moto[server]>=5'
	touch .venv/spark

spark: .venv/spark
	$(BIN)/pytest -q -m "thorough or not thorough" tests/spark

# torch is large: the tests of GPUs are skipped where it is missing. Without a GPU, Triton's interpreter runs the kernels.
.venv/gpu: .venv/installed
	$(PIP) 'torch>=2.8'
	touch .venv/gpu

test-gpu: .venv/gpu
	$(BIN)/pytest -q -m "thorough or not thorough" tests/gpu

# torch for CPUs, a fifth of the size, and Triton, whose interpreter runs the kernels. PyPI has no such build for Linux:
# pip finds it in a folder that PIP_FIND_LINKS names, or in the index of PyTorch if PIP_EXTRA_INDEX_URL does.
.venv/interpreter: .venv/installed
	$(PIP) 'torch==2.13.0+cpu' 'triton==3.6.*'
	touch .venv/interpreter

test-interpreted: .venv/interpreter
	$(BIN)/pytest -q -n auto --dist worksteal tests/gpu

# Sphinx, its theme and extensions, for the documentation site alone.
.venv/docs: .venv/installed
	$(PIP) --no-build-isolation --editable '.[docs]'
	touch .venv/docs

# Vowpal Wabbit, to be measured against; without it the report says so. (fastText is a package of the system.)
.venv/peers: .venv/installed
	-$(BIN)/python -m pip install --quiet --disable-pip-version-check vowpalwabbit
	touch .venv/peers

clean:
	rm -rf .venv .venv-tools demo build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis
