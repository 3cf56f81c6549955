# `make help` lists the commands: each target with a text behind ##.

# Which Python makes .venv (3.11 to 3.14), for example: make run PYTHON=python3.12
PYTHON ?= python3
PY := .venv/bin/python
# A command beside a PostgreSQL and a Valkey of its own, in var/test, gone when it ends.
EXEC := $(PY) -m config.stack exec --
# What is deployed, and what it takes beside that to run on one machine.
RUNTIME := requirements.txt requirements-run.txt

# The tests drive the system's Chromium; Playwright is never to fetch a browser of its own.
export PLAYWRIGHT_SKIP_BROWSER_DOWNLOAD := 1
# Hundreds of processes start in a test run: without bytecode each would compile the house anew.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: run test quick quick-stop check clients pythons bench chaos day lock clean messages runtime development \
  peers chromium pgbouncer promtool python

# SMALL=1 for a machine of 1 GB: fewer processes, less for PostgreSQL, no Flower.
run: runtime ## Start everything: the product, demo people and a stand-in for FCM; SMALL=1
	@$(PY) -m config.stack run

test: chromium pgbouncer promtool development ## Run all tests, and the checks beside them
	@$(EXEC) $(PY) -m tests.checks -- $(PY) -m pytest -n 3 --dist loadfile --no-loadscope-reorder

# What a change is likely to break, on servers that stay up: what was changed since main, what
# depends on it, and ruff. IN=campaigns/audiences for what a folder or a file concerns,
# IN=tests/audiences for a folder of tests, IN=tests/test_house.py for a file or one test of it.
quick: development ## Run the tests that a change is likely to break (IN=campaigns/audiences)
	@$(PY) -m tests.quick $(IN)

quick-stop: development ## Stop the servers that `make quick` keeps up
	@$(PY) -m config.stack stop

check: development ## Check lint, types, imports, migrations, the API's schema and vulnerabilities
	@$(EXEC) $(PY) -m tests.checks

# A client in TypeScript, in Go and in Python, made of the schema; what this machine lacks is skipped.
clients: development ## Generate three clients of the API and try them
	@$(EXEC) $(PY) -m tests.clients

# Starts the product with each Python from 3.11 to 3.14 that this machine has, and requirements.txt.
pythons: development ## Start the product with each Python that this machine has
	@$(EXEC) $(PY) -m tests.pythons

# Beside its peers, in five minutes. MESSAGES=400000 for a long run of the product; SCALE=1 for how
# it grows, an hour in all; BENCH="--only soak --minutes 5" for some of that.
bench: peers ## Measure a message beside other ways to send; SCALE=1, MESSAGES=…, BENCH="…"
	@$(PY) -m bench $(if $(SCALE),scale) $(if $(MESSAGES),--messages $(MESSAGES)) $(BENCH)

# Every fault, against real processes and servers of its own, then 500 stories of 50 steps each by the
# state machine. CHAOS="--only F3 F21" for some of the faults alone.
chaos: development ## Play every fault against real processes; CHAOS="--only F3 F21"
	@$(PY) -m tests.chaos $(CHAOS)
ifndef CHAOS
	@PROFILE=full $(EXEC) $(PY) -m pytest -q tests/engine/test_machine.py tests/api/test_crowd.py
endif

# A day and a half of campaigns in thirty time zones, under a clock of its own, in a quarter of an hour:
# who gets what when, held against what was foreseen. DAY="--people 10000" for fewer than 100,000.
day: development ## Play a day of campaigns and compare it with its forecast; DAY="--people 10000"
	@$(PY) -m tests.day $(DAY)

# Developers only: resolve requirements*.in again (needs uv). Each file keeps to the versions of those
# before it, as one .venv holds several.
LOCK := uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-header \
  --no-emit-index-url
lock: ## Resolve requirements*.in again (needs uv)
	$(LOCK) requirements.in -o requirements.txt
	$(LOCK) -c requirements.txt requirements-run.in -o requirements-run.txt
	$(LOCK) -c requirements.txt -c requirements-run.txt requirements-dev.in -o requirements-dev.txt
	$(LOCK) -c requirements.txt -c requirements-run.txt -c requirements-dev.txt requirements-bench.in \
	  -o requirements-bench.txt
	$(LOCK) tests/clients/python/requirements.in -o tests/clients/python/requirements.txt

# Developers only: gather what the pages say into locale/, and compile it (needs GNU gettext).
# What is new stands there untranslated, or as a guess marked “fuzzy”: translate it, and repeat.
messages: development ## Collect the words of the pages for translation (needs GNU gettext)
	@$(EXEC) $(PY) manage.py makemessages --locale ko --no-wrap --no-obsolete --add-location file \
	  --ignore tests --ignore bench --ignore emulator --ignore var --ignore docs
	@$(EXEC) $(PY) manage.py compilemessages --locale ko --ignore .venv

# Everything that can be made again. var/ (the data) stays.
clean: ## Remove what can be made again; the data in var/ stay
	[ ! -x $(PY) ] || $(PY) -m config.stack stop
	rm -rf .venv .mypy_cache .pytest_cache .ruff_cache .import_linter_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

runtime: python
	@$(PYTHON) config/stack/bootstrap.py $(RUNTIME)

development: python
	@$(PYTHON) config/stack/bootstrap.py $(RUNTIME) requirements-dev.txt

# What Carillon is measured beside, on top of the runtime; only the benchmark needs it.
peers: python
	@$(PYTHON) config/stack/bootstrap.py $(RUNTIME) requirements-bench.txt

python:
	@command -v $(PYTHON) >/dev/null || { \
	  echo "carillon: $(PYTHON) is not installed. On Debian and Ubuntu, as root:"; \
	  echo "          apt-get install python3 python3-venv"; exit 1; } >&2

chromium:
	@{ command -v chromium && command -v chromium-headless-shell; } >/dev/null || \
	  { [ "$$(id -u)" = 0 ] && apt-get update -qq && apt-get install -y -qq \
	  --no-install-recommends chromium chromium-headless-shell; } || \
	  command -v chromium >/dev/null || { \
	  echo "carillon: the tests drive Chromium, and there is none. As root:"; \
	  echo "          apt-get install chromium chromium-headless-shell"; exit 1; } >&2

# The tests that need one of these are skipped without, and say so.
pgbouncer:
	@command -v pgbouncer >/dev/null || [ "$$(id -u)" != 0 ] || \
	  { apt-get update -qq && apt-get install -y -qq --no-install-recommends pgbouncer; } || true

promtool:
	@command -v promtool >/dev/null || [ "$$(id -u)" != 0 ] || \
	  { apt-get update -qq && apt-get install -y -qq --no-install-recommends prometheus; } || true

.PHONY: help
help: ## List the commands
	@awk -F ' *## ' '/^[a-z]+:.* ## / { sub(/:.*/, "", $$1); printf "  make %-10s %s\n", $$1, $$2 }' \
	  $(MAKEFILE_LIST)
