package profile

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"kvfanin/internal/trace"
)

// drawn draws a trace whose input fills its blocks.
func drawn(t *rapid.T) *trace.Trace {
	tr := &trace.Trace{BlockTokens: 4, Offset: []int64{0}}
	now := int64(0)
	for range rapid.IntRange(1, 30).Draw(t, "requests") {
		now += rapid.SampledFrom([]int64{0, 0, 1, 2, 7, 30, 1000}).Draw(t, "step")
		blocks := rapid.SliceOfNDistinct(rapid.Uint32Range(0, 9), 0, 4, rapid.ID).Draw(t, "blocks")
		tr.ArrivalMS = append(tr.ArrivalMS, now)
		tr.InputTokens = append(tr.InputTokens, int64(4*len(blocks)))
		tr.OutputTokens = append(tr.OutputTokens, 1)
		tr.Block = append(tr.Block, blocks...)
		tr.Offset = append(tr.Offset, int64(len(tr.Block)))
	}
	number := map[uint32]uint32{} // by first appearance
	for l, b := range tr.Block {
		if _, ok := number[b]; !ok {
			number[b] = uint32(len(number))
			tr.Hash = append(tr.Hash, uint64(b))
		}
		tr.Block[l] = number[b]
	}
	return tr
}

func TestProfilesHaveTheIdentities(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		if err := Of(drawn(t), []int64{1, 2, 7, 8, 2000}).Check(); err != nil {
			t.Fatal(err)
		}
	})
}

// TestEditedProfile edits each number of a profile in turn and holds that an
// identity tells. Output tokens are in no other figure, the block is in the manifest, and what
// lies between two others may move between them.
func TestEditedProfile(t *testing.T) {
	tr := &trace.Trace{BlockTokens: 4, Offset: []int64{0}}
	for i := range 40 { // gaps of 3 and more, each block again after 5 requests
		tr.ArrivalMS = append(tr.ArrivalMS, int64(i/2*(3+i/8)))
		tr.InputTokens = append(tr.InputTokens, 4)
		tr.OutputTokens = append(tr.OutputTokens, 9)
		tr.Block = append(tr.Block, uint32(i%5))
		tr.Offset = append(tr.Offset, int64(i+1))
	}
	tr.Hash = make([]uint64, 5)
	p := Of(tr, []int64{1, 12, 20, 2000})
	if err := p.Check(); err != nil {
		t.Fatal(err)
	}
	text, err := json.MarshalIndent(p, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	free := regexp.MustCompile(`"(output_tokens|p\d+|max|requests|last_timestamp_ms|first_timestamp_ms|dropped_duplicates|input_tokens|window_ms|min|block_tokens)":`)
	number := regexp.MustCompile(`: (\d+)`)
	edits := 0
	for i, line := range bytes.SplitAfter(text, []byte("\n")) {
		if !number.Match(line) || free.Match(line) {
			continue
		}
		lines := bytes.SplitAfter(text, []byte("\n"))
		lines[i] = number.ReplaceAll(line, []byte(": 1$1"))
		var edited Profile
		if err := json.Unmarshal(bytes.Join(lines, nil), &edited); err != nil {
			t.Fatal(err)
		}
		edits++
		if edited.Check() == nil {
			t.Errorf("nothing tells that %s was %s", strings.TrimSpace(string(lines[i])), strings.TrimSpace(string(line)))
		}
	}
	if edits < 15 {
		t.Errorf("only %d numbers were edited", edits)
	}
	for what, edit := range map[string]func(*Profile){
		"quantiles out of order": func(p *Profile) { p.PositiveGapMS.P25 = p.PositiveGapMS.Max + 1 },
		"a span too long":        func(p *Profile) { *p.LastTimestampMS *= 100 },
		"a span backwards":       func(p *Profile) { *p.FirstTimestampMS = *p.LastTimestampMS + 1 },
		"tokens":                 func(p *Profile) { p.InputTokens *= 2 },
		"arrivals by another":    func(p *Profile) { p.Arrivals.SpanMS++ },
		"a request over time":    func(p *Profile) { p.Arrivals.Requests[1]++ },
		"lookups over time":      func(p *Profile) { p.Arrivals.Lookups[0]-- },
		"a span less":            func(p *Profile) { p.Arrivals.Lookups = p.Arrivals.Lookups[:100] },
		"no arrivals":            func(p *Profile) { p.Arrivals = nil },
		"a reuse gap":            func(p *Profile) { p.Reuse.PositiveGapMS.P10, p.Reuse.PositiveGapMS.P5 = 1999, 1999 },
	} {
		var edited Profile
		if err := json.Unmarshal(text, &edited); err != nil {
			t.Fatal(err)
		}
		edit(&edited)
		if edited.Check() == nil {
			t.Error(fmt.Sprint("nothing tells of ", what))
		}
	}
}
