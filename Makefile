# SPDX-License-Identifier: Apache-2.0
#
# A thin front for meson: what a person wants to type, and nothing that meson does better.
# `make help` lists the targets.
#
#   CC=clang make test    another compiler, in a build folder of its own
#   JOBS=1 make           fewer compilations at once

ifeq ($(origin CC),default)
CC := gcc
endif
export CC

compiler := $(notdir $(lastword $(CC)))
BUILD ?= $(if $(filter gcc cc,$(compiler)),build,build-$(compiler))
PREFIX ?= /usr/local
FUZZ_SECONDS ?= 60
SOAK_COMMANDS ?= 1000000
SOAK_KILLS ?= 1000
SOAK_SECRETS ?= 1000
SOAK_DAEMON_KILLS ?= 200
JOBS ?=

# What tools/setup has to find for this compiler.
toolchain := build $(if $(findstring clang,$(compiler)),clang)
sanitize := -Db_sanitize=address,undefined -Db_lundef=false -Doptimization=1

# What no distribution packages: what `tools/setup wasm dashboard` fetched. Once it is there, folders that
# were configured without it are configured again.
fetches := build-wasmtime/version build-dashboard/version

# $(call compile,FOLDER,MESON OPTIONS): configures once, then builds what changed.
define compile
	@test -f $(1)/build.ninja || meson setup $(1) $(2)
	@for file in $(fetches); do test ! $$file -nt $(1)/build.ninja || meson setup --reconfigure $(1) >/dev/null || exit 1; done
	@ninja -C $(1) $(if $(JOBS),-j$(JOBS))
endef

.DEFAULT_GOAL := build
.PHONY: help build demo test golden acceptance agents learn check asan fuzz coverage bench soak packages dist install uninstall format clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' Makefile

build: ## build everything into build/ (this is also what plain `make` does)
	@tools/setup $(toolchain)
	$(call compile,$(BUILD))

demo: build ## build, then watch the policy engine allow, deny and explain
	@tests/e2e/demo.sh $(BUILD)/src/cli/corral

# WASM skills and the dashboard are tested where Wasmtime and packages of npm can be fetched; in CI they must be.
.PHONY: fetched
fetched:
	@$(if $(filter true,$(CI)),,CORRAL_SETUP=$${CORRAL_SETUP:-try}) tools/setup wasm wasm-test dashboard

# What the tests need is installed where that takes no password. What is missing then is skipped by
# name; in CI nothing may be missing.
test: fetched build ## build and run all tests but those of `make acceptance`: unit, corpus, end to end …
	@$(if $(filter true,$(CI)),,CORRAL_SETUP=$${CORRAL_SETUP:-try}) tools/setup check man programs net
	@tools/run-tests $(BUILD) --no-suite acceptance --timeout-multiplier=3

golden: fetched build ## write tests/golden/ anew: what users and programs see; the commit says why it changed
	@tools/setup check
	@tests/golden/golden.py $(BUILD) --write

acceptance: fetched build ## run third-party clients that are slow to install: Chromium, coding agents, other sandboxes
	@CORRAL_SETUP=$${CORRAL_SETUP:-try} tools/setup acceptance dashboard-test agents
	@tools/run-tests $(BUILD) --suite acceptance --timeout-multiplier=3

agents: fetched build ## run all coding agents, OpenClaw among them, which takes minutes and 650 MB to install
	@CORRAL_SETUP=$${CORRAL_SETUP:-try} tools/setup acceptance agents openclaw
	@tools/run-tests $(BUILD) --timeout-multiplier=3 $(foreach name,aider claude codex gemini opencode openclaw,acceptance-agent-$(name))

learn: fetched build ## `corral learn` with all programs of tests/acceptance/learn.py; installs packages of PyPI, and PostgreSQL
	@CORRAL_SETUP=$${CORRAL_SETUP:-try} tools/setup acceptance net agents
	@CORRAL_LEARN=all tests/acceptance/learn.py --corral $(BUILD)/src/cli/corral --agents build-agents

check: fetched ## the static checks: format, clang-tidy, cppcheck, layers, symbols, words, scripts, manuals, budgets
	@tools/setup $(toolchain) check man
	$(call compile,$(BUILD))
	@tools/check $(BUILD)

.PHONY: asan-build
asan-build: fetched
	@tools/setup $(toolchain) $(if $(findstring clang,$(compiler)),clang-rt)
	$(call compile,$(BUILD)-asan,$(sanitize))

asan: asan-build ## all tests under AddressSanitizer and UndefinedBehaviorSanitizer; WITHOUT=programs leaves a suite out
	@ASAN_OPTIONS=detect_stack_use_after_return=1:strict_string_checks=1 \
		UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1 \
		tools/run-tests $(BUILD)-asan $(addprefix --no-suite ,acceptance $(WITHOUT)) --timeout-multiplier=8

fuzz: CC := clang
fuzz: ## run every fuzzer for FUZZ_SECONDS (60), or only FUZZ=name
	@tools/setup build clang-rt
	$(call compile,$(BUILD)-fuzz,-Dfuzz=true -Dtests=false $(sanitize))
	@tools/fuzz $(BUILD)-fuzz $(FUZZ_SECONDS) $(FUZZ)

coverage: ## line coverage in coverage/index.html; fails below 95 % in src/policy and src/codec
	@tools/setup $(toolchain) coverage
	$(call compile,$(BUILD)-coverage,-Db_coverage=true -Doptimization=0 -Dc_args=-fprofile-update=atomic)
	@tools/coverage $(BUILD)-coverage

bench: fetched ## measure, in an optimised build
	@tools/setup $(toolchain) bench wasm-test
	@$(if $(filter true,$(CI)),,CORRAL_SETUP=$${CORRAL_SETUP:-try}) tools/setup dashboard-test
	$(call compile,$(BUILD)-release,--buildtype=release)
	@meson test -C $(BUILD)-release --no-rebuild --benchmark --verbose

soak: ## run SOAK_COMMANDS (a million) commands in one sandbox: nothing may grow; 1,000 sandboxes and runs at once; kill a log's writer, and processes of a broker, 1,000 times, those of the daemon 200 times; lend a secret for 1,000 rounds of requests
	@tools/setup $(toolchain)
	$(call compile,$(BUILD)-release,--buildtype=release)
	@$(BUILD)-release/bench/soak $(BUILD)-release/src/warden/corral-warden $(SOAK_COMMANDS)
	@$(BUILD)-release/bench/bench-many $(BUILD)-release/src/warden/corral-warden $(BUILD)-release/src/cli/corral
	@CMOCKA_MESSAGE_OUTPUT=TAP $(BUILD)-release/src/test/test-audit-store-store-crash $(SOAK_KILLS)
	@CORRAL=$(BUILD)-release/src/cli/corral CORRAL_WARDEN=$(abspath $(BUILD)-release/src/warden/corral-warden) \
		CORRAL_BROKER=$(abspath $(BUILD)-release/src/broker/program/corral-broker) \
		CORRAL_FETCH=$(abspath $(BUILD)-release/src/broker/corral-fetch) SDK=sdk python3 tests/e2e/test-broker-kills.py $(SOAK_KILLS)
	@CORRAL=$(BUILD)-release/src/cli/corral CORRALD=$(BUILD)-release/src/daemon/corrald \
		CORRALD_HTTP=$(abspath $(BUILD)-release/src/daemon/corrald-http) \
		CORRALD_ENCLAVE=$(abspath $(BUILD)-release/src/daemon/corrald-enclave) python3 tests/e2e/test-daemon-kills.py $(SOAK_DAEMON_KILLS)
	@CORRAL=$(BUILD)-release/src/cli/corral CORRALD=$(BUILD)-release/src/daemon/corrald \
		CORRALD_HTTP=$(abspath $(BUILD)-release/src/daemon/corrald-http) python3 tests/e2e/test-daemon-full.py $(SOAK_DAEMON_KILLS)
	@CORRAL=$(BUILD)-release/src/cli/corral CORRAL_VAULT=$(abspath $(BUILD)-release/src/vault/corral-vault) \
		CORRAL_INJECT=$(abspath $(BUILD)-release/src/inject/corral-inject) python3 bench/soak-secrets.py $(SOAK_SECRETS)
	@tools/setup net
	@CORRAL_NET_QUERIES=$(SOAK_COMMANDS) tests/net/run.py --programs $(BUILD)-release/tests/net \
		--corral $(BUILD)-release/src/cli/corral --parts attacks --only "in great number"

packages: ## build the Debian packages of this commit into packages/
	@tools/make-packages packages

dist: build ## the sources of this commit, a list of what they are built with (SBOM) and digests, in packages/
	@tools/make-dist packages $(BUILD)

# Where the compiler and the loader of this system look for libraries; Meson asks dpkg-dev, which may not be there. The
# loader finds new ones after ldconfig.
libdir = $$(to=$$($(compiler) -print-multiarch 2>/dev/null); echo $${to:+--libdir=lib/$$to})

# The nearest folder that exists decides, before minutes of building.
install: ## build for use and install under PREFIX (/usr/local); DESTDIR is honoured
	@to='$(DESTDIR)$(PREFIX)'; while [ ! -e "$$to" ] && [ "$${to%/*}" != "$$to" ]; do to=$${to%/*}; done; \
		[ -e "$${to:-/}" ] || to=.; test -w "$${to:-/}" || { echo "make: cannot write $(DESTDIR)$(PREFIX): use \`sudo make install\`," \
		"or \`make install PREFIX=\$$HOME/.local\`" >&2; exit 1; }
	@test ! -e $(BUILD)-install || test -w $(BUILD)-install || { echo "make: another user built $(BUILD)-install, by sudo perhaps:" \
		"\`sudo rm -r $(BUILD)-install\`, then try again" >&2; exit 1; }
	@tools/setup $(toolchain) man
	@CORRAL_SETUP=$${CORRAL_SETUP:-try} tools/setup dashboard
	@test ! -f $(BUILD)-install/build.ninja || meson configure $(BUILD)-install --prefix=$(PREFIX) $(libdir)
	$(call compile,$(BUILD)-install,--buildtype=release --prefix=$(PREFIX) $(libdir) -Dtests=false)
	@meson install -C $(BUILD)-install --no-rebuild
	@test -n '$(DESTDIR)' || test "$$(id -u)" -ne 0 || ! command -v ldconfig >/dev/null || ldconfig
	@case ":$$PATH:" in *":$(PREFIX)/bin:"*) ;; *) echo "add $(PREFIX)/bin to PATH";; esac
	@test -f build-wasmtime/version || echo "WASM skills are not built in: \`tools/setup wasm\` fetches Wasmtime, then install again"
	@echo "next: corral doctor; docs/tutorial.md"

uninstall: ## remove what `make install` installed from this tree
	@test -f $(BUILD)-install/build.ninja || { echo "make: nothing was installed from this tree: $(BUILD)-install is not there" >&2; exit 1; }
	@ninja -C $(BUILD)-install uninstall
	@to=$$(meson introspect --buildoptions $(BUILD)-install | python3 -c 'import json, sys; print(next(o["value"] for o in json.load(sys.stdin) if o["name"] == "prefix"))'); \
		for folder in share libexec include; do find "$(DESTDIR)$$to/$$folder/corral" -type d -empty -delete 2>/dev/null || true; done

format: ## reformat all C sources in place
	@tools/setup format
	@tools/list-files '*.c' '*.h' | xargs clang-format -i

clean: ## remove the build folders
	rm -rf $(BUILD) $(BUILD)-asan $(BUILD)-fuzz $(BUILD)-coverage $(BUILD)-release $(BUILD)-install coverage
