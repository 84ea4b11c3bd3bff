package probe

import "testing"

// TestModel holds what the model says of arrivals against what a stack did.
func TestModel(t *testing.T) {
	arrival := func(at int64) Event { return Event{TimeUS: at, What: EventArrival} }
	get := func(at int64, keys ...string) Event { return Event{TimeUS: at, What: EventGetStart, Keys: keys} }
	publication := func(at int64) Event { return Event{TimeUS: at, What: EventPublication} }
	tests := []struct {
		name   string
		blocks int
		events []Event
		want   *Model
		agrees bool
	}{
		{"nothing arrives", 1, []Event{get(1, "a")}, nil, false},
		{"duplicates", 1, []Event{arrival(0), arrival(5), get(6, "a"), get(9, "a"), publication(20)}, &Model{2, 1, 2, 2, 1, 2}, true},
		{"one after publication", 1, []Event{arrival(0), get(1, "a"), publication(5), arrival(5)}, &Model{1, 1, 1, 1, 1, 1}, true},
		{"one merges", 1, []Event{arrival(0), arrival(1), get(2, "a"), publication(5)}, &Model{2, 1, 2, 1, 1, 1}, false},
		{"a retry", 1, []Event{arrival(0), get(2, "a"), get(4, "a"), publication(5)}, &Model{1, 1, 1, 2, 1, 2}, false},
		{"two blocks", 2, []Event{arrival(0), arrival(1), get(2, "a", "b"), get(4, "a", "b"), publication(5)}, &Model{4, 2, 2, 4, 2, 2}, true},
		{"never published", 1, []Event{arrival(0), arrival(9), get(10, "a"), get(11, "a")}, &Model{2, 1, 2, 2, 1, 2}, true},
		{"published at once", 1, []Event{arrival(0), publication(0), get(1, "a")}, &Model{1, 1, 1, 1, 1, 1}, true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			p := Defaults()
			p.SharedBlocks = test.blocks
			got := compareWithModel(&Case{Parameters: p}, test.events)
			switch {
			case (got == nil) != (test.want == nil):
				t.Errorf("%v, want %v", got, test.want)
			case got != nil && (*got != *test.want || got.Agrees() != test.agrees):
				t.Errorf("%+v agrees %t, want %+v %t", *got, got.Agrees(), *test.want, test.agrees)
			}
		})
	}
}

// TestTail keeps the last lines, however they come.
func TestTail(t *testing.T) {
	var log tail
	for i := range 30 {
		_, _ = log.Write([]byte{byte('a' + i%26)})
		if i%2 == 1 {
			_, _ = log.Write([]byte("\n\n"))
		}
	}
	_, _ = log.Write(make([]byte, 1<<20))
	if got := log.String(); len(got) > tailLines*(tailWidth+3) || got[:7] != "mn | op" {
		t.Errorf("%d bytes: %.40q", len(got), got)
	}
}
