# Every command of the project. CI calls the same targets and nothing else.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PYTEST := $(BIN)/python -m pytest
# of `make fuzz`: all targets if none is named, and how long for each; of `make soak`
TARGET ?=
SECONDS ?= 60
MINUTES ?= 10
# of the tests that wait for brokers and leases more than they work
WORKERS ?= 4

.PHONY: setup waiting messages demo demo-crash test check fast lint format types imports mutants interop interop-kafka interop-kafka-4.4 crash spark conformance conformance-fast seeds deep-tests deep floors bench docs site fuzz soak pythons

setup: $(VENV)/.ready

$(VENV)/.ready: requirements.lock pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes --only-binary :all: -r requirements.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	$(BIN)/python -m compileall -q src
	touch $@

demo: setup ## orders through a broker, a share group and Spark into Parquet, each exactly once; needs Java 17
	@tests/spark/prepare $(BIN)/python || { echo "'make demo-crash' shows what is promised without Spark" >&2; exit 1; }
	$(BIN)/leaselog pipeline --picture out/pipeline.png

demo-crash: setup ## starts a broker, produces, kills it, consumes, shows that nothing is missing
	$(BIN)/leaselog demo

test: check mutants interop waiting ## everything a change must pass

waiting: setup ## three tiers that wait more than they work, side by side; each one's output comes when it is through
	$(MAKE) -j3 $(if $(filter output-sync,$(.FEATURES)),--output-sync=target) crash spark conformance-fast

check: lint types imports site ## format, lint, types, import directions, the site, fast tests
	$(PYTEST) tests/unit tests/arch tests/wire tests/props tests/contract tests/crash tests/sim tests/fuzz tests/soak tests/conformance -m "not crash and not deep and not mutant" \
		--tier check -n 2 --dist worksteal

fast: setup
	$(PYTEST) tests/unit tests/arch

lint: setup
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .

format: setup
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

types: setup
	$(BIN)/mypy

imports: setup
	$(BIN)/lint-imports

mutants: setup ## bugs that are put in on purpose: the simulation has to catch every one
	$(PYTEST) tests/sim -m mutant --tier mutants -n 2

interop: setup ## clients nobody here wrote against a real broker process
	$(PYTEST) tests/interop -m "not deep and not alone" --tier interop --timeout 300 -n $(WORKERS)
	$(PYTEST) tests/interop -m "alone and not deep" --tier interop-alone --timeout 300
	tests/interop/on-kafka --quick $(BIN)/python

interop-kafka: setup ## our client, admin, commands and Spark source on Apache Kafka, all of it, three nodes of it too: a quarter of an hour on a small machine
	tests/interop/on-kafka $(BIN)/python
	tests/spark/check --on-kafka $(BIN)/python

interop-kafka-4.4: setup ## dead letters beside those of Apache Kafka 4.4
	tests/interop/on-kafka-4.4 $(BIN)/python

pythons: setup ## the fast tests of units and contracts with each other Python from 3.11 on that is here
	tests/pythons/check $(BIN)/python tests/unit tests/contract -m "not deep" -n 2 --dist worksteal

crash: setup ## SIGKILL in the middle of a produce storm, and under a share group at work
	$(PYTEST) tests/crash -m "crash and not deep" --tier crash --timeout 600 -n 2

spark: setup ## the pipeline on a local Spark; needs Java 17
	tests/spark/check $(BIN)/python

conformance: setup ## the published suites of Apache Kafka, all that are named
	tests/conformance/check

conformance-fast: setup ## the same, the quick ones
	CONFORMANCE_TESTS=2 tests/conformance/check tests/conformance/fast.txt

seeds: setup ## ten thousand simulated runs, or those that are left of them: make seeds SEEDS="--runs 1000 --first 20000 --jobs 4"
	$(BIN)/python tests/sim/seeds.py $(SEEDS)

fuzz: setup ## bytes nobody would send, by coverage: make fuzz TARGET=requests SECONDS=300; all of it is twelve minutes
	tests/fuzz/check $(BIN)/python $(TARGET) --seconds $(SECONDS)

soak: setup ## fifty share consumers and a broker that is restarted: memory, descriptors, lag, and a verdict; MINUTES=10
	$(BIN)/python tests/soak/soak.py --minutes $(MINUTES)

deep-tests: setup ## two at a time, for most of them wait; tests/interop is named for its scheduler (tests/interop/workers.py)
	tests/spark/prepare $(BIN)/python
	$(PYTEST) tests/interop tests -m "deep and not alone" --tier deep --timeout 3600 --durations 0 -n 2
	$(PYTEST) tests -m "deep and alone" --tier deep-alone --timeout 3600 --durations 0

# On two cores with nothing else to do: `seeds` half an hour, `interop-kafka` a quarter of an hour, `mutants` a minute of a core.
# Of the other parts there are times with ten to twenty other programs at work, which is several times as long: of
# `deep-tests` a hundred deaths 14 minutes, franz-go 2, what else needs brokers 4, the days of the simulation 23, 20,000
# odd clients 20, 5,000 histories of a share partition 38; `interop-kafka-4.4` 2.5, half of `conformance/check --all` 24.
deep: check pythons mutants deep-tests seeds interop-kafka interop-kafka-4.4 ## the long versions of everything; not for every change
	tests/conformance/check --all

floors: setup ## after tests have come or gone: how many each tier has, into tests/floors.tsv
	PYTEST_ADDOPTS="--collect-only -qq --keep-floor" $(MAKE) check mutants interop interop-kafka interop-kafka-4.4 crash spark deep-tests

bench: setup ## beside Apache Kafka: make bench BENCH="produce --rounds 5"; all of it takes hours, and Java 17 and Maven
	$(BIN)/python -m compileall -q src # as an installed package is; an edit leaves the start to do it
	$(BIN)/python -m bench --write $(BENCH)

messages: setup ## the message classes anew, from the definitions in Apache Kafka's jars; needs Maven, which brings them
	mvn -q -B -f tests/interop/kafka-4.4.0.pom.xml dependency:copy-dependencies -DoutputDirectory=$(CURDIR)/out/kafka-4.4.0/libs
	$(BIN)/python codegen/messages.py out/kafka-4.4.0/libs

docs: setup ## rewrites the generated pages; fails if that changes the tree
	$(BIN)/python -m leaselog.cli.main config-docs > docs/reference/configuration.md
	$(BIN)/python codegen/reference_docs.py
	git diff --exit-code docs

site: $(VENV)/.site-ready ## the documentation with search, into out/site; fails if a link leads nowhere
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict # not --quiet, under which strict overlooks warnings

$(VENV)/.site-ready: $(VENV)/.ready requirements-site.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes --only-binary :all: -r requirements-site.lock
	touch $@
