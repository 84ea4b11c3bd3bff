package probe

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
)

// protocolVersion is the version of the messages between kvfanin and the
// harness: JSON lines, each an object with a "kind".
//
//	harness → hello    once: what is installed and what is missing
//	kvfanin → run      a case
//	harness → stage    where the case is; any number
//	harness → need     something only kvfanin can do: put an object, kill its owner
//	kvfanin → done     the answer to need
//	harness → result   what the case showed
//	harness → error    the case could not be run
//	kvfanin → exit
const protocolVersion = 1

// maxLine is the most that one message may have. Those of the largest case
// have a few hundred KB.
const maxLine = 16 << 20

// message is what comes from the harness or from an object's owner.
type message struct {
	Kind     string            `json:"kind"`
	ID       int               `json:"id"`
	Protocol int               `json:"protocol"`
	Target   string            `json:"target"`
	Versions map[string]string `json:"versions"`
	Missing  []Missing         `json:"missing"`
	Stage    string            `json:"stage"`
	What     string            `json:"what"`
	Key      string            `json:"key"`
	Seed     int64             `json:"seed"`
	Bytes    int64             `json:"bytes"`
	OK       bool              `json:"ok"`
	Error    string            `json:"error"`
	Detail   string            `json:"detail"`
	Fatal    bool              `json:"fatal"`
	raw      []byte
}

// Missing is something that an environment lacks.
type Missing struct {
	What string `json:"what"`
	Why  string `json:"why"`
	How  string `json:"how"` // to get it
}

// String returns the thing in one line, with what to do.
func (m Missing) String() string { return fmt.Sprintf("%s is missing (%s): %s", m.What, m.Why, m.How) }

// parseMessage reads one line. An error says what stood there.
func parseMessage(line []byte) (*message, error) {
	m := &message{raw: line}
	if err := json.Unmarshal(line, m); err != nil {
		return nil, fmt.Errorf("a line that is no message of this protocol: %s", excerpt(line))
	}
	if m.Kind == "" {
		return nil, fmt.Errorf("a message without a kind: %s", excerpt(line))
	}
	return m, nil
}

// excerpt returns the beginning of a line, quoted.
func excerpt(line []byte) string {
	const most = 80
	line = bytes.TrimSpace(line)
	if len(line) > most {
		return strconv.Quote(string(line[:most])) + "…"
	}
	return strconv.Quote(string(line))
}

// Result is what a case showed.
type Result struct {
	Counts           map[string]map[string]int64 `json:"counts"` // by snapshot and name
	FinishReasons    map[string]int64            `json:"finish_reasons"`
	GetCodes         []int64                     `json:"get_codes"` // of each key of each Get: bytes, or a negative code
	EachFinishedOnce bool                        `json:"each_finished_once"`
	BlocksRight      *int64                      `json:"blocks_right"` // destinations that hold the object's bytes; nil where none move
	Tokens           *Tokens                     `json:"tokens"`       // nil without an engine that makes any
	NotReal          []string                    `json:"not_real"`
	Notes            []string                    `json:"notes"`
	Events           []Event                     `json:"events"`
}

// Tokens are those of the requests held against a run without a store.
type Tokens struct {
	Compared int64 `json:"compared"`
	Equal    int64 `json:"equal"`
}

// Event is a step of a request, or of the case.
type Event struct {
	TimeUS       int64    `json:"t_us"` // since the start of the case, monotonic
	What         string   `json:"what"` // one of the constants below, or one that is only shown
	Request      string   `json:"request,omitempty"`
	Get          *int     `json:"get,omitempty"`
	Thread       string   `json:"thread,omitempty"`
	Keys         []string `json:"keys,omitempty"`
	Destinations []string `json:"destinations,omitempty"`
	Codes        []int64  `json:"codes,omitempty"`
	Reason       string   `json:"reason,omitempty"`
}

// Events that are more than shown.
const (
	EventArrival     = "arrival"
	EventGetStart    = "get_start"
	EventGetEnd      = "get_end"
	EventPublication = "publication"
	EventFinish      = "finish"
)
