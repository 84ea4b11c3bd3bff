# `make` or `make help` lists what there is.

GOLANGCI_LINT_VERSION := v2.15.0
FUZZTIME ?= 20000x
ROUNDS ?= 9
LIBCACHESIM := libcachesim==0.3.5
PEERS_TRACE ?= ../shared/traces/conversation_trace.jsonl
BIN := $(CURDIR)/bin

.DEFAULT_GOAL := help
.PHONY: help build test test-real race lint fuzz golden bench bench-growth bench-peers clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

build: ## build bin/kvfanin
	go build -o $(BIN)/kvfanin ./cmd/kvfanin

test: ## the tests
	go test ./...

test-real: ## the probe's cases on the real stacks, in environments in bin/; some minutes, 15 GB
	.ci/test-real

race: ## the tests under the race detector
	go test -race ./...

lint: $(BIN)/golangci-lint-$(GOLANGCI_LINT_VERSION) ## formatting and the linters, at a pinned version
	$< run ./...

$(BIN)/golangci-lint-$(GOLANGCI_LINT_VERSION):
	GOBIN=$(BIN) go install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(GOLANGCI_LINT_VERSION)
	mv $(BIN)/golangci-lint $@

fuzz: ## every native fuzz target, FUZZTIME (20000x) inputs each
	@grep -rlE '^func Fuzz' --include='*_test.go' . | xargs -n1 dirname | sort -u | while read -r dir; do \
		for target in $$(grep -ohE '^func Fuzz[A-Za-z]+' $$dir/*_test.go | cut -c6-); do \
			echo "$$dir $$target"; \
			go test $$dir -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME) || exit 1; \
		done; \
	done

golden: ## rewrite the golden files; read the difference before you commit it
	go test ./internal/fanin -run TestRules -rewrite
	go test ./internal/report -update

# Each thing and its bounds run in turn in one process, so that ratios come out.
bench: ## every part beside its bounds, ROUNDS (9) times in turn; some minutes
	@go test -p 1 -run '^$$' -bench '^Benchmark(Engine|Unbounded|CohortFile|Plan|Memory|Study|Parse)$$' -benchtime $(ROUNDS)x \
		./internal/fanin ./internal/trace ./internal/result ./internal/study ./internal/cli | awk -f bench/table.awk

bench-growth: ## a lookup over traces of 1, 11 and 110 million; takes 6 GB and some minutes
	@go test -p 1 -run '^$$' -bench '^BenchmarkGrowth$$' -benchtime 3x -timeout 30m ./internal/fanin | awk -f bench/table.awk

bench-peers: build ## libCacheSim on the same lookups, where it can be installed
	@if python3 -m venv $(BIN)/peers && $(BIN)/peers/bin/python -m pip install --quiet --disable-pip-version-check $(LIBCACHESIM); then \
		trace=$(PEERS_TRACE); \
		if [ ! -e "$$trace" ]; then \
			echo "$$trace is not there: over the generated trace"; \
			trace=$(BIN)/generated.jsonl; $(BIN)/kvfanin trace generate -o $$trace --quiet || exit 1; \
		fi; \
		$(BIN)/peers/bin/python bench/peers.py $(BIN)/kvfanin $$trace; \
	else \
		echo "nothing is compared: $(LIBCACHESIM) cannot be installed here (see above)"; \
	fi

clean: ## remove what make built
	rm -rf $(BIN)
