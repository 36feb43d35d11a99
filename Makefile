# make demo    the main job on a fresh machine: creates .venv, installs, runs, prints trace and histogram
# make test    the whole test suite, in parallel
# make test-samples  the test suites of samples/testing on all their kernels and CPUs
# make test-compiled  the verifier as machine code, against its own tests
# make lint    formatter, types and the four-floor import contract
# make docs    regenerates the generated pages and checks that nothing changed
# make site    the documentation as a site, with man pages, in build/site
# make bench   the benchmarks (not part of the tests)
# make soundness  20,000 random programs: what the verifier accepts is run with every check on
# make test-ftrace  the kernel's own ftrace selftests, fetched from Debian, compared with the real 6.1's results
# make test-cpython  what CPython 3.11's own tests ask of a kernel, fetched from Debian, compared with the host
# make test-kselftests  the kernel's own C selftests of system calls, fetched from Debian and built, compared with the real 6.1
# make test-stress-ng  Debian's stress-ng, each stressor that needs no rights, beside the real 6.1
# make test-bpf-selftests  the kernel's own BPF selftests, fetched from Debian and built, compared with the real 6.1
# make test-old-verifier-suite WORDS="--real ANSWERS.txt"  the same of 5.10, test_verifier
# make test-version-suites WORDS="--real ANSWERS.txt"  the verifier's own tests of 6.12, fetched and compiled, compared with a real kernel's answers
# make tiers  20,000 random programs: each is run by Python and by machine code, and gives the same
# make fuzz MINUTES=10  hostile input of every kind, for so long
# make determinism  four stories ten ways: not a byte may differ
# make growth    ten thousand rounds of what is begun and ended: nothing may be left
# make hostile    20,000 programs that no verifier would let pass: none reaches the host

PYTHON ?= python3
VENV ?= .venv
BIN = $(VENV)/bin
JOBS ?= 2

.PHONY: venv demo test test-old-verifier-suite test-compiled test-samples test-slow test-cpython test-ftrace test-kselftests test-stress-ng test-bpf-selftests test-version-suites lint docs bench soundness tiers hostile fuzz site determinism growth clean

venv: $(VENV)/.installed

$(VENV)/.installed: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(if $(LOCKED),$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[dev,cc,proofs,export,notebook,site,dask]'
	touch $@

# The demo alone needs no compiler and no test tools.
$(VENV)/.runtime: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e .
	touch $@

demo: $(VENV)/.runtime
	$(BIN)/simkernel demo

# Compiled first, for where processes write no bytecode: hundreds are started.
# Tests that start processes give them a time, which a busy host may not: what fails beside others is run once more, alone.
test: venv
	$(BIN)/python -m compileall -q -j $(JOBS) arch bpf simkernel tracing tests
	$(BIN)/python -m pytest -n $(JOBS) tests || $(BIN)/python -m pytest -p no:xdist --last-failed --last-failed-no-failures none tests

# Long proofs, fuzz loops and sweeps, which the ordinary tests leave out.
test-slow: venv
	$(BIN)/python -m pytest -n $(JOBS) -m slow tests

# Some minutes of compiling, for whoever changes the verifier.
test-compiled: venv
	$(BIN)/python tests/tools/compiled.py

# Three suites of BPF programs as a user would write them, on three kernels and two CPUs.
test-samples: venv
	$(BIN)/python -m pytest -n $(JOBS) samples/testing

# Hours on a slow machine; WORDS="trigger instances" takes some of them.
test-ftrace: venv
	cd tests/tools && ../../$(BIN)/python ftracetest.py $(WORDS)

# Half an hour for each of the large modules on a slow machine; WORDS="test_os test_pty" takes some of them.
test-cpython: venv
	cd tests/tools && ../../$(BIN)/python cpython_tests.py $(WORDS)

# Some minutes; WORDS="pidfd/ seccomp_bpf" takes some of them.
test-kselftests: venv
	cd tests/tools && ../../$(BIN)/python kselftests.py $(WORDS)

test-stress-ng: venv
	cd tests/tools && ../../$(BIN)/python stress_ng.py $(WORDS)

test-version-suites: venv
	cd tests/tools && ../../$(BIN)/python version_suites.py $(WORDS)

# What Linux 5.10 came with, two minutes; WORDS="--real ANSWERS.txt".
test-old-verifier-suite: venv
	cd tests/tools && ../../$(BIN)/python old_verifier_suite.py $(WORDS)

test-bpf-selftests: venv
	cd tests/tools && ../../$(BIN)/python bpf_selftests.py $(WORDS)

lint: venv
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: venv
	$(BIN)/python -m bench

SEED ?= $(shell date +%s)
soundness: venv
	$(BIN)/python tests/bpf/soundness.py --programs 20000 --seed $(SEED)

tiers: venv
	$(BIN)/python tests/bpf/two_tiers.py --programs 20000 --seed $(SEED)

hostile: venv
	$(BIN)/python tests/simkernel/hostile.py --programs 20000 --seed $(SEED)

MINUTES ?= 10
fuzz: venv
	$(BIN)/python -m tests.fuzz --minutes $(MINUTES) --seed $(SEED)

site: venv
	$(BIN)/python -m docs.site build/site

determinism: venv
	$(BIN)/python -m tests.simkernel.determinism

ROUNDS ?= 10000
growth: venv
	$(BIN)/python -m tests.simkernel.growth --rounds $(ROUNDS)

docs: venv
	$(BIN)/python -m docs.generate --check

clean:
	rm -rf $(VENV) build *.egg-info
