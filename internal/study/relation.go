package study

import (
	"slices"

	"kvfanin/internal/fanin"
	"kvfanin/internal/result"
)

// relate counts joins by what the joining request is to the one that leads.
//
// A replay is open-loop: it lets the next turn of a conversation arrive while
// the turn it answers is still loading, which a real user cannot do. Joins
// that may be of that kind are extensions, an upper bound of them.
func (s *stream) relate(joins fanin.Joins) result.Relations {
	t, blocks := s.trace, int64(joins.Blocks)
	i, j := int(s.request[joins.Leader]), int(s.request[joins.Joiner])
	leader, joiner := t.Blocks(i), t.Blocks(j)
	full := min(int(t.InputTokens[i]/int64(t.BlockTokens)), len(leader))
	switch {
	case t.InputTokens[i] == t.InputTokens[j] && slices.Equal(leader, joiner):
		return result.Relations{Repeat: blocks}
	case t.InputTokens[j] >= t.InputTokens[i]+t.OutputTokens[i] && full >= 2 &&
		len(joiner) >= full && slices.Equal(leader[:full], joiner[:full]):
		return result.Relations{Extension: blocks}
	default:
		return result.Relations{Branch: blocks}
	}
}
