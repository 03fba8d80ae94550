# Everything a newcomer needs: `make demo`, then `make test`.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
export PATH := $(CURDIR)/$(BIN):$(PATH)

.PHONY: help setup setup-dev lock demo serve smoke synthetic long slurm test test-all golden equivalent check check-cuda gpu format report-partial clean \
	fuzz audit-packages sbom certify docs

help:
	@echo "make demo            set up, then the demo study: real text in, report out (minutes, no GPU)"
	@echo "make serve           after make demo: a page that translates with its models (RUNS=folders: with others)"
	@echo "make smoke           every table and figure of every paper, in toy size (about ten minutes)"
	@echo "make synthetic       does each method do what it is meant to? Generated text (up to an hour)"
	@echo "make long            all that is too long for CI: more cases, calibrations, 50 kills, the synthetic study, the evidence (hours)"
	@echo "make test            set up, then the tests, without the slow ones (minutes)"
	@echo "make test-all        the slow tests too, which start processes and run toy studies"
	@echo "make golden          record anew what the tiny runs of the tests compute (after raising a stage's version)"
	@echo "make equivalent      record that the training code here computes the same bits as that of the last commit (COMMITS=)"
	@echo "make slurm           tests on a real SLURM, started on this machine (needs slurm-wlm, munge and root)"
	@echo "make check           formatting, types, lint, imports between rooms, house rules, spelling"
	@echo "make gpu             on a machine with an NVIDIA GPU, for at most an hour: graphs, speed, kernels, tests"
	@echo "make check-cuda      every method on fake CUDA tensors, without a GPU (downloads the CUDA build of torch, gigabytes)"
	@echo "make report-partial  the page from whatever exists by now (STUDY=name: of another study)"
	@echo "make fuzz            damage a finished study and edit its code at random: the same tables, a note, or a line (minutes)"
	@echo "make lock            resolve pyproject.toml again and write envs/lock (needs the network)"
	@echo "make audit-packages  known vulnerabilities of the pinned packages (needs the network; a report, never an error)"
	@echo "make sbom            list all installed packages in sbom.json (CycloneDX)"
	@echo "make certify         pack a study's evidence for reviewers (STUDY=name, OUT=folder)"
	@echo "make docs            the documentation as a site: results/site/index.html"
	@echo "make format          put code and rules into shape"
	@echo "make clean           list runs and tasks that no study names any more (results stay)"

# The script does nothing when the environment is whole and no lock is newer. TORCH=cpu or TORCH=cuda chooses the build.
setup:
	@TORCH="$(TORCH)" EXTRAS="$(EXTRAS)" envs/setup.sh $(PYTHON) $(VENV)

# What tests and checks need besides.
setup-dev:
	@TORCH="$(TORCH)" EXTRAS="$(EXTRAS)" envs/setup.sh $(PYTHON) $(VENV) dev

# Versions stay as they are unless pyproject.toml excludes them; UPGRADE=--upgrade takes the newest.
lock: setup
	@$(BIN)/python envs/lock.py $(BIN)/uv $(UPGRADE)

demo: setup
	@$(BIN)/mdnmt demo

# Finished runs alone: a folder has its run.json from the end of training on.
RUNS ?= $(patsubst %/run.json,%,$(wildcard results/runs/demo-en-fr/*/seed1-*/run.json))

serve: setup
	@[ -n "$(RUNS)" ] || { echo "No finished run of the demo: make demo first, or name runs: make serve RUNS=FOLDER" >&2; exit 2; }
	@$(BIN)/mdnmt serve --open $(RUNS)

# The runs by `mdnmt campaign`: they take less time than starting Python for each of their steps.
smoke: setup
	@$(BIN)/mdnmt unlock
	@$(BIN)/snakemake data --cores all --quiet rules --config study=smoke
	@$(BIN)/mdnmt campaign smoke
	@$(BIN)/snakemake --cores all --quiet rules --config study=smoke
	@echo
	@echo "The report is ready, open results/smoke/report.html"

synthetic: setup
	@$(BIN)/mdnmt unlock
	@$(BIN)/snakemake --cores all --config study=synthetic
	@echo
	@echo "The report is ready, open results/synthetic/report.html"

long: setup-dev synthetic
	for bundle in docs/replication/*bundle; do $(BIN)/mdnmt verify --quiet $$bundle || exit 1; done
	$(BIN)/python -m pytest -n 2 --dist worksteal -rs -m long
	$(BIN)/python -m pytest -rs tests/long --ignore tests/long/test_long_fuzz.py --ignore tests/long/test_long_code.py
	MDNMT_EDITS=300 $(BIN)/python -m pytest -rs -s tests/long/test_long_code.py
	MDNMT_FUZZ_OPERATIONS=2000 MDNMT_FUZZ_RECORD=logs/fuzz.jsonl $(BIN)/python -m pytest -rs -s tests/long/test_long_fuzz.py
	MDNMT_MUTATIONS=500 $(BIN)/python -m pytest -rs -s tests/faults/test_faults_mutated.py
	MDNMT_BAD_CONFIGS=40 $(BIN)/python -m pytest -rs tests/faults/test_faults_config.py -k sample
	MDNMT_CONTROLLER_DOWN_SECONDS=120 $(BIN)/python -m pytest -rs tests/slurm -k controller_down

# Random operations on a finished study, and edits of its code; `make long` makes 2,000 and 300.
fuzz: setup-dev
	$(BIN)/python -m pytest -n 2 --dist loadfile -rP tests/long/test_long_fuzz.py tests/long/test_long_code.py

slurm: setup-dev
	$(BIN)/python -m pytest -rs -n 3 --durations=0 tests/slurm  # they wait more than they compute

test: setup-dev
	$(BIN)/python -m pytest -n 2 --dist worksteal -rs -m "not slow and not long"
	@echo "These were the fast tests. The slow ones too: make test-all. Formatting, types and house rules: make check."

test-all: setup-dev
	@$(BIN)/mdnmt comet --make-environment
	$(BIN)/python -m pytest -n 2 --dist worksteal -rs --durations=40 -m "not long"

golden: setup-dev
	PYTHONPATH=tests $(BIN)/python tests/golden/golden_runs.py

# Needs no raised version: after a change that must not change results (a refactoring, a new option).
equivalent: setup-dev
	PYTHONPATH=tests $(BIN)/python tests/golden/equivalent_code.py $(COMMITS)

check: setup-dev
	$(BIN)/ruff check src tests benchmarks
	$(BIN)/ruff format --check src tests benchmarks
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache
	$(BIN)/python tests/house_rules.py
	$(BIN)/snakefmt --check Snakefile workflow
	$(BIN)/python tests/lint_workflow.py
	$(BIN)/codespell

# With the Python at hand where it has what training needs (no network then), else with this project's environment.
gpu:
	@if $(PYTHON) -c 'import torch, numpy, pydantic, yaml, safetensors, sacrebleu' 2> /dev/null; \
	then $(PYTHON) benchmarks/gpu_slot.py --seconds 3600 && $(PYTHON) benchmarks/card_speeds.py results/gpu/gpu.json; \
	else $(MAKE) --no-print-directory setup-dev && $(BIN)/python benchmarks/gpu_slot.py --seconds 3600 \
	&& $(BIN)/python benchmarks/card_speeds.py results/gpu/gpu.json; fi

# By hand before a release, not in CI: its environment has the CUDA build of torch.
check-cuda:
	@TORCH=cuda envs/setup.sh $(PYTHON) .venv-cuda
	PYTHONPATH=src .venv-cuda/bin/python tests/gpu/fake_cuda.py

format: setup-dev
	$(BIN)/ruff check --fix src tests benchmarks
	$(BIN)/ruff format src tests benchmarks
	$(BIN)/snakefmt Snakefile workflow

report-partial: setup
	@$(BIN)/mdnmt exhibit $(or $(STUDY),demo)

clean: setup
	@$(BIN)/mdnmt clean --stale

# The documentation as a site; its packages have an environment of their own.
DOCS := .venv-docs

$(DOCS)/installed: envs/lock/docs.txt
	@$(PYTHON) -m venv $(DOCS)
	@$(DOCS)/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r envs/lock/docs.txt
	@touch $@

docs: setup-dev $(DOCS)/installed
	@MDNMT=$(BIN)/mdnmt NO_MKDOCS_2_WARNING=1 $(DOCS)/bin/mkdocs build --strict --quiet
	@$(BIN)/python -m pytest -q tests/browser/test_browser_site.py
	@echo "The site is ready, open results/site/index.html"

# Tools of their own, so that the environment that trains has no package for them.
SUPPLY_CHAIN := .venv-supply-chain

$(SUPPLY_CHAIN)/installed: envs/lock/supply-chain.txt
	@$(PYTHON) -m venv $(SUPPLY_CHAIN)
	@$(SUPPLY_CHAIN)/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r envs/lock/supply-chain.txt
	@touch $@

# Never an error: the index and the service of the vulnerabilities are others' machines.
audit-packages:
	@if $(MAKE) --no-print-directory $(SUPPLY_CHAIN)/installed; then $(SUPPLY_CHAIN)/bin/python envs/supply_chain.py audit; \
	else echo "pip-audit: no report: it could not be installed; is there a network?"; fi

sbom: setup $(SUPPLY_CHAIN)/installed
	@$(SUPPLY_CHAIN)/bin/python envs/supply_chain.py sbom run $(BIN)/python sbom.json
	@[ ! -e .venv-comet/made ] || \
	$(SUPPLY_CHAIN)/bin/python envs/supply_chain.py sbom comet .venv-comet/bin/python sbom-comet.json

STUDY_TO_CERTIFY = $(or $(STUDY),demo)

certify: sbom
	@$(BIN)/mdnmt certify $(STUDY_TO_CERTIFY) --out $(or $(OUT),results/$(STUDY_TO_CERTIFY)/certificate)
