package probe

import "fmt"

// Parameters are what the harness is told of a case. All stand in the message,
// always: the defaults are here and nowhere else.
type Parameters struct {
	Requests         int     `json:"requests"`      // equal requests, all cold
	SharedBlocks     int     `json:"shared_blocks"` // blocks that they have in common
	ReceiveThreads   int     `json:"receive_threads"`
	Store            string  `json:"store"`  // StoreFake or StoreReal
	Engine           string  `json:"engine"` // EngineStepped or EngineFull
	AsyncLookup      bool    `json:"async_lookup"`
	LoadAsync        bool    `json:"load_async"`
	FailurePolicy    string  `json:"failure_policy"` // fail or recompute
	StaggerMS        float64 `json:"stagger_ms"`     // between arrivals
	GPUBlocks        int     `json:"gpu_blocks"`
	HeldGets         int     `json:"held_gets"` // Gets at the barrier that make the state "held"
	Fault            string  `json:"fault"`
	LateRequest      bool    `json:"late_request"` // one more, after publication
	Mode             string  `json:"mode"`         // which path, where a target has several
	PrefixCaching    bool    `json:"prefix_caching"`
	PrefetchInFlight int     `json:"prefetch_in_flight"`
	Device           string  `json:"device"` // cpu or cuda
	WaitS            float64 `json:"wait_s"` // deadline of each wait inside the harness
	Seed             int     `json:"seed"`   // of prompts and of the bytes of objects
}

// Words of Parameters.
const (
	StoreFake     = "fake"    // an object in the harness's process
	StoreReal     = "real"    // a mooncake_master, and the object's owner in a process of its own
	EngineStepped = "stepped" // the scheduler is stepped by the harness
	EngineFull    = "full"    // the whole engine, with random weights
	DeviceCPU     = "cpu"
	DeviceCUDA    = "cuda"
)

// Defaults returns the parameters of the case "held".
func Defaults() Parameters {
	return Parameters{
		Requests:         8,
		SharedBlocks:     1,
		ReceiveThreads:   1,
		Store:            StoreFake,
		Engine:           EngineStepped,
		LoadAsync:        true,
		FailurePolicy:    "fail",
		GPUBlocks:        64,
		HeldGets:         1,
		Fault:            "none",
		LateRequest:      true,
		PrefixCaching:    true,
		PrefetchInFlight: 8,
		Device:           DeviceCPU,
		WaitS:            20,
		Seed:             1,
	}
}

// Most of what can be asked for: beyond it the memory that the harness lays out
// would be another experiment.
const (
	mostRequests = 256
	mostBlocks   = 64
)

// Validate returns an error that names the parameter that cannot be run.
func (p *Parameters) Validate() error {
	for _, a := range []struct {
		name  string
		value int
		most  int
	}{
		{"requests", p.Requests, mostRequests},
		{"shared-blocks", p.SharedBlocks, mostBlocks},
		{"receive-threads", p.ReceiveThreads, mostRequests},
	} {
		if a.value < 1 || a.value > a.most {
			return fmt.Errorf("--%s %d: want a whole number from 1 to %d", a.name, a.value, a.most)
		}
	}
	if p.StaggerMS < 0 || p.StaggerMS > 1000 {
		return fmt.Errorf("--stagger %gms: want 0 to 1s", p.StaggerMS)
	}
	if p.Engine == EngineFull && (p.AsyncLookup || p.StaggerMS > 0) {
		return fmt.Errorf("--engine full: only the stepped engine has --async-lookup and --stagger")
	}
	return nil
}

// fit gives the parameters the memory and the barrier that their size needs.
func (p *Parameters) fit() {
	// Every request gets blocks of its own, one of them for what is not shared,
	// and vLLM keeps one block for itself.
	if need := (p.Requests+1)*(p.SharedBlocks+1) + 1; p.GPUBlocks < need {
		p.GPUBlocks = need
	}
	p.HeldGets = min(p.ReceiveThreads, p.Requests)
}
