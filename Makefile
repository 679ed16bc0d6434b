# attnd's build. `make help` lists the targets.
#
#   build/          attnd, tests/, bench/, and their objects
#   build/NAME/     the same for SANITIZER=NAME: address (with undefined), undefined, thread; and fuzz, which is made with clang
#
# Sources are found by folder: a new file needs no line here.

SHELL := /bin/bash
MAKEFLAGS += --no-builtin-rules
.DEFAULT_GOAL := attnd

V ?=#              1: show the commands
SANITIZER ?=#      address, undefined or thread
SECONDS ?= 30#     for each fuzzer of `make fuzz`
LISTEN ?= 127.0.0.1:8080# for `make run`
PREFIX ?= /usr/local# where `make install` installs to
DESTDIR ?=#        a root that it puts that into
ONLY ?=#           the stages of `make test`; all, if empty
STAGES ?=#         the stages of `make docker-test`; all, if empty
HALF ?=#           of `make fresh-check`: run, test or bench; all, if empty
MUTATIONS ?=#      of `make mutations`; all, if empty
TESTS ?=#          the tests of `make arm64-check`; all, if empty

VERSION := $(file < VERSION)
Q := $(if $(V),,@)
say = @printf '  %-5s %s\n' $(1) $(2)

# ---- flavours -------------------------------------------------------------------------------------------------------

B := $(if $(SANITIZER),build/$(SANITIZER),build)

SANITIZE_address := -fsanitize=address,undefined,float-cast-overflow -fno-sanitize-recover=all
SANITIZE_undefined := -fsanitize=undefined,float-cast-overflow -fno-sanitize-recover=all
SANITIZE_thread := -fsanitize=thread
SANITIZE_fuzz := -fsanitize=fuzzer-no-link,address,undefined,float-cast-overflow -fno-sanitize-recover=all
SANITIZE := $(SANITIZE_$(SANITIZER))
ifneq ($(SANITIZER),)
ifeq ($(SANITIZE),)
$(error SANITIZER is "$(SANITIZER)", not address, undefined or thread)
endif
endif

ifeq ($(SANITIZER),fuzz)
CC := clang
else ifeq ($(origin CC),default)
CC := gcc
endif

# ---- flags ----------------------------------------------------------------------------------------------------------

# Warnings are the plain build's: sanitizers add code that confuses them.
WARNINGS := $(if $(SANITIZER),-w,-Wall -Wextra -Wpedantic -Wconversion -Wvla -Werror)
FORTIFY := -U_FORTIFY_SOURCE $(if $(SANITIZER),,-D_FORTIFY_SOURCE=2)
HARDENING := -fstack-protector-strong -fno-omit-frame-pointer $(FORTIFY)

# Contraction off: a*b+c rounds twice everywhere, so results do not depend on what the compiler could fuse.
# Vectors out of straight-line code off: GCC 12 then leaves the rounding out of two neighbouring (double)(float)x, a wrong result.
NUMBERS := -ffp-contract=off -fno-tree-slp-vectorize

# Kernels may fuse, and set neither errno nor floating-point traps, which nothing reads. NaN, infinities, the sign of zero and
# the order of sums stay as written. Their vectors never cross an object, so how these would be passed does not matter.
KERNEL_NUMBERS := -O3 -ftree-slp-vectorize -ffp-contract=fast -fno-math-errno -fno-trapping-math -Wno-psabi

# GCC 12 aligns the stack frames in which AddressSanitizer looks for a use after return to less than the 64 bytes that the
# kernels' vectors take for granted: kernels do without that one check. Undefined behaviour is looked for in the tables that every
# processor has, which are the same source; for AVX that takes half a minute to compile, and for fuzzers two: they leave it to the tests.
KERNEL_SANITIZE_address := --param asan-use-after-return=0
KERNEL_SANITIZE_fuzz := -O1 -fno-sanitize=all -fsanitize=address
NO_UNDEFINED_address := -fno-sanitize=undefined,float-cast-overflow
KERNEL_SANITIZE = $(KERNEL_SANITIZE_$(SANITIZER)) $(if $(filter avx%,$(1)),$(NO_UNDEFINED_$(SANITIZER)))

# Headers of libraries are system headers: their warnings are not ours.
LIBRARIES := libmicrohttpd gnutls jansson openblas zlib
TEST_LIBRARIES := cmocka libcurl
library_cflags = $(patsubst -I%,-isystem %,$(shell pkg-config --cflags $(1) 2>/dev/null))
library_libs = $(foreach library,$(1),$(or $(shell pkg-config --libs $(library) 2>/dev/null),$(patsubst %,-l%,$(library:lib%=%))))

DEFINES := -D_GNU_SOURCE -DATTND_VERSION='"$(VERSION)"'
COMPILE_FLAGS := -std=gnu11 -I. $(DEFINES) $(call library_cflags,$(LIBRARIES) $(TEST_LIBRARIES))
# Under sanitizers the compiler takes as long as the tests; so it optimises less there (kernels alone all the same) and writes no more for
# debuggers than reports show.
OPTIMISE := $(if $(SANITIZER),-O1 -g1,-O2 -g)
COMPILE = $(CC) $(COMPILE_FLAGS) $(OPTIMISE) $(NUMBERS) $(WARNINGS) $(HARDENING) $(SANITIZE) $(CFLAGS) -MMD -MP -c $< -o $@

LINK = $(CC) $(OPTIMISE) $(SANITIZE) -Wl,-z,relro,-z,now -Wl,--as-needed $(LDFLAGS)
LIBS := $(call library_libs,$(LIBRARIES)) -lpthreadpool -lm -pthread
TEST_LIBS := $(call library_libs,$(TEST_LIBRARIES)) $(LIBS)

# ---- sources --------------------------------------------------------------------------------------------------------

# The tables of core/kernels/kernels.c, by the processor that the compiler makes code for.
KERNEL_TARGETS_x86_64 := avx2 avx512
KERNEL_TARGETS_aarch64 := neon
KERNEL_TARGETS := generic portable $(KERNEL_TARGETS_$(firstword $(subst -, ,$(shell $(CC) -dumpmachine 2>/dev/null))))
KERNEL_generic :=
KERNEL_portable := -DKERNEL_PORTABLE
KERNEL_avx2 := -mavx2 -mfma
KERNEL_avx512 := -mavx512f -mavx512bw -mavx512dq -mavx512vl -mavx2 -mfma -mprefer-vector-width=512
# Moving loads up before registers are given out, as GCC does for arm64 alone, leaves too few of these for the sums.
KERNEL_neon := -DKERNEL_NEON -fno-schedule-insns

objects = $(patsubst %.c,$(B)/%.o,$(wildcard $(1)))
programs = $(patsubst %.c,$(B)/%,$(wildcard $(1)))

KERNEL_OBJECTS := $(foreach target,$(KERNEL_TARGETS),$(B)/core/kernels/table.$(target).o)
LAYER_OBJECTS := $(filter-out $(B)/core/kernels/table.o,$(call objects,core/*.c core/*/*.c api/*.c api/*/*.c)) $(KERNEL_OBJECTS)
SERVER_OBJECTS := $(call objects,server/*.c server/*/*.c)

UNIT_TESTS := $(call programs,tests/unit/*_test.c)
SUPPORT_OBJECTS := $(filter-out $(UNIT_TESTS:=.o),$(call objects,tests/support/*.c tests/unit/*.c))
HTTP_OBJECTS := $(call objects,tests/http/*.c)
FUZZERS := $(call programs,tests/fuzz/fuzz_*.c)
EXHAUSTIVE := $(call programs,tests/exhaustive/*.c)
EXHAUSTIVE_TESTS := $(EXHAUSTIVE) $(B)/tests/unit/kernels_test
BENCHES := $(call programs,bench/*.c)

# Tests link archives, from which each takes what it names; so a test of the server does without the object that has
# main(). Only tests that include a header of the server wait for that archive.
ARCHIVES := $(B)/support.a $(B)/layers.a
SERVER_TESTS := $(patsubst %.c,$(B)/%,$(shell grep -ls '^\#include "server/' tests/unit/*_test.c))

# ---- rules ----------------------------------------------------------------------------------------------------------

.PHONY: attnd install uninstall unit-tests http-tests fuzzers browser-tests web licenses run docker deps clean check test test-long lint \
	layers format fuzz mutations exhaustive arm64-check docker-test fresh-check bench bench-service bench-http bench-wire bench-latency \
	bench-replica bench-numbers bench-web test-deps lint-deps exhaustive-ready bench-ready help

##@ Build and run

attnd: $(B)/attnd ## builds attnd, and the web UI where npm is there; plain `make` does the same
	$(if $(SANITIZER),@:,$(build_web))

unit-tests: $(UNIT_TESTS)
http-tests: $(B)/attnd $(B)/tests/http_test $(B)/tests/tools/fail_allocation.so
fuzzers: $(FUZZERS)
unit-tests http-tests fuzzers:
	@:

$(B)/attnd: $(SERVER_OBJECTS) $(LAYER_OBJECTS)
	$(call say,LINK,$@)
	$(Q)$(LINK) $^ $(LIBS) -o $@

$(B)/layers.a: $(LAYER_OBJECTS)
$(B)/server.a: $(SERVER_OBJECTS)
$(B)/support.a: $(SUPPORT_OBJECTS)
$(ARCHIVES) $(B)/server.a: | $(B)/.deps
	$(Q)rm -f $@ && ar qcs $@ $^

link_test = $(LINK) $(filter %.o,$^) -Wl,--start-group $(filter %.a,$^) -Wl,--end-group $(TEST_LIBS) -o $@

# Benchmarks hold this machine's limits beside what core reaches, so they are made for it.
$(B)/bench/%.o: private CFLAGS += -O3 -march=native -ffp-contract=fast -Wno-psabi

$(UNIT_TESTS) $(FUZZERS): %: %.o $(ARCHIVES)
	$(call say,LINK,$@)
	$(Q)$(link_test)

$(EXHAUSTIVE) $(BENCHES): %: %.o $(B)/layers.a
	$(call say,LINK,$@)
	$(Q)$(LINK) $^ $(LIBS) -o $@

$(SERVER_TESTS): $(B)/server.a
$(FUZZERS): LDFLAGS += -fsanitize=fuzzer

# Talks HTTP to $ATTND_BIN; of the archives it takes what reads the replies.
$(B)/tests/http_test: $(HTTP_OBJECTS) $(ARCHIVES)
	$(call say,LINK,$@)
	$(Q)$(link_test)

# Preloaded into a daemon by tests/http/allocation_test.c.
$(B)/tests/tools/%.so: tests/tools/%.c | $(B)/.deps
	$(call say,LINK,$@)
	$(Q)mkdir -p $(@D) && $(CC) -std=gnu11 -O2 $(WARNINGS) -shared -fPIC $< -o $@

$(B)/tests/tools/defects: %: %.o
	$(call say,LINK,$@)
	$(Q)$(LINK) $< -pthread -o $@

$(B)/%.o: %.c Makefile VERSION | $(B)/.deps
	$(call say,CC,$<)
	$(Q)mkdir -p $(@D) && $(COMPILE)

define kernel_rule
$(B)/core/kernels/table.$(1).o: core/kernels/table.c Makefile VERSION | $(B)/.deps
	$$(call say,CC,"$$< ($(1))")
	$$(Q)mkdir -p $$(@D) && $$(COMPILE) $(KERNEL_NUMBERS) $(call KERNEL_SANITIZE,$(1)) -DKERNEL_TARGET=$(1) $(KERNEL_$(1))
endef
$(foreach target,$(KERNEL_TARGETS),$(eval $(call kernel_rule,$(target))))

# Says what is missing, where something is, before the compiler does.
$(B)/.deps: scripts/deps
	$(Q)scripts/deps --check build && mkdir -p $(@D) && touch $@

.SECONDARY:
-include $(shell [ ! -d $(B) ] || find $(B) -name '*.d' -type f)

# ---- the web UI -----------------------------------------------------------------------------------------------------

WEB := build/web/index.html
WEB_SOURCES := $(wildcard web/*.* web/model/* web/src/*.js web/src/figure/*.js web/src/views/*.js) openapi.yaml

web: $(WEB)
	@:

$(WEB): $(WEB_SOURCES) web/node_modules/.package-lock.json
	$(call say,WEB,build/web)
	$(Q)cd web && OUT="$(CURDIR)/build/web" node build.mjs

web/node_modules/.package-lock.json tests/browser/node_modules/.package-lock.json bench/service/node_modules/.package-lock.json: %/node_modules/.package-lock.json: %/package-lock.json
	$(call say,NPM,$*)
	$(Q)cd $* && npm ci --loglevel=error --no-audit --no-fund --ignore-scripts && touch node_modules/.package-lock.json

# Without npm, or without what it would fetch, attnd is built all the same, and says so on its first page.
build_web = +@if [ ! -f web/package.json ]; then :; \
	elif ! command -v npm >/dev/null; then echo "  the web UI is left out: there is no npm"; \
	else $(MAKE) --no-print-directory web || echo "  the web UI is left out: see above"; fi

browser-tests: $(B)/attnd $(WEB) tests/browser/node_modules/.package-lock.json
	@:

# ---- the tests ------------------------------------------------------------------------------------------------------
# scripts/test asks for test-STAGE, which needs the totals of each of its runners, and removes them first: so each runs as soon as it
# is built, while make builds what others need.

L := build/logs$(if $(SANITIZER),/$(SANITIZER))
run_test = @scripts/run-test $(basename $@)

# Those that take longest go first.
UNIT_NAMES := $(patsubst tests/unit/%.c,%,$(wildcard tests/unit/*_test.c))
UNIT_NAMES := $(filter random_request_test bit_equality_test attention_test,$(UNIT_NAMES)) $(UNIT_NAMES)
# Those that draw fewer cases in `make test`.
LONG_NAMES := $(patsubst tests/unit/%.c,%,$(shell grep -lE '(environment|number)_cases|environment_step.(0|[2-9]|1[0-9])' tests/unit/*_test.c))
# Core's tests of drawn and large sizes run under AddressSanitizer; under valgrind, where they take minutes, the cases of api go through
# the same code.
VALGRIND_NAMES := $(filter-out attention_% random_request_test bit_equality_test composition_test compare_planted_test \
	row_invariant_test,$(UNIT_NAMES))
HTTP_NAMES := $(patsubst tests/http/%_test.c,%,$(wildcard tests/http/*_test.c))
HTTP_QUICK := $(filter-out fairness lifecycle limits memory times,$(HTTP_NAMES))

.PHONY: $(addprefix test-,unit unit-long http quick valgrind address undefined thread corpus replay clients generated cluster sample browser tools) defects
test-unit: $(UNIT_NAMES:%=$(L)/unit/%.totals)
test-unit-long: $(LONG_NAMES:%=$(L)/unit-long/%.totals)
test-valgrind: $(VALGRIND_NAMES:%=$(L)/valgrind/%.totals)
test-http: $(HTTP_NAMES:%=$(L)/http/%.totals)
test-quick: $(HTTP_QUICK:%=$(L)/http/%.totals)
test-replay: $(patsubst tests/fuzz/%.c,$(L)/replay/%.totals,$(wildcard tests/fuzz/fuzz_*.c))
test-clients: $(addprefix $(L)/clients/,triton.py.totals prometheus.py.totals monitoring.py.totals numpy_safetensors.py.totals once.py.totals first_steps.py.totals openapi.py.totals client.mjs.totals \
	client.go.totals documents.totals)
test-generated: $(L)/clients/generated.totals
test-cluster: $(addprefix $(L)/cluster/,replicas.py.totals manifests.py.totals splits.py.totals)
test-sample: $(L)/sample/number_exhaustive.totals
test-browser: $(L)/browser/run.totals
test-tools: $(patsubst tests/tools/%,$(L)/tools/%.totals,$(wildcard tests/tools/*_test))
test-address test-undefined test-thread: test-%:
	+@$(MAKE) --no-print-directory SANITIZER=$* test-http test-unit
test-corpus:
	+@$(MAKE) --no-print-directory SANITIZER=fuzz test-replay

$(L)/unit/%.totals: $(B)/tests/unit/%
	$(run_test) $<

$(L)/unit-long/%.totals: $(B)/tests/unit/%
	@ATTND_TEST_LONG=1 scripts/run-test $(basename $@) $<

$(L)/valgrind/%.totals: $(B)/tests/unit/%
	@ATTND_TEST_SLOW=1 scripts/run-test $(basename $@) valgrind $<

$(L)/http/%.totals: $(B)/attnd $(B)/tests/http_test
	@ATTND_BIN=$< scripts/run-test $(basename $@) $(B)/tests/http_test '$*.*'

# Measures how long small requests take beside large ones, so it runs when all else has.
$(L)/http/fairness.totals: | $(filter-out test-http,$(MAKECMDGOALS)) $(patsubst %,$(L)/http/%.totals,$(filter-out fairness,$(HTTP_NAMES)))

$(L)/replay/%.totals: $(B)/tests/fuzz/%
	$(run_test) scripts/fuzz replay $*

# Go compiles its library once, for all that is in Go, and does not optimise.
$(L)/clients/%: export GOCACHE = $(CURDIR)/build/clients/go
$(L)/clients/%: export GOFLAGS = '-gcflags=all=-N -l'

$(L)/clients/%.totals: $(B)/attnd $(WEB) build/clients/installed.txt
	$(run_test) tests/clients/run $< $*

$(L)/clients/first_steps.py.totals: | $(L)/clients/client.go.totals
$(L)/clients/documents.totals: $(B)/attnd $(WEB) build/clients/installed.txt $(L)/clients/client.go.totals
	@ATTND_BIN=$< scripts/run-test $(basename $@) build/clients/venv/bin/python tests/documents.py

$(L)/cluster/%.totals: $(B)/attnd build/cluster/installed.txt
	@ATTND_BIN=$< scripts/run-test $(basename $@) build/cluster/venv/bin/python tests/cluster/$*

$(L)/sample/%.totals: $(B)/tests/exhaustive/%
	$(run_test) $< 50000000

$(L)/browser/%.totals: browser-tests
	@ATTND_BIN=$(B)/attnd scripts/run-test $(basename $@) node tests/browser/$*.mjs

$(L)/tools/%.totals: tests/tools/%
	$(run_test) $<

$(L)/tools/install_test.totals: attnd
$(L)/tools/checkers_test.totals: defects
defects: $(B)/tests/tools/defects
	+@for sanitizer in address undefined thread; do \
		$(MAKE) --no-print-directory SANITIZER=$$sanitizer build/$$sanitizer/tests/tools/defects || exit 1; done

build/clients/installed.txt build/cluster/installed.txt: build/%/installed.txt: tests/%/requirements.txt tests/clients/venv clients/python/pyproject.toml \
		$(wildcard clients/python/src/attnd/*.py)
	$(call say,PIP,build/$*/venv)
	$(Q)tests/clients/venv $* && touch $@

# ---- what people type -----------------------------------------------------------------------------------------------
# What installs libraries calls make again, so that they are seen, and starts with + to share the job server.

jobs = $(if $(filter -j%,$(MAKEFLAGS)),,-j$(shell nproc))
submake = +@$(MAKE) --no-print-directory $(jobs) SANITIZER=$(SANITIZER)

run: ## installs what is missing, builds, starts attnd and shows a first answer (LISTEN=host:port, ONCE=1: stops then)
	@scripts/deps run
	$(submake) attnd
	@scripts/run $(B)/attnd $(LISTEN)

docker: ## builds the container's image (DOCKER_BUILD_FLAGS="...": further flags of docker build)
	@. scripts/docker.sh && need_engine && build_attnd "$$ATTND_IMAGE" && list_image "$$ATTND_IMAGE"

install: attnd ## installs attnd, its page, manual, completion and systemd units (PREFIX=/usr/local, DESTDIR=)
	$(Q)PREFIX='$(PREFIX)' DESTDIR='$(DESTDIR)' scripts/install install $(B)/attnd

uninstall: ## removes them again
	$(Q)PREFIX='$(PREFIX)' DESTDIR='$(DESTDIR)' scripts/install uninstall

deps: ## installs what building needs
	@scripts/deps build

clean: ## removes build/
	$(Q)rm -rf build

##@ Test

check: test-deps ## for the minute after an edit: builds, then unit and HTTP tests that do less of the same
	+@scripts/test check

test: test-deps ## runs the tests (ONLY="unit http": some stages; SANITIZER=thread: unit and http under it)
	+@scripts/test $(or $(ONLY),$(SANITIZER))

test-long: test-deps ## runs what `make test` leaves out: unit tests with all their cases, and under valgrind; generated clients; several daemons
	+@scripts/test long

lint: export LINT_FLAGS = $(COMPILE_FLAGS)
lint: lint-deps ## checks format, defects, banned functions, scripts and openapi.yaml
	@scripts/lint

layers: ## checks that includes run server -> api -> core, one library a layer
	@scripts/layers

licenses: deps web/node_modules/.package-lock.json ## writes LICENSES/ and docs/third-party.md (on the image's Debian release)
	@scripts/licenses

format: ## formats the C files
	@scripts/lint format

##@ Test more

fuzz: test-deps ## runs each fuzzer for SECONDS=30
	$(submake) SANITIZER=fuzz fuzzers
	@scripts/fuzz $(SECONDS)

mutations: test-deps ## shows that the tests catch deliberate defects (MUTATIONS="name ...": some of tests/mutations/list)
	+@scripts/mutations $(MUTATIONS)

exhaustive: exhaustive-ready ## reads and writes every float32, takes exp of each: minutes
	@for program in $(EXHAUSTIVE_TESTS); do echo "== $$program"; EXP_STEP=1 $$program || exit 1; done

arm64-check: ## builds for arm64 and runs the unit tests under qemu (TESTS="name ...": some of tests/unit)
	@scripts/deps build arm64
	+@scripts/arm64-check $(TESTS)

docker-test: ## tests the container, also with the HTTP tests in it (STAGES="plain image": some stages)
	@scripts/docker-test $(STAGES)

fresh-check: ## run, test and the benchmarks' builds in a bare Debian, from a clean clone (HALF=run: one of run, test, bench)
	@scripts/fresh-check $(HALF)

##@ Measure

bench: bench-ready ## attention beside ONNX Runtime, PyTorch (5 GB to install) and plain OpenBLAS, to bench/results.md
	@torch=$$(bench/venv torch) && $$(bench/venv) bench/attention_peers.py $(B)/bench/attention_bench --torch $$torch --out bench/results.md

bench-service: bench-ready ## requests beside FastAPI with PyTorch (5 GB to install) and Node, to bench/service.md
	@torch=$$(bench/venv torch) && $$(bench/venv) bench/service/report.py $(B)/attnd $$torch >$(B)/service.md && \
		cp $(B)/service.md bench/service.md && cat bench/service.md

bench-wire: bench-ready ## tensors on the wire beside other languages, to bench/wire.md
	@$$(bench/venv) bench/wire_report.py $(B) >$(B)/wire.md && cp $(B)/wire.md bench/wire.md && cat bench/wire.md

bench-http: bench-ready ## small requests beside bare libmicrohttpd, FastAPI with PyTorch (5 GB to install) and Node, to bench/http.md
	@torch=$$(bench/venv torch) && $$(bench/venv) bench/service/http_report.py $(B) $$torch >$(B)/http.md && \
		cp $(B)/http.md bench/http.md && cat bench/http.md

bench-latency: bench-ready ## small requests beside large ones, to bench/latency.md
	@$(B)/bench/latency $(B)/attnd >$(B)/latency.md && cp $(B)/latency.md bench/latency.md && cat bench/latency.md

bench-replica: bench-ready ## what requests of several sizes cost a replica, for docs/scaling.md
	@PYTHONPATH=clients/python/src $$(bench/venv) bench/replica.py $(B)/attnd

bench-numbers: bench-ready ## reading and writing numbers beside jansson
	@$(B)/bench/number_bench

bench-web: test-deps ## the web UI in a browser
	$(submake) browser-tests
	@node tests/browser/bench.mjs

# ---- what these need ------------------------------------------------------------------------------------------------

test-deps:
	@scripts/deps build test

lint-deps:
	@scripts/deps build lint

exhaustive-ready:
	@scripts/deps build exhaustive
	$(submake) $(EXHAUSTIVE_TESTS)

bench-ready:
	@scripts/deps build bench
	$(submake) $(B)/attnd $(BENCHES) bench/service/node_modules/.package-lock.json
	@bench/venv >/dev/null

help:
	@awk -F ':.*## ' '/^##@ / { printf "\n%s\n", substr($$0, 5) } \
		/^[a-z0-9-]+:.*## / { printf "  make %-14s %s\n", $$1, $$2 }' Makefile
