package study

import (
	"slices"

	"kvfanin/internal/result"
	"kvfanin/internal/trace"
)

// relate counts joins, of the given number of blocks, by request j to loads of
// request i under what j is to i.
//
// A replay is open-loop: it lets the next turn of a conversation arrive while
// the turn it answers is still loading, which a real user cannot do. Joins
// that may be of that kind are extensions, an upper bound of them.
func relate(t *trace.Trace, i, j int, blocks int64, r *result.Relations) {
	leader, joiner := t.Blocks(i), t.Blocks(j)
	full := min(int(t.InputTokens[i]/int64(t.BlockTokens)), len(leader))
	switch {
	case t.InputTokens[i] == t.InputTokens[j] && slices.Equal(leader, joiner):
		r.Repeat += blocks
	case t.InputTokens[j] >= t.InputTokens[i]+t.OutputTokens[i] && full >= 2 &&
		len(joiner) >= full && slices.Equal(leader[:full], joiner[:full]):
		r.Extension += blocks
	default:
		r.Branch += blocks
	}
}
