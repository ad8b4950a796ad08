PY := .venv/bin/python
SHARED ?= ../shared
XDIST ?= -n 3

.PHONY: setup run test check lint types layers bench bench-full soak screenshots lock clean
.DELETE_ON_ERROR:

setup: .venv/.stamp

# Without --no-deps an older pip looks for the newest release of a locked package that another asks for with an extra.
.venv/.stamp: requirements.lock pyproject.toml
	@echo "Setting up in .venv; the first time takes about a minute."
	test -x $(PY) || python3 -m venv .venv
	$(PY) -m pip install -q --disable-pip-version-check --no-deps -r requirements.lock
	$(PY) -m pip install -q --disable-pip-version-check --no-deps --no-build-isolation -e .
	$(PY) -m compileall -q app widgets store
	touch $@

run: setup
	@.venv/bin/shoal

test: setup
	$(PY) -m pytest $(XDIST)

lint: setup
	.venv/bin/ruff check .
	.venv/bin/ruff format --check .

types: setup
	.venv/bin/mypy

layers: setup
	.venv/bin/lint-imports --no-cache

check: lint types layers test

bench: setup
	$(PY) -m tests.benchmarks

bench-full: setup
	$(PY) -m tests.benchmarks --full

soak: setup
	SHOAL_SOAK=1 $(PY) -m pytest -m soak --timeout 3600

screenshots: setup
	$(PY) -m tests.screenshots

lock: setup
	$(PY) -m piptools compile -q --generate-hashes --allow-unsafe --no-emit-find-links --no-emit-index-url \
	  --no-emit-trusted-host --no-emit-options --strip-extras --extra dev --output-file requirements.lock pyproject.toml

clean:
	rm -rf .venv .mypy_cache .ruff_cache dist
