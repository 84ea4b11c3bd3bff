package report

import (
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"testing"

	"kvfanin/internal/probe"
)

// probed returns what a stack would give that does what is expected of a case:
// requests that arrive 10 µs apart, Gets one after another, the first held for 5
// ms.
func probed(t *testing.T, name string) *probe.Outcome {
	t.Helper()
	c, err := probe.CaseByName(name)
	if err != nil {
		t.Fatal(err)
	}
	o := &probe.Outcome{
		Case:     c,
		Versions: map[string]string{"vllm": "0.32.0", "torch": "2.13.0", "mooncake": "0.3.13.post1", "python": "3.11.7"},
		Tried:    true,
		Expected: c.Expected(nil),
		Observed: probe.Counts{},
		Model:    &probe.Model{Attempts: 8, Cohorts: 1, FanIn: 8, Loads: 8, Blocks: 1, Most: 8},
	}
	for snapshot, names := range o.Expected {
		o.Observed[snapshot] = map[string]int64{}
		for count, want := range names {
			o.Observed[snapshot][count] = want.Min
		}
	}
	right := o.Observed[probe.Whole]["blocks_right"]
	r := &probe.Result{
		EachFinishedOnce: true,
		FinishReasons:    map[string]int64{"length": 8},
		BlocksRight:      &right,
		NotReal:          []string{"model forward: a step gives one fixed token for each finished prefill", "engine loop: the harness steps the scheduler"},
	}
	add := func(at int64, what, request string, get int) {
		e := probe.Event{TimeUS: 7_000_000 + at, What: what, Request: request}
		if strings.HasPrefix(what, "get") {
			e.Get = &get
			e.Thread = "recv-0"
		}
		r.Events = append(r.Events, e)
	}
	at := int64(0)
	for i := range 8 {
		add(at, probe.EventArrival, fmt.Sprintf("r%d", i), 0)
		at += 10
	}
	for i := range int(o.Observed[probe.End]["gets"]) {
		add(at, probe.EventGetStart, fmt.Sprintf("r%d", i%8), i)
		if i == 0 {
			at += 5000
			add(at, "release", "", 0)
		}
		at += 100
		add(at, probe.EventGetEnd, fmt.Sprintf("r%d", i%8), i)
	}
	for i := range 8 {
		at += 30
		add(at, probe.EventPublication, fmt.Sprintf("r%d", i), 0)
		add(at+5, probe.EventFinish, fmt.Sprintf("r%d", i), 0)
	}
	o.Result = r
	return o
}

// several returns a case that holds, one that differs, one that failed.
func several(t *testing.T) *Probe {
	t.Helper()
	differs := probed(t, "threads")
	got := int64(1)
	differs.Observed[probe.End]["gets"] = got
	differs.Differences = []probe.Difference{
		{Snapshot: probe.End, Count: "gets", Want: probe.Range{Min: 8, Max: 8}, Got: &got},
		{Snapshot: probe.End, Count: "publications", Want: probe.Range{Min: 8, Max: 9}},
	}
	differs.Model.Loads, differs.Model.Most = 1, 1
	failed := probed(t, "get_fails")
	failed.Result, failed.Observed, failed.Model = nil, nil, nil
	failed.Err = errors.New("the harness ended (signal: killed) in case get_fails at stage held; its last lines: INFO one | INFO two")
	return &Probe{
		Outcomes: []*probe.Outcome{probed(t, "held"), differs, failed, probed(t, "pressure")},
		Left:     []string{"owner_killed, which needs --store real"},
	}
}

// TestProbe prints one case and several, in every form.
func TestProbe(t *testing.T) {
	held := Probe{Outcomes: []*probe.Outcome{probed(t, "held")}}
	text := golden(t, "probe.txt", held.Text)
	page80(t, text)
	for _, c := range probeCounts {
		n, there := held.Outcomes[0].Observed[probe.End][c.name]
		if !there {
			continue
		}
		row := rowOf(t, text, c.label)
		if cell := row[len(row)-2]; cell != count(n) {
			t.Errorf("%s at the end is printed as %s, and is %d", c.name, cell, n)
		}
	}
	all := several(t)
	text = golden(t, "probe_cases.txt", all.Text)
	page80(t, text)
	for _, want := range []string{"DIFFERS", "FAILED", "owner_killed, which needs --store real", "8 to 9", "INFO one | INFO two"} {
		if !strings.Contains(text, want) {
			t.Errorf("there is no %q", want)
		}
	}
	golden(t, "probe_cases.csv", all.CSV)
	var doc struct {
		Holds bool
		Cases []struct {
			Case, Verdict string
			Counts        probe.Counts
		}
	}
	if err := json.Unmarshal([]byte(golden(t, "probe_cases.json", all.JSON)), &doc); err != nil {
		t.Fatal(err)
	}
	verdicts := ""
	for i, c := range doc.Cases {
		verdicts += c.Case + " " + c.Verdict + "; "
		for snapshot, names := range all.Outcomes[i].Observed {
			for name, n := range names {
				if c.Counts[snapshot][name] != n {
					t.Errorf("%s %s %s is %d in JSON, and %d", c.Case, snapshot, name, c.Counts[snapshot][name], n)
				}
			}
		}
	}
	if want := "held holds; threads differs; get_fails failed; pressure holds; "; verdicts != want || doc.Holds {
		t.Errorf("%q, holds %t; want %q", verdicts, doc.Holds, want)
	}
}

// rowOf returns the cells of the row that begins with label.
func rowOf(t *testing.T, text, label string) []string {
	t.Helper()
	for line := range strings.Lines(text) {
		if rest, ok := strings.CutPrefix(line, indent+label); ok {
			return strings.Fields(rest)
		}
	}
	t.Fatalf("there is no row %q", label)
	return nil
}

// TestProbeAlmostNothing prints a case without counts, and one of a release
// that nobody tried.
func TestProbeAlmostNothing(t *testing.T) {
	o := probed(t, "held")
	o.Case = probe.Custom(probe.Targets[0], probe.Parameters{Requests: 2, SharedBlocks: 3, ReceiveThreads: 1, Device: probe.DeviceCUDA})
	o.Tried, o.Expected, o.Observed, o.Model = false, nil, probe.Counts{}, nil
	o.Result = &probe.Result{}
	p := Probe{Outcomes: []*probe.Outcome{o}}
	text := written(t, p.Text)
	page80(t, text)
	for _, want := range []string{"2, for the same 3 blocks", "none of those", "NOT every request", "Nothing was expected", "cuda was never tried"} {
		if !strings.Contains(text, want) {
			t.Errorf("there is no %q in\n%s", want, text)
		}
	}
	for _, write := range []func(io.Writer) error{p.JSON, p.CSV, (&ProbePicture{o}).Write, (&ProbeTrace{p.Outcomes}).JSON} {
		written(t, write)
	}
}

// TestDesigns holds that every design of the table is said of or counted.
func TestDesigns(t *testing.T) {
	for _, d := range designs {
		if d.caseOf != "" {
			if _, err := probe.CaseByName(d.caseOf); err != nil {
				t.Error(err)
			}
		} else if len(d.said) != 6 {
			t.Errorf("%s: %d figures are said of it", d.name, len(d.said))
		}
	}
}

// TestDocumentedLayers holds the table of paths in docs/probe.md to what is
// expected of their cases, which runs on the real stacks hold.
func TestDocumentedLayers(t *testing.T) {
	text, err := os.ReadFile("../../docs/probe.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range probe.Cases {
		if c.Removes == "" {
			continue
		}
		row := "| " + c.Target.Name + " | `" + c.Name + "` |"
		for _, column := range layerCounts {
			row += " " + seen(nil, c, column.name) + " |"
		}
		row += " " + c.Removes + " |\n"
		if !strings.Contains(string(text), row) {
			t.Errorf("docs/probe.md lacks the line\n%s", row)
		}
	}
}

// TestProbeTrace holds that each Get is in the trace twice, in the lane of its
// request and in that of its thread, and ends no earlier than it begins.
func TestProbeTrace(t *testing.T) {
	trace := ProbeTrace{several(t).Outcomes}
	var doc struct {
		TraceEvents []struct {
			Name, Ph  string
			Ts, Dur   int64
			Pid, Tid  int
			Args      map[string]string
			Timestamp json.Number
		}
	}
	if err := json.Unmarshal([]byte(written(t, trace.JSON)), &doc); err != nil {
		t.Fatal(err)
	}
	names := map[[2]int]string{}
	gets := map[[2]int]int{}
	for _, e := range doc.TraceEvents {
		lane := [2]int{e.Pid, e.Tid}
		switch e.Ph {
		case "M":
			if e.Name == "thread_name" {
				names[lane] = e.Args["name"]
			}
		case "X":
			gets[lane]++
			if e.Dur < 0 || e.Ts < 0 {
				t.Errorf("%+v", e)
			}
		}
		if names[lane] == "" && e.Ph != "M" {
			t.Errorf("%s in a lane without a name: %v", e.Name, lane)
		}
	}
	for i, o := range trace.Outcomes {
		if o.Result == nil {
			continue
		}
		want, inThreads, inRequests := 0, 0, 0
		for _, e := range o.Result.Events {
			if e.What == probe.EventGetStart {
				want++
			}
		}
		for lane, n := range gets {
			switch {
			case lane[0] != i+1:
			case strings.HasPrefix(names[lane], "recv"):
				inThreads += n
			default:
				inRequests += n
			}
		}
		if inThreads != want || inRequests != want || want == 0 {
			t.Errorf("%s: %d Gets; %d in lanes of threads, %d of requests", o.Case.Name, want, inThreads, inRequests)
		}
	}
}

// TestProbePicture holds that the picture is XML, has every Get in two lanes,
// keeps their order and overlap, and that no text runs into another or out of it.
func TestProbePicture(t *testing.T) {
	for _, name := range []string{"held", "thirty", "pressure", "get_fails_recompute"} {
		t.Run(name, func(t *testing.T) {
			o := probed(t, name)
			text := written(t, (&ProbePicture{o}).Write)
			if name == "held" {
				golden(t, "probe.svg", (&ProbePicture{o}).Write)
			}
			type box struct{ left, right, y float64 }
			var texts []box
			bars := 0
			var width float64
			d := xml.NewDecoder(strings.NewReader(text))
			for {
				token, err := d.Token()
				if err == io.EOF {
					break
				}
				if err != nil {
					t.Fatal(err)
				}
				start, ok := token.(xml.StartElement)
				if !ok {
					continue
				}
				attr := map[string]string{}
				for _, a := range start.Attr {
					attr[a.Name.Local] = a.Value
				}
				number := func(name string) float64 {
					n, err := strconv.ParseFloat(attr[name], 64)
					if err != nil {
						t.Fatal(err)
					}
					return n
				}
				switch start.Name.Local {
				case "svg":
					width = number("width")
				case "rect":
					if attr["class"] == "get" || attr["class"] == "first" {
						if attr["height"] == strconv.Itoa(svgBar) {
							bars++
						}
					}
				case "text":
					content, err := d.Token()
					if err != nil {
						t.Fatal(err)
					}
					const wide = 6.2 // px of a letter of 11 or 12 px, on average and with room
					w := wide * float64(len([]rune(string(content.(xml.CharData)))))
					b := box{number("x"), number("x") + w, number("y")}
					switch attr["text-anchor"] {
					case "middle":
						b.left, b.right = b.left-w/2, b.right-w/2
					case "end":
						b.left, b.right = b.left-w, b.right-w
					}
					if b.left < 0 || b.right > width {
						t.Errorf("%q runs out of the picture", content)
					}
					for _, other := range texts {
						if other.y == b.y && other.left < b.right && b.left < other.right {
							t.Errorf("%q runs into another text", content)
						}
					}
					texts = append(texts, b)
				}
			}
			if want := 2 * int(o.Observed[probe.End]["gets"]); bars != want {
				t.Errorf("%d bars of Gets, want %d", bars, want)
			}
		})
	}
	o := probed(t, "thirty")
	x := newAxis(o.Result.Events, 7_000_000)
	for i := 1; i < len(x.times); i++ {
		if x.at(x.times[i]) <= x.at(x.times[i-1]) {
			t.Errorf("%d µs stands where %d µs does, or before", x.times[i], x.times[i-1])
		}
	}
}

// TestProbeCases lists the cases.
func TestProbeCases(t *testing.T) {
	list := ProbeCases{probe.Cases}
	text := golden(t, "probe_list.txt", list.Text)
	page80(t, text)
	for _, c := range probe.Cases {
		if !strings.Contains(text, "- "+c.Name+": ") {
			t.Errorf("%s is not listed", c.Name)
		}
	}
	written(t, list.JSON)
	written(t, list.CSV)
}
