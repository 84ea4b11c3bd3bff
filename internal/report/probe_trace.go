package report

import (
	"io"
	"strings"

	"kvfanin/internal/probe"
)

// ProbeTrace is the timeline of cases for Perfetto and chrome://tracing: a
// process a case, a thread a request and a receive thread.
type ProbeTrace struct {
	Outcomes []*probe.Outcome
}

// JSON writes the timeline in the Trace Event Format; its times are in µs.
func (p *ProbeTrace) JSON(w io.Writer) error {
	type args map[string]any
	type event struct {
		Name     string `json:"name"`
		Phase    string `json:"ph"` // X: has a duration; i: an instant; M: a name
		TimeUS   int64  `json:"ts"`
		Duration *int64 `json:"dur,omitempty"`
		Process  int    `json:"pid"`
		Thread   int    `json:"tid"`
		Scope    string `json:"s,omitempty"`
		Args     args   `json:"args,omitempty"`
	}
	doc := struct {
		Unit   string  `json:"displayTimeUnit"`
		Events []event `json:"traceEvents"`
	}{"ms", []event{}}
	for i, o := range p.Outcomes {
		if o.Result == nil {
			continue
		}
		process := i + 1
		doc.Events = append(doc.Events, event{Name: "process_name", Phase: "M", Process: process,
			Args: args{"name": o.Case.Target.Name + " " + o.Case.Name}})
		t := timelineOf(o.Result.Events)
		for lane, name := range t.lanes {
			doc.Events = append(doc.Events, event{Name: "thread_name", Phase: "M", Process: process, Thread: lane, Args: args{"name": name}})
		}
		for _, s := range t.spans {
			duration := s.end - s.start
			doc.Events = append(doc.Events, event{Name: s.name, Phase: "X", TimeUS: s.start, Duration: &duration,
				Process: process, Thread: s.lane, Args: args{"keys": strings.Join(s.keys, " "), "destinations": strings.Join(s.destinations, " ")}})
		}
		for _, m := range t.marks {
			doc.Events = append(doc.Events, event{Name: m.name, Phase: "i", TimeUS: m.at, Process: process, Thread: m.lane, Scope: "t"})
		}
	}
	return writeJSON(w, doc)
}

// timeline is events in lanes: first the case, then requests, then threads. Its
// times begin with the first event: what comes before is the making of a stack.
type timeline struct {
	start    int64
	lanes    []string
	requests int // lanes 1 to requests are requests
	spans    []span
	marks    []mark
	end      int64
}

// span is a Get, in the lane of its request and again in that of its thread.
type span struct {
	lane               int
	get                int
	request, name      string
	start, end         int64
	keys, destinations []string
}

// mark is an event without a duration.
type mark struct {
	lane int
	name string
	at   int64
}

// timelineOf deals events out to lanes. A Get that never ended ends with the
// last event.
func timelineOf(events []probe.Event) *timeline {
	t := &timeline{lanes: []string{"case"}}
	lane := map[string]int{}
	add := func(name string) {
		if _, there := lane[name]; !there && name != "" {
			lane[name] = len(t.lanes)
			t.lanes = append(t.lanes, name)
		}
	}
	for i, e := range events {
		add(e.Request)
		if i == 0 || e.TimeUS < t.start {
			t.start = e.TimeUS
		}
	}
	for _, e := range events {
		t.end = max(t.end, e.TimeUS-t.start)
	}
	t.requests = len(t.lanes) - 1
	for _, e := range events {
		add(e.Thread)
	}
	open := map[int]*span{}
	var order []*span
	for _, e := range events {
		at := e.TimeUS - t.start
		switch {
		case e.What == probe.EventGetStart && e.Get != nil:
			s := &span{get: *e.Get, request: e.Request, name: "Get", start: at, end: t.end, keys: e.Keys, destinations: e.Destinations}
			s.lane = lane[e.Request]
			if e.Thread != "" {
				s.lane = lane[e.Thread]
			}
			open[*e.Get] = s
			order = append(order, s)
		case e.What == probe.EventGetEnd && e.Get != nil:
			if s := open[*e.Get]; s != nil {
				s.end = at
			}
		default:
			t.marks = append(t.marks, mark{lane[e.Request], e.What, at})
		}
	}
	for _, s := range order {
		if own := lane[s.request]; own != 0 && own != s.lane {
			again := *s
			again.lane = own
			t.spans = append(t.spans, again)
		}
		t.spans = append(t.spans, *s)
	}
	return t
}
