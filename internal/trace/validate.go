package trace

import (
	"context"
)

// Summary counts what Validate saw.
type Summary struct {
	Lines    int64          // lines of text, blank ones included
	Records  int64          // lines that hold a record without a problem
	Problems int64          // all of them
	ByKind   map[Kind]int64 // problems by kind; kinds that did not come up are not in it
	Lookups  int64          // hashes of the good records, each once a record
	Dropped  int64          // hashes of the good records that repeat within theirs
}

// Validate reports every problem of a trace in file order, in memory that does
// not depend on the length of the file. The error is one of opening, reading
// and decompressing, or ctx.Err(); the summary then tells of the part before.
//
// Load fails on exactly the traces that have a problem, and with the first of
// them. There are two exceptions: only Load notices more requests, lookups or
// distinct hashes than it can number, and a file that changes while it is read.
func Validate(ctx context.Context, ref Ref, opt Options, report func(Problem)) (Summary, error) {
	s := Summary{ByKind: map[Kind]int64{}}
	opt, err := opt.withDefaults()
	if err != nil {
		return s, err
	}
	raw, err := open(ctx, ref, opt.Stdin)
	if err != nil {
		return s, err
	}
	defer func() { _ = raw.Close() }()
	text, err := newText(ctx, ref.file(), raw)
	if err != nil {
		return s, err
	}
	defer text.close()

	var seen numbering // hashes of one record
	record := func(_ int64, r *Record) error {
		for _, h := range r.Hashes {
			seen.add(h)
		}
		distinct := int64(len(seen.hash))
		seen.reset()
		s.Records++
		s.Lookups += distinct
		s.Dropped += int64(len(r.Hashes)) - distinct
		return nil
	}
	l := newLines(text)
	err = formats[0].read(l, ref.file(), opt, record, func(p *Problem) error {
		s.Problems++
		s.ByKind[p.Kind]++
		report(*p)
		return nil
	})
	s.Lines = l.no
	return s, err
}
