package study

import "kvfanin/internal/result"

// spans cuts the steady phase into stretches of equal length.
type spans struct {
	start, length int64 // ms
	count         int
}

// spansOf cuts the steady phase of a trace, from its first arrival to its last,
// into count spans.
func (rd *reading) spansOf(count int) *spans {
	s := &spans{length: 1, count: count}
	if arrivals := rd.trace.ArrivalMS[rd.steady:]; len(arrivals) > 0 {
		s.start = arrivals[0]
		s.length = (arrivals[len(arrivals)-1]-s.start)/int64(count) + 1
	}
	return s
}

// at returns the span of a time in the steady phase.
func (s *spans) at(ms int64) int { return int((ms - s.start) / s.length) }

// rows returns the rows of spans.csv of one configuration.
func (s *spans) rows(trace string, c result.Config, counts []result.SpanCount) []result.SpanRow {
	rows := make([]result.SpanRow, s.count)
	for i := range rows {
		rows[i] = result.SpanRow{Trace: trace, Config: c, Span: i, StartMS: s.start + int64(i)*s.length}
		if counts != nil {
			rows[i].SpanCount = counts[i]
		}
	}
	return rows
}
