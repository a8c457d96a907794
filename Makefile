# Needs Go and make. git, where it is there, only names the version; a C
# compiler is needed for the race detector, and to see NVIDIA's devices.

GO           ?= go
FUZZTIME     ?= 5s
COUNT        ?= 1
BENCH        ?= .
BENCHTIME    ?= 1s
GOFLAGS_TEST ?=
PACKAGES     ?= ./...
STATICCHECK  := honnef.co/go/tools/cmd/staticcheck@v0.8.2
GOTESTSUM    := gotest.tools/gotestsum@v1.13.0

# The version comes from git below, so Go need not ask git, which refuses
# checkouts that belong to another user.
ifeq (,$(findstring -buildvcs,$(GOFLAGS)))
export GOFLAGS := $(strip $(GOFLAGS) -buildvcs=false)
endif

VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null)
MODULE  := github.com/ringmaster-project/ringmaster
LDFLAGS := -s -w $(if $(VERSION),-X $(MODULE)/cli.Version=$(VERSION))
SHIM    := agent/process/shim

.PHONY: help
help: ## list the targets
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "  make %-9s %s\n", $$1, $$2 }' Makefile

.PHONY: build
build: shim nvidia ## build bin/ringmaster and the example framework bin/treecount
	CGO_ENABLED=0 $(GO) build -trimpath -ldflags '$(LDFLAGS)' -o bin/ringmaster ./cli/ringmaster
	CGO_ENABLED=0 $(GO) build -trimpath -o bin/treecount ./framework/example/treecount

.PHONY: image
image: build ## the Docker image ringmaster, for compose.yaml
	docker build --tag ringmaster .

# The program that watches one task; the agent embeds it.
.PHONY: shim
shim:
	CGO_ENABLED=0 $(GO) build -trimpath -ldflags '-s -w' -o $(SHIM)/embedded/shim ./$(SHIM)

# The program that asks NVIDIA's driver; the agent embeds it, and runs it where
# that driver is. Its library is loaded when it is asked, so what a driver lacks
# must be bound late.
HELPER := agent/discovery/embedded/helper
.PHONY: nvidia
nvidia:
	@if [ "$$($(GO) env CGO_ENABLED)" = 1 ] && command -v $$($(GO) env CC) >/dev/null; then \
		CGO_ENABLED=1 $(GO) build -trimpath -ldflags '-s -w -extldflags=-Wl,-z,lazy' -o $(HELPER) ./agent/discovery/nvidia/helper; \
	else \
		rm -f $(HELPER); echo "no C compiler is here: this build can't see NVIDIA's devices"; \
	fi

.PHONY: run
run: build ## a cluster of one with real work in it, which stays up
	bin/ringmaster dev --stay -- bin/treecount --tree "$$($(GO) env GOROOT)/src"

.PHONY: demo
demo: build ## the same, ending with the result of the work
	bin/ringmaster dev -- bin/treecount --tree "$$($(GO) env GOROOT)/src"

# Tells at the end what was skipped and why. The tests of real processes share a
# few cores with all others: what failed is run once more alone, unless there was
# a data race or a panic, and the end tells of it too.
.PHONY: test
test: shim nvidia ## run all tests; what needs root or Docker runs where they are
	@$(GO) run $(GOTESTSUM) --format standard-quiet --rerun-fails=1 --rerun-fails-run-root-test --rerun-fails-abort-on-data-race --packages="$(PACKAGES)" -- -timeout 30m $(GOFLAGS_TEST)

.PHONY: race
race: ## run all tests under the race detector
	@$(MAKE) --no-print-directory test GOFLAGS_TEST='-race $(GOFLAGS_TEST)'

.PHONY: test-v2
test-v2: ## run the tests of isolation in a virtual machine with cgroups of version 2 alone (KERNEL=file)
	@.ci/test-v2

.PHONY: test-gpu
test-gpu: ## run the tests that want a real GPU, where NVIDIA's driver is
	$(GO) test -v -count 1 -run '^TestRealGPU' ./agent

.PHONY: fmt
fmt: ## say which files are not formatted
	@unformatted=$$(gofmt -l .); test -z "$$unformatted" || { echo "run gofmt -w on: $$unformatted"; exit 1; }

.PHONY: vet
vet: ## run go vet
	$(GO) vet $(PACKAGES)

.PHONY: lint
lint: fmt vet ## check the format, run go vet and staticcheck
	$(GO) run $(STATICCHECK) $(PACKAGES)

.PHONY: fuzz
fuzz: shim ## run every fuzz target for FUZZTIME (5s)
	@set -e; \
	for package in $$($(GO) list -f '{{if or .TestGoFiles .XTestGoFiles}}{{.ImportPath}}{{end}}' $(PACKAGES)); do \
		listed=$$($(GO) test -vet=off -list '^Fuzz' $$package); \
		for target in $$(echo "$$listed" | awk '/^Fuzz/'); do \
			echo "$$package $$target"; \
			$(GO) test -vet=off -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 20x $$package; \
		done; \
	done

.PHONY: reference
reference: shim ## write master/openapi.json and cli/REFERENCE.md, which tests hold to the code
	$(GO) test ./cli -run TestOpenAPI -update
	$(GO) run ./cli/ringmaster reference > cli/REFERENCE.md.new
	mv cli/REFERENCE.md.new cli/REFERENCE.md

CHAOS_TIME ?= 5m
SEED       ?= $(shell date +%s)

.PHONY: chaos
chaos: build ## break a real cluster for CHAOS_TIME (5m) in the order of SEED
	$(GO) build -o bin/chaos ./cli/chaos
	bin/chaos -ringmaster bin/ringmaster -time $(CHAOS_TIME) -seed $(SEED)

.PHONY: sim
sim: ## simulate clusters under faults for SIM_TIME (1m), or SEEDS of them, from the seed SEED
	SIM_TIME=$(or $(SIM_TIME),1m) SEED=$(SEED) $(GO) test -count 1 -timeout 0 -run '^TestForATime$$' -v ./cli/sim/faults

CHECKS ?= 2000

.PHONY: random
random: shim ## run the tests of random scenes in CHECKS (2000) new ones each (minutes)
	RAPID_CHECKS=$(CHECKS) $(GO) test -count 1 -timeout 0 $$(grep -rl --include='*_test.go' pgregory.net/rapid . | xargs -n 1 dirname | sort -u)

.PHONY: planted
planted: shim ## plant bugs one by one and see that tests catch them (BUG=name,... PROMISE=number)
	$(GO) run ./cli/planted $(if $(BUG),-bug $(BUG)) $(if $(PROMISE),-promise $(PROMISE))

# What README says of openb needs its files, which are not part of this tree.
TRACES ?= traces
NODES  ?= $(TRACES)/openb_node_list_gpu_node.csv
TASKS  ?= $(TRACES)/openb_pod_list_default.csv

.PHONY: fill
fill: build ## fill the openb cluster of TRACES, or NODES and TASKS (ten orders)
	bin/ringmaster simulate --nodes $(NODES) --tasks $(TASKS) --seeds 42-51 --plot bin/fill.svg \
		--placement rings,waste,least-requested,most-balanced,best-fit,fgd

.PHONY: churn
churn: build ## let its tasks come and go at two loads (five orders, minutes)
	for load in 0.98 1.03; do bin/ringmaster simulate --nodes $(NODES) --tasks $(TASKS) --churn $$load --seeds 1-5 \
		--plot bin/churn-$$load.svg --placement rings,waste,least-requested,best-fit,fgd || exit 1; done

.PHONY: packing
packing: build ## pack generated loads with cpus and memory only (ten orders)
	for like in google azure; do $(GO) run ./cli/sim/replay/testdata/loads -like $$like -out bin/$$like && \
		bin/ringmaster simulate --nodes bin/$$like/nodes.csv --tasks bin/$$like/tasks.csv --seeds 1-10 \
		--plot bin/$$like.svg --placement rings,waste,best-fit,first-fit,dot-product || exit 1; done

.PHONY: mixes
mixes: build ## fill the cluster from lists like the other published ones (three orders)
	$(GO) run ./cli/sim/replay/testdata/mixes -nodes $(NODES) -tasks $(TASKS) -out bin/mixes
	for mix in bin/mixes/*.csv; do echo "$$(basename $$mix .csv):" && bin/ringmaster simulate --nodes $(NODES) --tasks $$mix --seeds 42-44 \
		--placement waste,fgd || exit 1; done

PARTS ?= 4

.PHONY: parts
parts: build ## deal the cluster out to PARTS (4) masters that know nothing of each other, and fill each (ten orders)
	@mkdir -p bin/parts
	for part in $$(seq $(PARTS)); do awk -v parts=$(PARTS) -v part=$$part 'NR == 1 || NR % parts == part % parts' $(NODES) > bin/parts/$$part.csv && \
		bin/ringmaster simulate --nodes bin/parts/$$part.csv --tasks $(TASKS) --seeds 42-51 --placement waste || exit 1; done

.PHONY: steps
steps: shim ## kill an agent before every single step of a start (make test takes each fourth)
	RINGMASTER_TEST_STEPS=1 $(GO) test -count 1 -run '^TestKilledAtEveryStep$$' -v ./agent

.PHONY: damage
damage: ## damage 1,000 files of agents and masters in each of many ways
	RINGMASTER_TEST_DAMAGE=1000 $(GO) test -count 1 -timeout 0 -run 'Damaged' -v ./agent/checkpoint ./master/replica

.PHONY: bench
bench: shim ## run the benchmarks (BENCH=regexp BENCHTIME=1s)
	$(GO) test -run '^$$' -bench '$(BENCH)' -benchtime $(BENCHTIME) -benchmem $(PACKAGES)

.PHONY: allocator
allocator: shim ## measure the allocator in the shapes of Mesos' benchmarks (SHAPE=regexp COUNT=1, minutes)
	$(GO) test -run '^$$' -bench 'BenchmarkAllocator/$(SHAPE)' -benchtime 1x -count $(COUNT) -timeout 2h ./master/match

.PHONY: bench-report
bench-report: shim ## what a task costs as agents and tasks grow: a table, and master/lead/growth.svg (COUNT=1, minutes)
	$(GO) test -run '^$$' -bench Growth -benchtime 20x -count $(COUNT) -timeout 2h ./master/lead | $(GO) run ./cli/growth -svg master/lead/growth.svg

LOAD ?= batch

.PHONY: load
load: build ## measure a load of cli/testdata/loads (LOAD=batch; more flags in FLAGS)
	bin/ringmaster bench $$(sed '/^#/d' cli/testdata/loads/$(LOAD).txt) $(FLAGS)

.PHONY: cover
cover: shim ## measure what the tests cover, into bin/cover.out
	@mkdir -p bin
	$(GO) test -coverpkg=./... -coverprofile=bin/cover.out $(PACKAGES)
	$(GO) tool cover -func=bin/cover.out | tail -1

.PHONY: clean
clean: ## remove what was built
	rm -rf bin $(SHIM)/embedded/shim $(HELPER)
