package probe

import (
	"fmt"
	"strings"
)

// Target is a stack that can be probed.
type Target struct {
	Name        string
	Title       string       // the path that a request takes in it
	Environment *Environment // that it runs in
}

// Environment is a set of Python packages that a target runs in.
type Environment struct {
	Name     string
	Package  string // whose version is the release
	Releases []Release
}

// Release is a version of an environment that was tried.
type Release struct {
	Version    string
	DownloadGB float64 // about
	DiskGB     float64
	lock       string // file in harness/locks
}

// The environments and targets there are. The first release is the default.
var (
	vllmMooncake = &Environment{
		Name:    "vllm-mooncake",
		Package: "vllm",
		Releases: []Release{
			{Version: "0.32.0", DownloadGB: 3, DiskGB: 5, lock: "vllm-mooncake-0.32.0.txt"},
			{Version: "0.28.0", DownloadGB: 3, DiskGB: 5, lock: "vllm-mooncake-0.28.0.txt"},
		},
	}
	lmcache = &Environment{
		Name:    "lmcache",
		Package: "lmcache",
		Releases: []Release{
			{Version: "0.5.6", DownloadGB: 3, DiskGB: 5, lock: "lmcache.txt"},
		},
	}

	// Targets are the stacks that can be probed.
	Targets = []*Target{
		{
			Name:        "vllm-mooncake",
			Title:       "vLLM with Mooncake: Scheduler, MooncakeStoreConnector, MooncakeStoreWorker, batch_get_into_multi_buffers",
			Environment: vllmMooncake,
		},
		{
			Name:        "lmcache",
			Title:       "LMCache, in vLLM and alone",
			Environment: lmcache,
		},
		{
			Name:        "offloading",
			Title:       "vLLM's own OffloadingConnector, scheduler side",
			Environment: vllmMooncake,
		},
	}
)

// TargetByName returns the target of that name, or an error that lists those
// there are.
func TargetByName(name string) (*Target, error) {
	names := make([]string, len(Targets))
	for i, t := range Targets {
		if t.Name == name {
			return t, nil
		}
		names[i] = t.Name
	}
	return nil, fmt.Errorf("target %q: there are %s", name, strings.Join(names, ", "))
}

// Release returns the release of that version, the default for "".
func (e *Environment) Release(version string) (*Release, error) {
	if version == "" {
		return &e.Releases[0], nil
	}
	for i := range e.Releases {
		if e.Releases[i].Version == version {
			return &e.Releases[i], nil
		}
	}
	return nil, fmt.Errorf("release %q of %s: there is a lock for %s; for any other give --python", version, e.Name, e.versions())
}

// tried reports whether the release that is installed is one of those tried.
// A version may have a local part: 0.32.0+cpu.
func (e *Environment) tried(versions map[string]string) bool {
	version, _, _ := strings.Cut(versions[e.Package], "+")
	for i := range e.Releases {
		if e.Releases[i].Version == version {
			return true
		}
	}
	return false
}

func (e *Environment) versions() string {
	versions := make([]string, len(e.Releases))
	for i := range e.Releases {
		versions[i] = e.Releases[i].Version
	}
	return strings.Join(versions, ", ")
}
