package probe

import (
	"bytes"
	"strings"
	"sync"
)

// tail keeps the last lines that a process wrote.
type tail struct {
	mu    sync.Mutex
	lines []string
	rest  []byte // of a line that has not ended
}

const (
	tailLines = 10
	tailWidth = 300 // bytes of a line that are kept
)

// Write takes what a process wrote. It never fails.
func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for rest := p; len(rest) > 0; {
		line, after, ended := bytes.Cut(rest, []byte("\n"))
		t.rest = append(t.rest, line[:min(len(line), tailWidth-min(len(t.rest), tailWidth))]...)
		if ended {
			t.keep()
		}
		rest = after
	}
	return len(p), nil
}

// keep ends the line.
func (t *tail) keep() {
	if line := strings.Join(strings.Fields(strings.ToValidUTF8(string(t.rest), "?")), " "); line != "" {
		t.lines = append(t.lines, line)
		if len(t.lines) > tailLines {
			t.lines = t.lines[1:]
		}
	}
	t.rest = t.rest[:0]
}

// String returns the last lines as one, oldest first.
func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.keep()
	return strings.Join(t.lines, " | ")
}
