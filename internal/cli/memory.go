package cli

import (
	"fmt"
	"math"
	"os"
	"runtime/debug"
	"strconv"

	"kvfanin/internal/trace"
)

const mib = 1 << 20

// size is a flag that holds an amount of memory in bytes; 0 is none given.
type size int64

var sizeUnits = []struct {
	name  string
	bytes int64
}{
	{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {"TiB", 1 << 40},
	{"kB", 1e3}, {"MB", 1e6}, {"GB", 1e9}, {"TB", 1e12},
}

func (s *size) Type() string { return "size" }

// String returns the size in the largest unit that makes it a whole number of
// them, as Set takes it.
func (s *size) String() string {
	if *s == 0 {
		return ""
	}
	best := sizeUnits[0]
	for _, u := range sizeUnits {
		if int64(*s)%u.bytes == 0 && (int64(*s)%best.bytes != 0 || u.bytes > best.bytes) {
			best = u
		}
	}
	return strconv.FormatInt(int64(*s)/best.bytes, 10) + best.name
}

func (s *size) Set(text string) error {
	for _, u := range sizeUnits {
		digits := len(text) - len(u.name)
		if digits < 1 || text[digits:] != u.name {
			continue
		}
		if n, err := strconv.ParseUint(text[:digits], 10, 63); err == nil && n > 0 && n <= uint64(math.MaxInt64/u.bytes) {
			*s = size(int64(n) * u.bytes)
			return nil
		}
	}
	return fmt.Errorf("%q: want a whole number above 0 with its unit, such as 500MB or 2GiB", text)
}

// The collector is set here and at --memory-limit, and nowhere else.

// boundGarbage makes the collector run before what is no longer used takes
// more than some 16 MiB or, if traces are large, a seventh of what is; text is
// their length. Go's own setting is as much again as is used: right for small
// things that come and go, but it would double memory that is a few long
// columns. Those hold no pointers, and cost the collector nothing to look at.
func boundGarbage(text int64) {
	if os.Getenv("GOGC") != "" {
		return // whoever runs it has decided
	}
	debug.SetGCPercent(int(max(15, min(100, 100*16*mib/max(text, 1)))))
}

// fileBytes returns the length of the files, as far as it is known before they
// are read.
func fileBytes(refs []trace.Ref) int64 {
	var n int64
	for _, ref := range refs {
		if info, err := os.Stat(ref.Path); err == nil {
			n += info.Size()
		}
	}
	return n
}

// textBytes returns the length of what was read, decompressed.
func textBytes(traces []*trace.Trace) int64 {
	var n int64
	for _, t := range traces {
		n += t.Source.Bytes
	}
	return n
}
