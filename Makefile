SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
GO ?= go
FUZZTIME ?= 5s
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo devel)
LDFLAGS := -X github.com/pawl-dev/pawl/internal/cli.release=$(VERSION)

.PHONY: help build demo test unit race fuzz lint e2e bench soak docs interop embed tools clean

help: ## what can be made
	@grep -E '^[a-z0-9]+:.*##' $(MAKEFILE_LIST) | sort | awk -F ':.*## ' '{printf "  make %-9s %s\n", $$1, $$2}'

build: ## bin/syncer and bin/agent
	@mkdir -p bin
	$(GO) build -ldflags '$(LDFLAGS)' -o bin/ ./cmd/syncer ./cmd/agent

demo: build ## a commit becomes a running job, a revert a rollback; KEEP=1 stays up for your own commits
	@bin/syncer demo $(if $(KEEP),--keep)

test: tools build lint unit race e2e embed fuzz ## everything that must be green

unit: ## tests of the packages
	$(GO) test $(shell $(GO) list ./... | grep -v /e2e)

race: ## the same under the race detector
	$(GO) test -race -short $(shell $(GO) list ./... | grep -v -e /e2e -e /archtest)

e2e: build ## both programs on real Git and real Redis: stories, crashes, rivals
	$(GO) test -count=1 -timeout 15m ./e2e/...

embed: ## the library as an outside module uses it
	cd examples/embed && $(GO) vet ./... && $(GO) test -count=1 ./... && $(GO) run .

lint: ## gofmt, vet, staticcheck
	@unformatted=$$(gofmt -l .); if [ -n "$$unformatted" ]; then echo "gofmt is needed by: $$unformatted" >&2; exit 1; fi
	$(GO) vet ./...
	$(GO) tool staticcheck ./...
	$(GO) mod tidy -diff

fuzz: ## every fuzz target for FUZZTIME
	@for p in $$($(GO) list ./...); do for f in $$($(GO) test -list '^Fuzz' $$p | grep '^Fuzz' || true); do \
		echo "$$p $$f"; $(GO) test -run '^$$' -fuzz "^$$f$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 10x $$p; done; done

bench: build ## figures against git and redis themselves, in one run
	$(GO) run ./bench

soak: build ## the long versions of the e2e stories
	PAWL_E2E_SOAK=1 $(GO) test -count=1 -timeout 2h ./syncer ./e2e/...

interop: build ## a Java program reads what the syncer stored
	interop/run.sh

docs: ## what is generated in docs/
	$(GO) test ./spec -run TestTheStatesPage -update
	$(GO) test ./specfile -run TestSchemas -update
	$(GO) test ./e2e -run TestTheCasesPage -update

tools: # what the tests need and a fresh machine may lack
	@need=(); command -v git >/dev/null || need+=(git); command -v redis-server >/dev/null || need+=(redis-server); \
	if (( $${#need[@]} )); then \
		sudo=; [ "$$(id -u)" = 0 ] || sudo=sudo; \
		echo "installing $${need[*]}"; $$sudo apt-get update -qq; DEBIAN_FRONTEND=noninteractive $$sudo apt-get install -y -qq --no-install-recommends "$${need[@]}" >/dev/null; fi

clean: ## remove what was built
	rm -rf bin
