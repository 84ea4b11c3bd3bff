package probe

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// session is a harness that runs the cases of one target, and the processes
// that it needs beside it.
type session struct {
	group    *group
	python   string
	own      bool   // python is the user's, and so is what it imports
	modules  string // folder of the harness's package
	patience time.Duration
	harness  *child
	store    *store
	hello    *message
	cases    int    // so many were sent
	where    string // where the harness is, for messages
}

// helloPatience is how long a Python may take to say what is installed.
const helloPatience = 2 * time.Minute

// byePatience is how long a harness may take to let go of the stack.
const byePatience = 10 * time.Second

// openSession starts the harness of a target and hears what is installed. With
// check it is one that only does that, thoroughly.
func openSession(ctx context.Context, target *Target, o *Options, check bool) (_ *session, err error) {
	g, err := newGroup()
	if err != nil {
		return nil, err
	}
	s := &session{group: g, python: o.Python, own: o.OwnPython, patience: o.Patience, where: "at its start"}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.close(false))
		}
	}()
	if s.modules, err = unpackHarness(g.dir); err != nil {
		return nil, err
	}
	if s.store, err = newStore(s); err != nil {
		return nil, err
	}
	args := []string{"-m", "kvfanin_probe", "--target", target.Name}
	if check {
		args = append(args, "--self-check")
	}
	cmd := exec.Command(s.python, args...)
	cmd.Env = s.env()
	if s.harness, err = g.startChild("the harness", cmd, true); err != nil {
		return nil, err
	}
	if s.hello, err = s.receive(ctx, s.harness, min(helloPatience, s.patience)); err != nil {
		return nil, err
	}
	switch h := s.hello; {
	case h.Kind != "hello":
		return nil, s.harness.failed("says " + excerpt(h.raw) + " where a hello belongs")
	case h.Protocol != protocolVersion:
		return nil, s.harness.failed(fmt.Sprintf("speaks protocol %d, and this program %d", h.Protocol, protocolVersion))
	case h.Target != target.Name:
		return nil, s.harness.failed(fmt.Sprintf("is one of %q, and %q was asked for", h.Target, target.Name))
	}
	return s, nil
}

// env returns the environment of every Python of the session: the user's, but
// for what would reach out, write outside the folder, or change the experiment.
func (s *session) env() []string {
	path := s.modules
	if other := os.Getenv("PYTHONPATH"); other != "" && s.own {
		path += string(os.PathListSeparator) + other
	}
	in := func(name string) string { return filepath.Join(s.group.dir, name) }
	return append(os.Environ(),
		"PYTHONPATH="+path,
		"PYTHONSAFEPATH=1", // the folder it runs in is no place to import from
		"PYTHONDONTWRITEBYTECODE=1",
		"PYTHONHASHSEED=0",
		"TMPDIR="+s.group.dir,
		"XDG_CACHE_HOME="+in("cache"),
		"XDG_CONFIG_HOME="+in("config"),
		"VLLM_CACHE_ROOT="+in("cache"),
		"VLLM_CONFIG_ROOT="+in("config"),
		"HF_HOME="+in("cache"),
		"HF_HUB_OFFLINE=1",
		"DO_NOT_TRACK=1",
		"VLLM_NO_USAGE_STATS=1",
		"LMCACHE_TRACK_USAGE=false",
		"VLLM_HOST_IP=127.0.0.1",
		"VLLM_CPU_KVCACHE_SPACE=1",
		"OMP_NUM_THREADS=1",
		"MOONCAKE_CONFIG_PATH="+s.store.config,
		"MOONCAKE_REQUESTER_LOCAL_HOSTNAME=127.0.0.1",
		"MC_TCP_BIND_ADDRESS=127.0.0.1",
		"MC_STORE_MEMCPY=0", // else a local segment is copied and nothing is transferred
		"KVFANIN_MASTER="+s.store.address,
	)
}

// receive waits for the next message of a child.
func (s *session) receive(ctx context.Context, from *child, patience time.Duration) (*message, error) {
	timer := time.NewTimer(patience)
	defer timer.Stop()
	return s.receiveBy(ctx, from, timer.C, patience)
}

// receiveBy waits for the next message of a child until the deadline, while all
// processes that it needs live.
func (s *session) receiveBy(ctx context.Context, from *child, deadline <-chan time.Time, patience time.Duration) (*message, error) {
	var masterEnded, ownerEnded <-chan struct{}
	if s.store.master != nil {
		masterEnded = s.store.master.ended
	}
	if s.store.owner != nil {
		ownerEnded = s.store.owner.ended
	}
	select {
	case line := <-from.lines.read:
		if len(line) > maxLine {
			return nil, s.failed(from, fmt.Sprintf("wrote a line of more than %d MiB", maxLine>>20))
		}
		m, err := parseMessage(line)
		if err != nil {
			return nil, s.failed(from, "wrote "+err.Error())
		}
		return m, nil
	case <-from.ended:
		return nil, s.failed(from, from.gone())
	case <-masterEnded:
		return nil, s.failed(s.store.master, s.store.master.gone())
	case <-ownerEnded:
		return nil, s.failed(s.store.owner, s.store.owner.gone())
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-deadline:
		return nil, s.failed(from, fmt.Sprintf("is not done after %s", patience))
	}
}

// failed returns the error that a child did something, and where.
func (s *session) failed(c *child, what string) error { return c.failed(what + " " + s.where) }

// caseError is a case that the harness could not run, while it can run others.
type caseError struct {
	text   string
	detail string
}

func (e *caseError) Error() string { return e.text }

// run has the harness run a case.
func (s *session) run(ctx context.Context, name string, p *Parameters, stage func(string)) (*Result, error) {
	s.cases++
	s.where = "in " + name + " before its first stage"
	if p.Store == StoreReal && s.store.master == nil {
		if err := s.store.start(ctx); err != nil {
			return nil, err
		}
	}
	timer := time.NewTimer(s.patience)
	defer timer.Stop()
	s.harness.send(map[string]any{"kind": "run", "id": s.cases, "parameters": p})
	for {
		m, err := s.receiveBy(ctx, s.harness, timer.C, s.patience)
		if err != nil {
			return nil, err
		}
		if m.ID != s.cases && m.Kind != "error" {
			return nil, s.failed(s.harness, fmt.Sprintf("sent a message out of order: %s of case %d, while %d runs,", m.Kind, m.ID, s.cases))
		}
		switch m.Kind {
		case "stage":
			s.where = "in " + name + " at stage " + m.Stage
			stage(m.Stage)
		case "need":
			if err := s.serve(ctx, m); err != nil {
				return nil, err
			}
		case "result":
			r := &Result{}
			if err := json.Unmarshal(m.raw, r); err != nil {
				return nil, s.failed(s.harness, "sent a result that cannot be read ("+err.Error()+")")
			}
			s.store.renew()
			return r, nil
		case "error":
			if m.Fatal {
				return nil, s.failed(s.harness, "gave up: "+m.Error+",")
			}
			s.store.renew()
			return nil, &caseError{m.Error, m.Detail}
		default:
			return nil, s.failed(s.harness, "sent a message out of order: "+excerpt(m.raw))
		}
	}
}

// serve does what only kvfanin can do. What it cannot do, the case cannot go on
// without.
func (s *session) serve(ctx context.Context, m *message) error {
	var err error
	switch m.What {
	case "put":
		err = s.store.put(ctx, m)
	case "kill_owner":
		err = s.store.killOwner()
	default:
		return s.failed(s.harness, "needs "+excerpt([]byte(m.What))+", which protocol 1 does not have,")
	}
	if err != nil {
		return err
	}
	s.harness.send(map[string]any{"kind": "done", "id": m.ID, "ok": true})
	return nil
}

// close ends the session: it lets a harness that is well take leave of its
// stack, kills what is left, and removes the folder.
func (s *session) close(well bool) error {
	if s.harness != nil {
		s.harness.silence()
		if well {
			s.harness.send(map[string]string{"kind": "exit"})
			select {
			case <-s.harness.ended:
			case <-time.After(byePatience):
			}
		}
	}
	if s.store != nil && s.store.owner != nil {
		s.store.owner.silence()
	}
	return s.group.end()
}

// VersionLine returns versions in one line: vllm 0.32.0, torch 2.13.0.
func VersionLine(versions map[string]string) string {
	var words []string
	for name, version := range versions {
		words = append(words, name+" "+version)
	}
	slices.Sort(words)
	return strings.Join(words, ", ")
}
