# `make demo` runs a debate, `make test` runs all checks; both set up what they need.
UV := $(shell command -v uv 2>/dev/null || echo .tools/bin/uv)

.PHONY: demo test types tests bench clean

demo: $(UV)
	@$(UV) run --quiet --no-dev --extra local moot debate "Cats are better than dogs" --format duel --max-rounds 2 \
		--set 'max_tokens={"debater_a": 250, "debater_b": 250}'

test: $(UV)
	$(UV) sync --quiet --all-extras
	$(UV) run --no-sync ruff check
	$(UV) run --no-sync ruff format --check
	@$(MAKE) --no-print-directory -j 2 types tests

types:
	$(UV) run --no-sync lint-imports --no-logo
	$(UV) run --no-sync mypy

tests:
	$(UV) run --no-sync pytest -n auto --dist worksteal

bench: $(UV)
	$(UV) run --quiet --all-extras python bench/run.py

.tools/bin/uv:
	python3 -m venv .tools
	.tools/bin/pip install --quiet --disable-pip-version-check uv

clean:
	rm -rf .venv .tools .mypy_cache .pytest_cache .ruff_cache
