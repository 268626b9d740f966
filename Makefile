# Every target makes its own environment when there is none: Python 3.11 or newer and make are all that is needed.
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
RUN ?= runs/quickstart
JOBS ?= 2

# The newest interpreter that runs and can make an environment; PYTHON=... overrides it.
CANDIDATES := python3.13 python3.12 python3.11 python3 $(wildcard $(HOME)/.pyenv/versions/3.13.*/bin/python $(HOME)/.pyenv/versions/3.12.*/bin/python $(HOME)/.pyenv/versions/3.11.*/bin/python)
CHECK := import ensurepip, sys, venv; assert (3, 11) <= sys.version_info < (3, 14); print(f"{sys.version_info.minor:03d} {sys.executable}")
PYTHON ?= $(lastword $(shell for p in $(CANDIDATES); do $$p -c '$(CHECK)' 2>/dev/null; done | sort | tail -n 1))

.PHONY: quickstart test test-all lint bench warm-start clean

quickstart: $(READY)  ## train the small model to repair its own programs, and look at the report
	$(BIN)/murphy train configs/quickstart.yaml --training.directory $(RUN)
	$(BIN)/murphy report $(RUN)

test: lint  ## everything that must hold, in minutes
	$(BIN)/python -m pytest -n $(JOBS) -m "not slow"

test-all: lint  ## also the slow proofs
	$(BIN)/python -m pytest -n $(JOBS)

lint: $(READY)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: $(READY)  ## ratios to a reference and to the limit, measured in one run each
	for bench in tests/bench/*.py; do $(BIN)/python $$bench || exit 1; done

warm-start: $(READY)  ## make the shipped quickstart model again
	$(BIN)/python -m murphy_jax.rollout.vocabulary murphy_jax/assets/quickstart --vocab-size 1024
	rm -rf runs/warm_start runs/warm_start_repair
	$(BIN)/murphy sft configs/warm_start.yaml
	$(BIN)/murphy sft configs/warm_start_repair.yaml
	cp $(addprefix runs/warm_start_repair/model/,config.json model.safetensors) murphy_jax/assets/quickstart/

$(READY): pyproject.toml
	@test -n "$(PYTHON)" || { echo "No Python 3.11 to 3.13 with venv was found. Install one (Debian: apt-get install python3-venv) or give PYTHON=..."; exit 2; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[test]'
	touch $@

clean:
	rm -rf $(VENV) build *.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
