# `make help` lists the targets. Everything a target needs is installed by `setup`, which is quiet when all is there.
PYTHON ?= python3
PROFILE ?= standard
ARGS ?=
PYTEST_ARGS ?=

VENV := .venv
BIN := $(VENV)/bin
BENCH_CACHE ?= $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/ackbench
export BENCH_CACHE
# A run starts many short-lived processes: they need not compile the same modules each.
unexport PYTHONDONTWRITEBYTECODE
export PIP_DISABLE_PIP_VERSION_CHECK := 1

# The folder of each system's default server: it is outside the checkout and may go away on its own.
DEFINITIONS := $(wildcard clusters/*/pom.xml clusters/*/server.txt)
version = $(shell sed -n -e 's:.*<$(notdir $(1)).version>\(.*\)</$(notdir $(1)).version>.*:\1:p' \
    -e 's:^[a-z-]*==\([^ ]*\).*:\1:p' $(filter $(1)/%,$(DEFINITIONS)))
HOMES := $(foreach system,$(patsubst %/,%,$(dir $(DEFINITIONS))),$(BENCH_CACHE)/$(notdir $(system))/$(call version,$(system)))

S3 := $(BENCH_CACHE)/s3proxy/$(shell sed -n 's:.*<s3proxy.version>\(.*\)</s3proxy.version>.*:\1:p' tests/s3/pom.xml)

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help setup system browser named lint test site generated bench clean lock

help: ## this list
	@sed -n 's/^\([a-z]*\):.*## /\1|/p' $(MAKEFILE_LIST) | while IFS='|' read -r name text; do \
	    printf '  make %-7s %s\n' "$$name" "$$text"; done

bench: named setup ## run a scenario: SCENARIO=acks-sweep [PROFILE=quick|standard|full] [ARGS="--web"]
	@$(BIN)/bench run "$(SCENARIO)" --profile $(PROFILE) $(ARGS)

named:
	@case "$(PROFILE)" in quick|standard|full) ;; *) echo "PROFILE is quick, standard or full, not $(PROFILE)"; exit 2;; esac
	@[ -f "$(SCENARIO)" ] || [ -n "$(wildcard scenarios/*/$(or $(SCENARIO),?).yaml)" ] || { \
	    echo "Which scenario? make bench SCENARIO=NAME, one of:"; \
	    find scenarios -name '*.yaml' | sed 's:.*/\(.*\)\.yaml:  \1:' | sort; exit 2; }

test: lint site browser $(S3) ## lint, types, import rules, the website, then all tests: [PYTEST_ARGS="..."]
	@$(BIN)/python -m bench.backends.sandbox pytest -n 3 --no-loadscope-reorder $(PYTEST_ARGS)

# At the paths of the checkout, so that the pages' links lead there too.
site: setup ## documentation and published reports as a website: build/site/index.html
	@rm -rf build/pages && mkdir -p build/pages
	@cp -r --parents *.md docs scenarios clusters/*/README.md reports/*.md reports/*.yaml reports/published build/pages
	@cp docs/zensical.toml build/
	@$(BIN)/zensical build --strict --clean --config-file build/zensical.toml >build/site.log 2>&1 \
	    || { cat build/site.log; exit 1; }

generated: setup ## write anew what is made from code: the schema of scenarios, docs/scenario-keys.md, docs/tables.md
	@mkdir -p build
	@$(BIN)/python -m bench.faults.schema >build/generated && mv build/generated scenarios/scenario.schema.json
	@$(BIN)/python -m bench.faults.schema_page >build/generated && mv build/generated docs/scenario-keys.md
	@$(BIN)/python -m bench.columns.page >build/generated && mv build/generated docs/tables.md

lint: setup ## what `test` checks before it runs any test
	@$(BIN)/ruff check --quiet .
	@$(BIN)/ruff format --check --quiet .
	@$(BIN)/mypy --no-error-summary
	@$(BIN)/lint-imports --no-logo
	@$(BIN)/deptry . --no-ansi 2>$(VENV)/deptry.log || { cat $(VENV)/deptry.log; exit 1; }

setup: $(VENV)/.servers ## system packages, .venv from the lock, the servers of all systems

system:
	@PYTHON="$(PYTHON)" sh clusters/system-packages.sh

browser:
	@PYTHON="$(PYTHON)" sh clusters/system-packages.sh tests

# An S3 server for the tests of runs in a store.
$(S3): tests/s3/pom.xml | system
	@echo "Fetching the S3 server of the tests"
	@rm -rf $@ && mvn -B -q -f $< dependency:copy-dependencies -DoutputDirectory=$@.unfinished && mv $@.unfinished $@
	@touch $@

# setuptools goes first: pyspark is published as source only and is built with the locked one, not with a newer.
$(VENV)/.packages: requirements.lock | system
	@echo "Installing the locked Python packages into $(VENV) (a minute or two the first time)"
	@[ -x $(BIN)/python ] || $(PYTHON) -m venv $(VENV)
	@sed -n '/^setuptools==/,/^ *# via/p' requirements.lock >$(VENV)/setuptools.lock
	@$(BIN)/pip install --quiet --require-hashes -r $(VENV)/setuptools.lock
	@$(BIN)/pip install --quiet --require-hashes --no-build-isolation --use-pep517 -r requirements.lock
	@touch $@

$(VENV)/.bench: pyproject.toml $(VENV)/.packages
	@$(BIN)/pip install --quiet --no-deps --no-build-isolation -e .
	@touch $@

$(VENV)/.servers: $(VENV)/.bench $(DEFINITIONS) bench/backends/artifacts.py bench/run/install.py $(HOMES)
	@$(BIN)/python -m bench.run.install
	@touch $@

# No recipe: a home that is not there counts as just changed, which is what makes .servers run.
$(HOMES):

lock: ## resolve requirements.lock anew from pyproject.toml
	@$(PYTHON) -m venv $(VENV)/uv && $(VENV)/uv/bin/pip install --quiet uv
	@$(VENV)/uv/bin/uv pip compile pyproject.toml --group dev --universal --python-version 3.11 --generate-hashes \
	    --only-binary :all: --no-binary pyspark --upgrade --custom-compile-command "make lock" --quiet -o requirements.lock

clean: ## remove .venv and everything built; runs, reports and the servers stay
	@rm -rf $(VENV) build *.egg-info .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis
	@find bench tests -name __pycache__ -prune -exec rm -rf {} +
