package probe

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// store is a mooncake_master and the process that owns the objects in it, both
// on the loopback.
type store struct {
	session *session
	master  *child // nil if no case wants a real store
	owner   *child // nil without a master, and once it was killed
	address string // of the master
	config  string // path of Mooncake's configuration
}

const (
	masterPatience = 30 * time.Second
	ownerPatience  = 90 * time.Second
	putPatience    = 30 * time.Second
	segment        = "16mb" // by default 4 GiB, twice
)

// newStore writes the configuration that all processes are given. A master runs
// there once it is started.
func newStore(s *session) (*store, error) {
	port, err := freePort()
	if err != nil {
		return nil, err
	}
	st := &store{
		session: s,
		address: fmt.Sprintf("127.0.0.1:%d", port),
		config:  filepath.Join(s.group.dir, "mooncake.json"),
	}
	b, err := json.Marshal(map[string]string{
		"metadata_server":       "P2PHANDSHAKE",
		"master_server_address": st.address,
		"protocol":              "tcp",
		"global_segment_size":   segment,
		"local_buffer_size":     segment,
	})
	if err != nil {
		return nil, err
	}
	return st, os.WriteFile(st.config, b, 0o666)
}

// freePort returns a port of the loopback that nothing listens at.
func freePort() (int, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, fmt.Errorf("find a free port: %w", err)
	}
	defer func() { _ = listener.Close() }()
	return listener.Addr().(*net.TCPAddr).Port, nil
}

// start starts the master and the owner.
func (st *store) start(ctx context.Context) error {
	if err := st.startMaster(ctx); err != nil {
		return err
	}
	return st.own(ctx)
}

// startMaster starts the master and waits until it listens.
func (st *store) startMaster(ctx context.Context) error {
	path := filepath.Join(filepath.Dir(st.session.python), "mooncake_master")
	if _, err := os.Stat(path); err != nil {
		return fmt.Errorf("%s: there is no mooncake_master beside this Python: a real store needs Mooncake installed there", path)
	}
	_, port, err := net.SplitHostPort(st.address)
	if err != nil {
		return err
	}
	metrics, err := freePort()
	if err != nil {
		return err
	}
	cmd := exec.Command(path,
		"-rpc_address=127.0.0.1", "-rpc_port="+port,
		"-metrics_host=127.0.0.1", fmt.Sprintf("-metrics_port=%d", metrics),
		"-enable_metric_reporting=false", "-rpc_thread_num=2", "-logtostderr")
	cmd.Env = st.session.env()
	if st.master, err = st.session.group.startChild("mooncake_master", cmd, false); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, masterPatience)
	defer cancel()
	var dialer net.Dialer
	for {
		conn, err := dialer.DialContext(ctx, "tcp", st.address)
		if err == nil {
			return conn.Close()
		}
		select {
		case <-st.master.ended:
			return st.master.failed(st.master.gone() + " before it listened at " + st.address)
		case <-ctx.Done():
			return st.master.failed(fmt.Sprintf("does not listen at %s after %s", st.address, masterPatience))
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// own starts the process that owns the objects.
func (st *store) own(ctx context.Context) error {
	cmd := exec.Command(st.session.python, "-m", "kvfanin_probe.owner")
	cmd.Env = st.session.env()
	owner, err := st.session.group.startChild("the owner of the object", cmd, true)
	if err != nil {
		return err
	}
	hello, err := st.session.receive(ctx, owner, ownerPatience)
	if err != nil {
		return err
	}
	if hello.Kind != "hello" || hello.Protocol != protocolVersion {
		return owner.failed(fmt.Sprintf("does not speak protocol %d: %s", protocolVersion, excerpt(hello.raw)))
	}
	st.owner = owner
	return nil
}

// put has the owner put an object of seeded bytes.
func (st *store) put(ctx context.Context, m *message) error {
	if st.master == nil {
		return fmt.Errorf("no real store was asked for")
	}
	if st.owner == nil {
		return fmt.Errorf("the owner of objects was killed")
	}
	st.owner.send(map[string]any{"kind": "put", "key": m.Key, "seed": m.Seed, "bytes": m.Bytes})
	done, err := st.session.receive(ctx, st.owner, putPatience)
	switch {
	case err != nil:
		return err
	case done.Kind != "done":
		return st.owner.failed("answers a put with " + excerpt(done.raw))
	case !done.OK:
		return st.owner.failed("cannot put the object: " + done.Error)
	}
	return nil
}

// killOwner kills the owner without a word, as a machine that is lost.
func (st *store) killOwner() error {
	if st.owner == nil {
		return fmt.Errorf("there is no owner to kill")
	}
	st.owner.silence()
	_ = st.owner.cmd.Process.Kill()
	<-st.owner.ended // a process that was killed ends
	st.owner = nil
	return nil
}

// renew ends a store whose owner was killed, after the case: its master would
// give objects of later cases a place at the dead one. The next case that needs
// a store has a new one.
func (st *store) renew() {
	if st.master != nil && st.owner == nil {
		_ = st.master.cmd.Process.Kill()
		<-st.master.ended
		st.master = nil
	}
}
