package generate

import (
	"math/bits"
	"math/rand/v2"
)

// source draws integers. It uses PCG's Uint64 and nothing of rand.Rand, whose
// methods may draw differently in another Go version.
type source struct{ pcg *rand.PCG }

// newSource returns one of the independent sources of a seed.
func newSource(seed, which uint64) source { return source{rand.NewPCG(seed, which)} }

// below draws uniformly from 0 to n-1, n > 0. It takes the high half of a
// 128-bit product instead of rejecting draws; the bias, at most n in 2^64,
// would take more draws to see than any trace makes.
func (s source) below(n int64) int64 {
	hi, _ := bits.Mul64(s.pcg.Uint64(), uint64(n))
	return int64(hi)
}

// percent is true in p of a hundred draws.
func (s source) percent(p int64) bool { return s.below(100) < p }

// uniform draws from 1 to 2·mean-1, each equally likely.
func (s source) uniform(mean int64) int64 { return 1 + s.below(2*mean-1) }

// last is true in one of mean draws: the number of draws until it is, that one
// included, is geometric with that mean.
func (s source) last(mean int64) bool { return s.below(mean) == 0 }

// geometric draws from 1 upwards with that mean. It takes as many draws as it
// returns, which is no more than the blocks then written.
func (s source) geometric(mean int64) int64 {
	n := int64(1)
	for !s.last(mean) {
		n++
	}
	return n
}
