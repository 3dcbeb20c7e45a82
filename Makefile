# One command for each job. `make demo` and `make test` do all set-up themselves: they need
# Python 3.11 or newer with venv, and nothing else. Each lane of the tests is a target of its own.
#
#   make demo          the main job: benchmark, and principal components of handwritten digits
#   make test          linter, types, and every test lane that needs no GPU
#   make test-gpu      `tileblas check` on the GPU, the GPU tests, compute-sanitizer; a table last
#   make bench-gpu     timings beside cuBLAS, of calls and of staging, written to results/
#   make lint types    the linter; the type checker
#   make readme stub   rewrite the generated tables of the README; the stub of tileblas.blas
#   make wheel         build dist/tileblas-*.whl
#
#   PYTHON=python3.12  the Python to set up with
#   ENV=active         use the packages that this Python has, install nothing
#   CUDA=12            for drivers older than CUDA 13
#   JOBS=8             test processes at a time, 2 by default
#   STAGES="graphs sanitizer"   parts of test-gpu or bench-gpu; tests/gpu/lane.py lists them

PYTHON ?= python3
ENV    ?= .venv
CUDA   ?= 13

comma  := ,
# Where an NVIDIA driver is found, set-up includes what the GPU backend needs.
EXTRAS := lab,demo,dev$(if $(shell command -v nvidia-smi),$(comma)cuda$(CUDA))

ifeq ($(ENV),active)
PY    := PYTHONPATH=src $(PYTHON)
READY :=
else
PY    := .venv/bin/python
READY := .venv/installed
endif

JOBS   ?= 2
PYTEST := -m pytest -n $(JOBS) --dist worksteal
# With several processes at work, more BLAS threads would only be in each other's way.
test-core test-interpret test-next test-newest: export OPENBLAS_NUM_THREADS := 1
# What a version of Triton can change in the interpreter: kernels, and the values they give.
OF_KERNELS := tests/kernels $(addprefix tests/semantics/test_,cases.py level2_cases.py)
# The files with compile tests: pytest takes longer to read all others than to leave them out.
OF_COMPILING = $(shell grep -rl --include='*.py' 'mark\.compile' tests)
# Triton reads this once, when it is imported: a process either interprets kernels or compiles them.
INTERPRET := TRITON_INTERPRET=1 TILEBLAS_BACKEND=interpret

.DELETE_ON_ERROR:
.PHONY: demo test lint types environments lanes test-core test-scipy test-interpret test-next \
        test-newest test-gpu bench-gpu readme stub wheel clean

demo: $(READY)
	$(PY) -m tileblas demo

# Set-up, linter and types take one core each, so two of them run at a time. Lanes are processes for
# JOBS cores already, and follow one another.
test:
	@$(MAKE) --no-print-directory --jobs=2 lint types environments
	@$(MAKE) --no-print-directory --jobs=1 lanes

environments: $(READY) .venv-next/installed .venv-newest/installed

lanes: test-core test-scipy test-interpret test-next test-newest

lint: $(READY)
	@echo "== lint"
	$(PY) -m ruff check .
	$(PY) -m ruff format --check .

types: $(READY)
	@echo "== types"
	$(PY) -m mypy

test-core: $(READY)
	@echo "== tests: core, CPU backend, compiling without a GPU"
	$(PY) $(PYTEST) -m "not interpret and not gpu"

test-scipy: $(READY)
	@echo "== tests: SciPy's own, of its BLAS, with tileblas.blas in its place"
	$(PY) tests/scipy_suite.py

test-interpret: $(READY)
	@echo "== tests: the kernels in Triton's interpreter"
	$(INTERPRET) $(PY) $(PYTEST) -m interpret --ignore=tests/gpu

test-next: .venv-next/installed
	@echo "== tests: a newer Triton and the current NumPy, interpreter"
	$(INTERPRET) .venv-next/bin/python $(PYTEST) -m "interpret and not slow" $(OF_KERNELS)
	@echo "== tests: a newer Triton and the current NumPy, compiling"
	.venv-next/bin/python $(PYTEST) -m "compile and not slow" $(OF_COMPILING)

test-newest: .venv-newest/installed
	@echo "== tests: the newest Triton, compiling"
	.venv-newest/bin/python $(PYTEST) -m compile $(OF_COMPILING)

test-gpu: $(READY)
	@echo "== tests: GPU"
	$(PY) tests/gpu/lane.py $(or $(STAGES),test)

bench-gpu: $(READY)
	@echo "== timings: GPU"
	$(PY) tests/gpu/lane.py $(or $(STAGES),bench)

readme: $(READY)
	$(PY) tests/project/test_readme.py

stub: $(READY)
	$(PY) tests/project/test_blas_stub.py

wheel: $(READY)
	$(PY) -m pip wheel --no-deps --wheel-dir dist .

clean:
	rm -rf build dist .venv .venv-next .venv-newest

# $(call install,folder,requirements,constraints): a virtual environment, made or brought up to date
define install
	@echo "== set-up of $(1), once"
	@$(PYTHON) -c 'import sys; sys.version_info >= (3, 11) or sys.exit("tileblas needs \
	Python 3.11 or newer; name one with make PYTHON=python3.12")'
	$(PYTHON) -m venv $(1)
	$(1)/bin/python -m pip install --quiet --disable-pip-version-check \
	    --constraint constraints/$(3).txt $(2)
	@touch $@
endef

TRITON := 'triton ; sys_platform == "linux"'

.venv/installed: pyproject.toml constraints/common.txt constraints/pinned.txt
	$(call install,.venv,--editable '.[$(EXTRAS)]',pinned)

.venv-next/installed: pyproject.toml constraints/common.txt constraints/next.txt
	$(call install,.venv-next,--editable '.[lab$(comma)test]' $(TRITON),next)

.venv-newest/installed: pyproject.toml constraints/common.txt constraints/newest.txt
	$(call install,.venv-newest,--editable '.[lab$(comma)test]' $(TRITON),newest)
