package probe

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"sync"
	"time"
)

// child is a process of a group: its messages, if it sends any, and the last
// lines of its log.
type child struct {
	name  string // for messages
	cmd   *exec.Cmd
	stdin io.WriteCloser
	log   tail
	lines *lines
	ended chan struct{} // closed when the process is gone and all it wrote was taken
	how   error         // once ended: nil, or how
}

// errLocked says that another process has the file.
var errLocked = errors.New("in use")

// drain is how long a process that is gone may leave its output open, in the
// hands of one that it started.
const drain = 2 * time.Second

// startChild starts cmd in the group. Its stdout is messages if it speaks, else
// part of the log.
func (g *group) startChild(name string, cmd *exec.Cmd, speaks bool) (*child, error) {
	c := &child{name: name, cmd: cmd, ended: make(chan struct{})}
	g.add(cmd)
	cmd.Dir = g.dir
	cmd.WaitDelay = drain
	cmd.Stdout, cmd.Stderr = &c.log, &c.log
	if speaks {
		c.lines = &lines{read: make(chan []byte), stop: make(chan struct{})}
		cmd.Stdout = c.lines
	}
	var err error
	if c.stdin, err = cmd.StdinPipe(); err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	go func() {
		c.how = cmd.Wait()
		close(c.ended)
	}()
	return c, nil
}

// send writes a message. That nobody reads it is seen elsewhere: by the end of
// the process, or by a deadline.
func (c *child) send(m any) {
	b, err := json.Marshal(m)
	if err != nil {
		panic(err) // messages are made here
	}
	_, _ = c.stdin.Write(append(b, '\n'))
}

// silence drops what the process has still to say, so that it can end.
func (c *child) silence() {
	if c.lines != nil {
		c.lines.close()
	}
}

// failed ends the process, so that all it logged is there, and returns an error
// that begins with its name and goes on with what and its last lines.
func (c *child) failed(what string) error {
	c.silence()
	_ = c.cmd.Process.Kill()
	<-c.ended // one that was killed ends
	text := c.name + " " + what
	if log := c.log.String(); log != "" {
		return fmt.Errorf("%s; its last lines: %s", text, log)
	}
	return fmt.Errorf("%s; it logged nothing", text)
}

// gone returns how the process ended, which it has.
func (c *child) gone() string {
	if c.how == nil || errors.Is(c.how, exec.ErrWaitDelay) {
		return "ended (exit status 0)"
	}
	return "ended (" + c.how.Error() + ")"
}

// lines is a writer that hands out whole lines, and what is too long for one as
// far as it is there.
type lines struct {
	read chan []byte
	stop chan struct{} // closed: nobody reads any more
	once sync.Once
	rest []byte
}

// Write takes what a process wrote, and waits until its lines are read.
func (l *lines) Write(p []byte) (int, error) {
	for rest := p; len(rest) > 0; {
		line, after, ended := bytes.Cut(rest, []byte("\n"))
		rest = after
		l.rest = append(l.rest, line...)
		if (ended || len(l.rest) > maxLine) && !l.hand() {
			break
		}
	}
	return len(p), nil
}

// hand hands out the line so far, and reports whether anyone reads.
func (l *lines) hand() bool {
	line := l.rest
	l.rest = nil
	select {
	case l.read <- line:
		return true
	case <-l.stop:
		return false
	}
}

func (l *lines) close() { l.once.Do(func() { close(l.stop) }) }
