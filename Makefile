# Targets are listed by `make help`. Each of them first makes sure that .venv is there and complete.
SHELL := /bin/bash
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
INSTALL := PYTHONWARNINGS=ignore DIST_EXTRA_CONFIG=$(CURDIR)/.ci/wheels.cfg $(BIN)/python -m pip install --disable-pip-version-check
WORKERS := -n 3 --dist loadfile --no-loadscope-reorder
FAST := not spark and not kafka and not flink and not slow and not long

.DEFAULT_GOAL := help
.PHONY: help setup fmt lint test-fast test-spark test jar demo samples docs bench nightly clean

help: setup ## list the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

setup: $(STAMP) ## make .venv and install the package with its development tools

# Python's own pip may be years old and then takes twice as long; where there is no newer one, it will do.
$(BIN)/python:
	@$(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --upgrade pip || true

# What a demo needs is less than what a developer needs; pip says what it does.
$(VENV)/.runs: pyproject.toml | $(BIN)/python
	@echo "installing flinkddl into $(VENV) (PySpark is 460 MB, once)"
	@if $(BIN)/python -c 'import pip' 2>/dev/null; then $(INSTALL) --editable . \
		| grep --line-buffered -E '^ *(Collecting|Downloading|Building|Installing)'; test $${PIPESTATUS[0]} = 0; fi
	@touch $@

$(STAMP): pyproject.toml | $(BIN)/python
	@if $(BIN)/python -c 'import pip' 2>/dev/null; then $(INSTALL) --quiet --editable '.[dev]'; fi
	@touch $@

fmt: setup ## format the code
	$(BIN)/ruff check --fix --quiet flinkddl tests
	$(BIN)/ruff format flinkddl tests

lint: setup ## ruff, mypy --strict, layers
	$(BIN)/ruff check flinkddl tests
	$(BIN)/ruff format --check flinkddl tests
	$(BIN)/mypy
	$(BIN)/lint-imports

test-fast: setup ## tests without Java, under a minute
	$(BIN)/pytest -q $(WORKERS) -m "$(FAST)"

test-spark: setup ## tests that need Spark or the development broker
	$(BIN)/pytest -q $(WORKERS) -m "(spark or kafka) and not slow"

test: setup ## all tests: fast ones, then Spark, then Kafka
	$(BIN)/pytest -q $(WORKERS) --durations 20 -m "not flink and not slow"

jar: setup ## rebuild flinkddl/jvm/flinkddl-functions.jar (needs a JDK)
	$(BIN)/python -m flinkddl.jvm.build

demo: $(VENV)/.runs ## page views from Kafka to Kafka, live, about a minute
	$(BIN)/python -m samples.pageviews.demo

samples: setup ## run every script under samples/ on the development broker
	$(BIN)/python -m samples.run

docs: setup ## bring the tables of the README up to date
	$(BIN)/flinkddl support --write README.md

bench: setup ## throughput against hand-written PySpark
	$(BIN)/python -m tests.bench

nightly: setup ## everything: slow tests, comparison with a real Flink, fuzz (CASES=3000 SEED=today)
	$(BIN)/pytest -q
	for state in aggregate auto; do \
	  $(BIN)/python -m tests.fuzz --state $$state --cases $(or $(CASES),3000) --seed $(or $(SEED),$(shell date +%Y%m%d)) || exit 1; \
	done

clean: ## remove what was built, .venv included
	rm -rf $(VENV) build dist *.egg-info .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis spark-warehouse
