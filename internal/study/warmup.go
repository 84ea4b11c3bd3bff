package study

import (
	"fmt"
	"math/bits"
	"sort"
	"strings"

	"kvfanin/internal/trace"
)

// Share is a share of a whole, an exact decimal fraction in [0, 1).
type Share struct {
	text     string
	num, den uint64
}

// shareDigits is how many decimals a Share may have: den stays within 64 bits.
const shareDigits = 18

// ParseShare reads a decimal fraction from 0 up to but not including 1, such
// as 0.1, without rounding it.
func ParseShare(s string) (Share, error) {
	bad := fmt.Errorf("%q: want a decimal fraction from 0 up to but not including 1, of at most %d decimals, such as 0.1", s, shareDigits)
	whole, decimals, _ := strings.Cut(s, ".")
	if strings.Trim(whole, "0") != "" || len(whole)+len(decimals) == 0 || strings.HasSuffix(s, ".") {
		return Share{}, bad
	}
	decimals = strings.TrimRight(decimals, "0")
	if len(decimals) > shareDigits {
		return Share{}, bad
	}
	share := Share{text: "0", den: 1}
	for _, digit := range []byte(decimals) {
		if digit < '0' || digit > '9' {
			return Share{}, bad
		}
		share.num = share.num*10 + uint64(digit-'0')
		share.den *= 10
	}
	if decimals != "" {
		share.text = "0." + decimals
	}
	return share, nil
}

// String returns the share in its shortest form.
func (s Share) String() string { return s.text }

// SteadyFrom returns the index of the first request in the steady phase:
// those that arrive before the warm-up share of the last timestamp are
// warm-up. The comparison is exact, so a share of 0.1 means 10·t < last.
func SteadyFrom(t *trace.Trace, warmup Share) int {
	n := t.Requests()
	if n == 0 {
		return 0
	}
	lastHi, lastLo := bits.Mul64(uint64(t.ArrivalMS[n-1]), warmup.num)
	return sort.Search(n, func(i int) bool {
		hi, lo := bits.Mul64(uint64(t.ArrivalMS[i]), warmup.den)
		return hi > lastHi || hi == lastHi && lo >= lastLo
	})
}
