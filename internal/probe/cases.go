package probe

// loadPath is the counts along the path of a load in vLLM with Mooncake. That
// all are N for N requests is what the probe is about.
var loadPath = []string{"lookups", "load_specs", "queue_entries", "gets", "destinations", "block_ids"}

// duplicated is what n requests for one block do when nothing is merged and
// nothing fails.
func duplicated(n int64) Expected {
	return expect(
		exactly(Held, n, "lookups", "load_specs", "queue_entries", "block_ids", "waiting"),
		exactly(Held, 1, "gets", "gets_in_flight", "destinations"),
		exactly(Held, 0, "bytes", "receives_done", "publications", "finished", "errors", "aborted", "barrier_timeouts"),
		exactly(End, n, loadPath...),
		exactly(End, n, "receives_done", "publications", "cached_copies", "finished"),
		exactly(End, n*blockBytes, "bytes"),
		exactly(End, 1, "gets_in_flight"),
		exactly(End, 0, "errors", "aborted", "barrier_timeouts"),
		exactly(Late, 1, "lookups", "finished"),
		exactly(Late, 0, "load_specs", "queue_entries", "gets", "destinations", "block_ids", "bytes",
			"receives_done", "publications", "errors", "aborted"),
		exactly(Whole, 1, "each_finished_once"),
		exactly(Whole, n, "blocks_right", "finish_reason.length"),
		exactly(InModel, 1, "agrees"),
	)
}

// Sizes of a block of the harness's model: of 16 tokens in the stepped engine, of
// 32 in the full one.
const (
	blockBytes     = 16384
	fullBlockBytes = 2 * blockBytes
)

// mooncake returns a case of vLLM with Mooncake that changes some of the
// defaults.
func mooncake(name, why string, change func(*Parameters), expected Expected, more ...func(*Case)) *Case {
	return newCase(Targets[0], name, why, change, expected, more)
}

// inLMCache returns a case of LMCache.
func inLMCache(name, why, mode string, change func(*Parameters), expected Expected, more ...func(*Case)) *Case {
	return newCase(Targets[1], name, why, func(p *Parameters) {
		p.Mode = mode
		p.LateRequest = false
		change(p)
	}, expected, more)
}

func newCase(t *Target, name, why string, change func(*Parameters), expected Expected, more []func(*Case)) *Case {
	c := &Case{Name: name, Target: t, Parameters: Defaults(), Why: why, expect: expected}
	change(&c.Parameters)
	for _, m := range more {
		m(c)
	}
	return c
}

func asDefault(*Parameters) {}

func apart(why string) func(*Case)    { return func(c *Case) { c.Apart = why } }
func removes(what string) func(*Case) { return func(c *Case) { c.Removes = what } }

// Reasons why model and stack do not agree.
const (
	apartRetry    = "the model knows no failure, and a load that fails is made again"
	apartPressure = "the model's loads hold no memory; here a request that finds no block comes to its lookup only when others have published"
	apartMerged   = "the stack makes fewer loads than attempts: duplicates are merged"
)

// Cases are all cases there are, in the order they are listed and run.
var Cases = []*Case{
	mooncake("held", "equal cold requests with the first Get held: each layer does its work once for each",
		asDefault,
		duplicated(8),
		removes("nothing is removed: N of each, though one thread submits the Gets one after another")),

	mooncake("threads", "a receive thread for each request: all Gets are in flight at once",
		func(p *Parameters) { p.ReceiveThreads, p.HeldGets = 8, 8 },
		duplicated(8).with(expect(
			exactly(Held, 8, "gets", "gets_in_flight", "destinations"),
			exactly(End, 8, "gets_in_flight"),
		))),

	mooncake("thirty", "30 requests: the counts grow with N",
		func(p *Parameters) { p.Requests = 30 },
		duplicated(30)),

	mooncake("stagger", "arrivals 5 ms apart, all before the release: as at once",
		func(p *Parameters) { p.StaggerMS = 5 },
		duplicated(8)),

	mooncake("async_lookup", "the connector looks up beside the scheduler, which asks again each step",
		func(p *Parameters) { p.AsyncLookup = true },
		duplicated(8)),

	mooncake("get_fails", "the first Get fails (-800) and the policy is fail: its request ends in an error, the others load all the same",
		func(p *Parameters) { p.Fault = "first_get_fails" },
		duplicated(8).with(expect(
			exactly(End, 7, "publications", "cached_copies"),
			exactly(End, 7*blockBytes, "bytes"),
			exactly(End, 1, "errors"),
			exactly(Whole, 7, "blocks_right", "finish_reason.length"),
			exactly(Whole, 1, "finish_reason.error", "get_code.-800"),
		))),

	mooncake("get_fails_recompute", "the first Get fails (-800) and the policy is recompute: a full retry, with a lookup and a load of its own",
		func(p *Parameters) { p.Fault, p.FailurePolicy = "first_get_fails", "recompute" },
		duplicated(8).with(expect(
			exactly(End, 9, "lookups", "load_specs", "queue_entries", "gets", "receives_done"),
			exactly(Whole, 1, "get_code.-800"),
			exactly(InModel, 0, "agrees"),
		)),
		apart(apartRetry)),

	mooncake("removed", "the object is removed while the first Get is held: every Get fails (-704), and every request with it",
		func(p *Parameters) { p.Fault = "object_removed" },
		duplicated(8).with(expect(
			exactly(End, 0, "publications", "cached_copies", "bytes"),
			exactly(End, 8, "errors"),
			exactly(Whole, 0, "blocks_right"),
			exactly(Whole, 8, "finish_reason.error", "get_code.-704"),
		)).without(Whole, "finish_reason.length")),

	mooncake("removed_recompute", "the object is removed and the policy is recompute: one request computes the block, and the others hit it",
		func(p *Parameters) { p.Fault, p.FailurePolicy = "object_removed", "recompute" },
		duplicated(8).with(expect(
			exactly(End, 16, "lookups"),
			exactly(End, 0, "publications", "bytes"),
			exactly(End, 1, "cached_copies"),
			exactly(Whole, 0, "blocks_right"),
			exactly(Whole, 8, "get_code.-704"),
		))),

	mooncake("abort_held", "a request is aborted while its Get is held: the Get still runs, and the blocks stay taken until it ends",
		func(p *Parameters) { p.Fault = "abort_held" },
		duplicated(8).with(aborted)),

	mooncake("abort_queued", "a request is aborted while it waits in the receive queue: its Get still comes",
		func(p *Parameters) { p.Fault = "abort_queued" },
		duplicated(8).with(aborted)),

	mooncake("pressure", "8 free blocks: who finds none asks again each step, and hits what others publish",
		func(p *Parameters) { p.GPUBlocks = 9 },
		duplicated(8).with(expect(
			exactly(Held, 4, "load_specs", "queue_entries", "block_ids", "waiting"),
			between(Held, 6, 40, "lookups"),
			between(End, 12, 60, "lookups"), // those of the blocked head, again in each step
			exactly(End, 4, "load_specs", "queue_entries", "gets", "destinations", "block_ids",
				"receives_done", "publications", "cached_copies"),
			exactly(End, 4*blockBytes, "bytes"),
			exactly(Whole, 4, "blocks_right"),
			exactly(InModel, 0, "agrees"),
		)),
		apart(apartPressure)),

	mooncake("load_sync", "load_async off: the connector's own assertion ends it, which is why nobody runs it so",
		func(p *Parameters) { p.LoadAsync = false },
		duplicated(8).with(expect(
			exactly(Held, 1, "load_specs", "queue_entries", "block_ids"),
			exactly(Held, 0, "waiting"),
			exactly(End, 1, "load_specs", "queue_entries", "gets", "destinations", "block_ids", "cached_copies"),
			exactly(End, blockBytes, "bytes"),
			exactly(End, 0, "receives_done", "publications", "finished"),
			exactly(Whole, 0, "each_finished_once"),
			exactly(Whole, 1, "blocks_right"),
			exactly(InModel, 0, "agrees"),
		)).without(Whole, "finish_reason.length").without(Late),
		apart("a synchronous load publishes its block when it is allocated, so that one load serves all")),

	mooncake("full", "the whole engine, with random weights: the same counts, and the tokens of a run without a store",
		func(p *Parameters) { p.Engine = EngineFull },
		duplicated(8).with(expect(
			exactly(End, 8*fullBlockBytes, "bytes"),
			exactly(Whole, 8, "tokens_compared", "tokens_equal"),
		))),

	mooncake("owner_killed", "the process that owns the object is killed while the first Get is held: every Get fails (-800)",
		func(p *Parameters) {
			p.Requests, p.Store, p.Fault = 3, StoreReal, "owner_killed"
			p.WaitS = 120         // the transfer may give up only after 60 s
			p.LateRequest = false // whether it still finds the object depends on when the master misses the owner
		},
		duplicated(3).with(expect(
			exactly(End, 0, "publications", "cached_copies", "bytes"),
			exactly(End, 3, "errors"),
			exactly(Whole, 0, "blocks_right"),
			exactly(Whole, 3, "finish_reason.error", "get_code.-800"),
		)).without(Whole, "finish_reason.length").without(Late)),

	inLMCache("sync", "LMCacheConnectorV1, synchronous, with prefix caching", "sync", asDefault,
		inScheduler.with(expect(
			exactly(Held, 1, "load_specs", "queue_entries", "gets", "gets_in_flight", "staging_allocations", "block_ids", "cached_copies"),
			exactly(End, 1, "load_specs", "queue_entries", "gets", "gets_in_flight", "staging_allocations", "block_ids", "cached_copies"),
			exactly(End, blockBytes, "bytes"),
			exactly(Whole, 1, "blocks_right"),
			exactly(InModel, 0, "agrees"),
		)),
		apart(apartMerged),
		removes("all but the lookup, by vLLM's prefix cache: a synchronous load publishes its block when it is allocated")),

	inLMCache("sync_no_prefix_cache", "LMCacheConnectorV1, synchronous, without prefix caching", "sync",
		func(p *Parameters) { p.PrefixCaching = false },
		inScheduler.with(expect(
			exactly(Held, 8, "load_specs", "block_ids"),
			exactly(Held, 1, "queue_entries", "gets", "gets_in_flight", "staging_allocations"),
			exactly(Held, 0, "cached_copies"),
			exactly(End, 8, "load_specs", "queue_entries", "gets", "staging_allocations", "block_ids"),
			exactly(End, 8*blockBytes, "bytes"),
			exactly(End, 1, "gets_in_flight"),
			exactly(End, 0, "cached_copies"),
			exactly(Whole, 8, "blocks_right"),
			exactly(InModel, 1, "agrees"),
		)),
		removes("nothing: it was vLLM's prefix cache that merged, and not LMCache")),

	inLMCache("async", "LMCacheConnectorV1 with enable_async_loading", "async", asDefault,
		inScheduler.with(expect(
			exactly(Held, 1, "gets", "gets_in_flight", "staging_allocations"),
			exactly(Held, 0, "load_specs", "queue_entries", "block_ids", "cached_copies"),
			exactly(End, 8, "gets", "staging_allocations"),
			exactly(End, 8*blockBytes, "bytes"),
			exactly(End, 1, "load_specs", "queue_entries", "gets_in_flight", "block_ids", "cached_copies"),
			exactly(Whole, 1, "blocks_right"),
			exactly(InModel, 1, "agrees"),
		)),
		removes("retrieves and device blocks, by vLLM's prefix cache; not the cold reads, which LMCache starts at each lookup")),

	inLMCache("mp", "LMCacheMPConnector with the multiprocess server, every lookup answered before the next poll", "mp", asDefault,
		inServer.with(expect(
			exactly(Held, 8, "gets", "gets_in_flight", "staging_allocations"),
			exactly(End, 8, "gets", "gets_in_flight", "staging_allocations"),
			exactly(End, 8*blockBytes, "bytes"),
			exactly(InModel, 1, "agrees"),
		)),
		removes("nothing")),

	inLMCache("mp_one_prefetch", "LMCacheMPConnector with one prefetch in flight at most in its server", "mp",
		func(p *Parameters) { p.PrefetchInFlight = 1 },
		inServer.with(expect(
			exactly(Held, 1, "gets", "gets_in_flight", "staging_allocations"),
			exactly(End, 1, "gets", "gets_in_flight", "staging_allocations"),
			exactly(End, blockBytes, "bytes"),
			exactly(InModel, 0, "agrees"),
		)),
		apart(apartMerged),
		removes("cold reads and staging, by the bound on prefetches in flight: later ones find the block resident; not the device blocks")),

	inLMCache("engine", "LMCache's engine alone, 8 threads, all reads held", "engine",
		func(p *Parameters) { p.HeldGets = 8 },
		inEngine.with(expect(
			exactly(Held, 8, "queue_entries", "gets", "gets_in_flight", "staging_allocations"),
			exactly(End, 8, "gets_in_flight"),
		)),
		removes("nothing: the write-back keeps one of the 8 buffers and drops 7")),

	inLMCache("engine_prefetch", "LMCache's engine alone, asynchronous prefetch", "engine_prefetch", asDefault,
		inEngine.with(expect(
			exactly(Held, 1, "gets", "gets_in_flight", "staging_allocations"),
			exactly(Held, 0, "queue_entries"),
			exactly(End, 1, "gets_in_flight"),
		)),
		removes("nothing: what is prefetched does not enter the local CPU tier")),

	newCase(Targets[2], "offloading", "vLLM's own OffloadingConnector, the one ownership design that ships: it parks followers", asDefault,
		duplicated(8).with(expect(
			between(Held, 8, 400, "lookups"), // a follower is asked again each step
			exactly(Held, 1, "load_specs", "gets", "block_ids", "waiting"),
			exactly(Held, 7, "parked"),
			between(End, 8, 800, "lookups"),
			exactly(End, 1, "load_specs", "gets", "destinations", "block_ids", "receives_done", "publications", "cached_copies"),
			exactly(End, blockBytes, "bytes"),
			exactly(Late, 0, "lookups"),
			exactly(Whole, 1, "blocks_right"),
			exactly(InModel, 0, "agrees"),
		)).without(Held, "queue_entries").without(End, "queue_entries").without(Late, "queue_entries"),
		[]func(*Case){
			apart(apartMerged),
			removes("all but the question, by the connector: while a block is in flight the others are told to ask again"),
		}),

	newCase(Targets[2], "offloading_no_prefix_cache", "the same with prefix caching off: nobody is parked",
		func(p *Parameters) { p.PrefixCaching, p.HeldGets, p.LateRequest = false, 8, false },
		duplicated(8).with(expect(
			exactly(Held, 0, "parked"),
			exactly(Held, 8, "gets", "gets_in_flight", "destinations"),
			exactly(End, 8, "gets_in_flight"),
			exactly(End, 0, "publications", "cached_copies"),
		)).without(Held, "queue_entries").without(End, "queue_entries").without(Late),
		[]func(*Case){
			removes("nothing: who is parked waits for the prefix cache, and there is none"),
		}),
}

// inScheduler is what is common to the paths of LMCache in vLLM's process.
var inScheduler = expect(
	exactly(Held, 8, "lookups"),
	exactly(Held, 0, "waiting", "bytes", "finished", "errors", "barrier_timeouts"),
	exactly(End, 8, "lookups", "finished"),
	exactly(End, 0, "errors", "barrier_timeouts"),
	exactly(Whole, 1, "each_finished_once"),
	exactly(Whole, 8, "finish_reason.length"),
)

// inServer is what is common to the paths through LMCache's multiprocess server.
var inServer = inScheduler.with(expect(
	exactly(Held, 0, "load_specs", "queue_entries", "block_ids", "cached_copies", "receives_done", "publications"),
	exactly(End, 8, "load_specs", "queue_entries", "block_ids", "cached_copies", "receives_done", "publications"),
	exactly(Whole, 8, "blocks_right"),
))

// inEngine is what is common to the paths of LMCache's engine alone.
var inEngine = expect(
	exactly(Held, 8, "lookups"),
	exactly(Held, 0, "bytes", "finished", "barrier_timeouts"),
	exactly(End, 8, "lookups", "queue_entries", "gets", "staging_allocations", "finished"),
	exactly(End, 8*blockBytes, "bytes"),
	exactly(End, 0, "barrier_timeouts"),
	exactly(Whole, 1, "each_finished_once"),
	exactly(Whole, 8, "blocks_right"),
	exactly(InModel, 1, "agrees"),
)

// aborted is what one aborted request changes.
var aborted = expect(
	exactly(End, 7, "publications", "cached_copies"),
	exactly(End, 1, "aborted"),
	exactly(Whole, 7, "finish_reason.length"),
	exactly(Whole, 1, "finish_reason.abort"),
)
