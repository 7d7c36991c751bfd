# Everything that is done to Galley by hand or by machine. `make help` lists it.
SHELL := /bin/bash
GO    ?= go
TAGS  := desktop,production,webkit2_41
OUT   := bin
ARGS  ?=
NPM   := npm --prefix frontend
FIDELITY ?=
STREAMS  ?=
KILLS    ?=
RUN      ?=
SOAK     ?=
SOAK_SEED ?=

export CGO_ENABLED ?= 1
export NO_COLOR ?= 1

.DEFAULT_GOAL := help
.PHONY: help run dev build check test test-unit test-front test-window e2e generate test-files test-providers test-crash test-oracle test-soak test-keyring bench bench-start bench-save bench-search bench-host bench-open fuzz fmt lint screenshots deps deps-test clean

## help: list the targets
help:
	@grep -E '^## ' $(MAKEFILE_LIST) | sed -E 's/^## ([a-z-]+): /  \1\t/' | expand -t 18

## run: install what is missing, build, open the window on the sample folder (ARGS=/some/folder opens another)
run: deps build
	./$(OUT)/galley $(if $(ARGS),$(ARGS),--sample)

## dev: the window on a front end that reloads while you edit it
dev: deps frontend/node_modules
	@$(NPM) run dev & pid=$$!; trap 'kill $$pid' EXIT; \
	  $(GO) build -tags dev,webkit2_41 -o $(OUT)/galley-dev . && \
	  ./$(OUT)/galley-dev -frontenddevserverurl http://localhost:5173 -devserver localhost:34115 $(if $(ARGS),$(ARGS),--sample)

## build: the front end and the program, into bin/galley
build: $(OUT)/galley

$(OUT)/galley: frontend-dist FORCE
	$(GO) build -trimpath -tags "$(TAGS)" -ldflags "-s -w" -o $@ .

# The same program with WebKit's inspector left open, for the window tests.
$(OUT)/galley-e2e: frontend-dist FORCE
	$(GO) build -trimpath -tags "$(TAGS),e2e" -ldflags "-s -w" -o $@ .

# The same program on a development server, for Chromium.
$(OUT)/galley-dev: frontend-dist FORCE
	$(GO) build -tags "dev,webkit2_41" -o $@ .

.PHONY: FORCE frontend-dist
FORCE:

frontend-dist: frontend/node_modules
	@build/stale frontend/dist/index.html frontend/src frontend/index.html frontend/vite.config.ts frontend/package-lock.json \
	  && $(NPM) run build --silent || true
	@test -f frontend/dist/index.html

frontend/node_modules: frontend/package-lock.json
	$(NPM) ci --no-audit --no-fund
	@touch $@

## deps: install what building needs
deps:
	@build/deps build

# What the tests need on top of that.
deps-test:
	@build/deps test

## check: formatting, lint, layers, types, generated code
check: frontend/node_modules
	@build/check

## fmt: format Go and TypeScript
fmt: frontend/node_modules
	$(GO) tool gofumpt -w $$(git ls-files '*.go')
	$(NPM) run fmt --silent

## lint: the linters alone
lint: frontend/node_modules
	@build/lint

## generate: write generated code (frontend/src/backend/gen.ts, the surface)
generate:
	$(GO) run ./backend/api/tsgen > frontend/src/backend/gen.ts
	$(GO) test ./backend/api -run Surface -update

## test: everything that decides correctness; installs what it needs
test: deps deps-test check test-unit test-crash test-oracle test-front e2e test-window
	@build/summary

# Go, with the race detector.
test-unit:
	@build/gotest

# TypeScript.
test-front: frontend/node_modules
	$(NPM) test --silent

## e2e: the page in Chromium against the real back end
e2e: $(OUT)/galley-dev
	cd frontend && node --test --test-concurrency=1 e2e/chromium/*.test.mjs

## test-window: the real window under Xvfb
test-window: $(OUT)/galley-e2e $(OUT)/galley
	cd frontend && node --test --test-concurrency=1 e2e/window/*.test.mjs

## test-files: files and workspace through all layers; FIDELITY=file takes another corpus
test-files: deps deps-test frontend/node_modules $(OUT)/galley-dev $(OUT)/galley-e2e $(OUT)/galley
	@build/files

## test-providers: streams, faults and profiles of all providers, a row each; STREAMS=file plays another file of the form of streams.json
test-providers: frontend/node_modules
	@STREAMS=$(STREAMS) build/providers

## test-crash: the program killed at every point of the crash matrix, a row each; RUN=12 plays one row
test-crash:
	@RUN=$(RUN) build/crash

## test-oracle: our requests and answers beside the official SDKs of OpenAI, Anthropic and Google
test-oracle:
	cd backend/provider/oracle && $(GO) test -count=1 -timeout 20m ./...

## test-soak: the agent with tools, cancels and kills at random points for two minutes; SOAK=10m changes the time, SOAK_SEED=n repeats one
test-soak:
	@set -o pipefail; SOAK=$(SOAK) SOAK_SEED=$(SOAK_SEED) $(GO) test -count=1 -tags soak -timeout 120m -v -run '^TestSoak$$' ./backend/cli | grep -vE '^(===|--- PASS|PASS|ok.*galley/backend)'

## test-keyring: a real keyring that is unlocked, locked, missing, dies in mid-call or hangs: what a person sees, a line each; and a planted key through every door
test-keyring:
	@set -o pipefail; $(GO) test -count=1 -v -run '^TestKeyring_' ./backend/api | grep -vE '^===|--- PASS|^PASS' | sed -E 's/^ +[a-z_]+_test\.go:[0-9]+: (keyring|planted): /\1: /'

## fuzz: every fuzzer for half a minute each
fuzz:
	@build/fuzz

## bench: all benchmarks, one line a figure
bench: bench-start bench-search bench-host
	$(GO) test -run '^$$' -bench . -benchtime 200ms ./backend/...

## bench-start: binary and bundle size, start to usable window, memory
bench-start: $(OUT)/galley-e2e $(OUT)/galley
	cd frontend && node e2e/bench-start.mjs

## bench-save: a durable save beside the bare calls; KILLS=10000 kills that many saves as well
bench-save:
	$(GO) run ./backend/bench/save
	@if [ -n "$(KILLS)" ]; then set -o pipefail; KILLS=$(KILLS) $(GO) test -count=1 -timeout 60m -v -run KilledRounds ./backend/workspace | grep -vE '^(===|PASS)'; fi

## bench-search: the search over 20,000 files beside ripgrep's
bench-search:
	@build/deps bench
	$(GO) run ./backend/bench/search

## bench-host: the agent's two processes: an event, a call of a tool, a preview, a start; and a cancel beside a slow client
bench-host:
	$(GO) run ./backend/bench/host
	@set -o pipefail; $(GO) test -count=1 -v -run 'SlowClient|FloodOfPreviews' ./backend/attach ./backend/agent/runner | grep -o 'bm-14 .*'

## bench-open: open to first paint of large documents, beside Monaco
bench-open: deps-test $(OUT)/galley-dev $(OUT)/galley-e2e frontend/bench/node_modules
	cd frontend && node e2e/bench-open.mjs

frontend/bench/node_modules: frontend/bench/package-lock.json
	$(NPM)/bench ci --no-audit --no-fund --ignore-scripts
	@touch $@

## screenshots: the pictures of docs/images
screenshots: deps-test $(OUT)/galley-e2e
	cd frontend && node e2e/screenshots.mjs

## clean: remove what was built
clean:
	rm -rf $(OUT) frontend/dist/*
