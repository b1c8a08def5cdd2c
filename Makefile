# Everything runs in .venv, made on first use from the pinned versions in constraints.txt.
PYTHON ?= python3
BIN := .venv/bin
JOBS ?= 2
PIP := $(BIN)/python -m pip --disable-pip-version-check install --quiet --constraint constraints.txt

# Old versions are warned about by new ones that they use; these warnings are not ours.
OLD := -W ignore::DeprecationWarning -W ignore::PendingDeprecationWarning -W ignore::FutureWarning

VERSION ?= 3.13
OTHER_PYTHON ?= python$(VERSION)
OTHER_TESTS ?= tests/unit

COVERED_TESTS ?= tests src
KERNEL_TESTS := $(addprefix tests/unit/test_,hashing.py kernels.py grids.py gradients.py structure.py)
FLOOR := 84 # two points below what the quick unit tests and the doctests reach by themselves

.DEFAULT_GOAL := help
.PHONY: help demo test lowest other coverage steady lint bench docs clean

help: ## list the targets
	@grep -E '^[a-z]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z]+):.*## (.*)/make \1\t\2/' | expand -t 14

demo: .venv/run.stamp ## train on Adult; print accuracies and what was spent; write model and report page to demo/
	$(BIN)/python examples/adult_demo.py

test: lint ## check style, types and import contracts, then run all tests
	$(BIN)/python -m pytest -n $(JOBS) --dist loadfile $(PYTEST_ARGS)

lowest: .venv-lowest/stamp ## run the quick unit tests on the lowest versions that pyproject.toml allows
	.venv-lowest/bin/python -m pytest -n $(JOBS) --dist loadfile -m "not slow" $(OLD) tests/unit $(PYTEST_ARGS)

other: .venv-$(VERSION)/stamp ## run the quick unit tests on another Python: make other VERSION=3.13
	.venv-$(VERSION)/bin/python -m pytest -n $(JOBS) --dist loadfile -m "not slow" $(OTHER_TESTS) $(PYTEST_ARGS)

# Coverage does not see inside of machine code, so tests of kernels run a second time without the compiler. Whole numbers
# are meant to wrap around there, of which NumPy warns and machine code does not.
coverage: .venv/dev.stamp ## measure which lines and branches of privet the tests reach; takes an hour
	rm -f .coverage .coverage.*
	$(BIN)/python -m pytest -n $(JOBS) --dist loadfile --cov --cov-report= $(COVERED_TESTS)
	NUMBA_DISABLE_JIT=1 $(BIN)/python -m pytest -n $(JOBS) --dist loadfile -W ignore::RuntimeWarning \
		--cov --cov-append --cov-report= $(KERNEL_TESTS)
	$(BIN)/coverage report --fail-under=$(FLOOR)

steady: .venv/dev.stamp ## run everything many times, in random order on a busy machine; takes hours
	bash benchmarks/steady.sh

lint: .venv/dev.stamp ## check style, types and import contracts, and look for dead code
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/vulture

bench: .venv/dev.stamp ## run the benchmarks in their quick form
	@set -e; for file in $$(grep -l -e '"--quick"' benchmarks/*.py); do \
		echo "$$file --quick"; $(BIN)/python $$file --quick; \
	done

docs: .venv/docs.stamp ## build the documentation into site/
	$(BIN)/python -m mkdocs --quiet build --strict
	@echo "open site/index.html"

clean: ## remove everything that was made, .venv included
	rm -rf .venv .venv-* .coverage .coverage.* build dist site demo .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	find src papers tests benchmarks examples -type d -name __pycache__ -prune -exec rm -rf {} +

# The build back ends come first and are used without isolation, so that they are pinned like everything else. The demo
# needs no engine and no tool for developers.
.venv/run.stamp: pyproject.toml papers/pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(None if sys.version_info >= (3, 11) else \
		"privet needs Python 3.11 or newer; give one with: make PYTHON=python3.11")'
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(PIP) hatchling editables setuptools wheel
	$(PIP) --no-build-isolation --editable '.[all]' --editable papers
	@touch $@

.venv/dev.stamp: .venv/run.stamp
	$(PIP) --no-build-isolation --editable '.[dev]'
	@touch $@

.venv/docs.stamp: .venv/dev.stamp
	$(PIP) --no-build-isolation --editable '.[docs]'
	@touch $@

# What the unit tests need, and no engine.
.venv-$(VERSION)/stamp: pyproject.toml papers/pyproject.toml constraints.txt
	test -x .venv-$(VERSION)/bin/python || $(OTHER_PYTHON) -m venv .venv-$(VERSION)
	.venv-$(VERSION)/bin/python -m pip --disable-pip-version-check install --quiet --constraint constraints.txt \
		hatchling editables setuptools wheel
	.venv-$(VERSION)/bin/python -m pip --disable-pip-version-check install --quiet --constraint constraints.txt \
		--no-build-isolation --editable '.[all]' --editable papers \
		hypothesis jsonschema onnxruntime pytest pytest-random-order pytest-xdist
	@touch $@

.venv-lowest/stamp: pyproject.toml papers/pyproject.toml constraints-lowest.txt
	test -x .venv-lowest/bin/python || $(PYTHON) -m venv .venv-lowest
	.venv-lowest/bin/python -m pip --disable-pip-version-check install --quiet --requirement constraints-lowest.txt
	.venv-lowest/bin/python -m pip --disable-pip-version-check install --quiet --no-deps --no-build-isolation \
		--editable . --editable papers
	@touch $@
