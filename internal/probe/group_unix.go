//go:build unix

package probe

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"time"
)

// group is the processes and the temporary folder of a session. They end with
// it, and with kvfanin however that ends, kill -9 too.
//
// Two shells see to that. Both wait for the end of one pipe, of which kvfanin
// alone has the other side: the kernel closes it when kvfanin is gone. The
// leader is in the group, so that its number stays the group's as long as anyone
// may want to kill it. The janitor is outside, so that it lives on when it has
// killed the group, and can then remove the folder. A normal end goes the same
// way.
type group struct {
	dir      string
	lifeline *os.File
	leader   *exec.Cmd
	janitor  *exec.Cmd
}

const (
	leaderScript = `cat >/dev/null; kill -KILL 0`
	// A process that was killed may write until it is seen to be dead.
	janitorScript = `cat >/dev/null; kill -KILL -- "-$1"; for try in 1 2 3; do rm -rf -- "$2" && exit; sleep 1; done`
)

// newGroup makes a temporary folder and a group without processes.
func newGroup() (_ *group, err error) {
	dir, err := tempDir()
	if err != nil {
		return nil, err
	}
	end, lifeline, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(err, os.Remove(dir))
	}
	g := &group{dir: dir, lifeline: lifeline}
	g.leader = exec.Command("/bin/sh", "-c", leaderScript)
	g.leader.Stdin = end
	g.leader.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err = g.leader.Start(); err == nil {
		g.janitor = exec.Command("/bin/sh", "-c", janitorScript, "kvfanin-janitor", strconv.Itoa(g.leader.Process.Pid), dir)
		g.janitor.Stdin = end
		g.janitor.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // Ctrl-C is not for it
		err = g.janitor.Start()
	}
	_ = end.Close() // the shells have theirs
	if err != nil {
		_ = lifeline.Close()
		if g.leader.Process != nil {
			_ = g.leader.Wait()
		}
		return nil, errors.Join(fmt.Errorf("start a shell to end processes with: %w", err), os.Remove(dir))
	}
	return g, nil
}

// add makes cmd, which is not started yet, one of the group.
func (g *group) add(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pgid: g.leader.Process.Pid}
}

// end kills all processes of the group and removes the folder.
func (g *group) end() error {
	_ = g.lifeline.Close()
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = g.janitor.Wait() // first: the leader keeps the number of the group until it is waited for
		_ = g.leader.Wait()
	}()
	select {
	case <-done:
	case <-time.After(groupPatience):
		return fmt.Errorf("the processes of the probe do not end: kill -KILL -- -%d; rm -rf %s", g.leader.Process.Pid, g.dir)
	}
	if _, err := os.Lstat(g.dir); err == nil {
		return fmt.Errorf("%s could not be removed: rm -rf %s", g.dir, g.dir)
	}
	return nil
}

const groupPatience = 30 * time.Second

// tempDir makes the temporary folder. The stack puts sockets there, whose
// paths may have about 100 bytes, half of which it needs for the name.
func tempDir() (string, error) {
	const most, pattern = 48, "kvfanin-probe-"
	dir, err := os.MkdirTemp("", pattern)
	if err != nil {
		return "", fmt.Errorf("make a temporary folder: %w", err)
	}
	if len(dir) <= most {
		return dir, nil
	}
	short, err := os.MkdirTemp("/tmp", pattern)
	if err != nil {
		return dir, nil // a long path may do; a folder that cannot be made does not
	}
	return short, os.Remove(dir)
}

// lockFile takes a file for this process until it is closed, or waits not at
// all and says that another has it.
func lockFile(path string) (*os.File, error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o666)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); errors.Is(err, syscall.EWOULDBLOCK) {
		return nil, errors.Join(errLocked, file.Close())
	}
	return file, nil // a file system that knows no locks keeps nobody apart
}
