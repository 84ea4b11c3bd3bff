# `make` or `make help` lists what there is.

GOLANGCI_LINT_VERSION := v2.15.0
FUZZTIME ?= 20000x
BIN := $(CURDIR)/bin

.DEFAULT_GOAL := help
.PHONY: help build test race lint fuzz golden clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-8s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

build: ## build bin/kvfanin
	go build -o $(BIN)/kvfanin ./cmd/kvfanin

test: ## the tests
	go test ./...

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

clean: ## remove what make built
	rm -rf $(BIN)
