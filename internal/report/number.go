package report

import (
	"fmt"
	"strconv"
	"strings"
)

// none stands where a figure does not exist, such as a median of nothing.
const none = "-"

// count groups the digits of n by thousands: 12,031.
func count[I int | int64](n I) string {
	s := strconv.FormatInt(int64(n), 10)
	sign := ""
	if s[0] == '-' {
		sign, s = "-", s[1:]
	}
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return sign + s
}

func countOrNone(n *int64) string {
	if n == nil {
		return none
	}
	return count(*n)
}

// percent prints a share in percent: 0.000493.
func percent(share float64) string { return strconv.FormatFloat(100*share, 'f', 6, 64) }

// difference prints a difference of shares, as a share: 0.001269, or in three
// digits where six decimals would show few of them: 4.48e-6.
func difference(share float64) string {
	switch {
	case share == 0:
		return "0"
	case share >= 1e-4:
		return strconv.FormatFloat(share, 'f', 6, 64)
	}
	digits, exponent, _ := strings.Cut(strconv.FormatFloat(share, 'e', 2, 64), "e-")
	return digits + "e-" + strings.TrimLeft(exponent, "0")
}

// imbalance prints a request imbalance in three digits: 16.0. There is none
// below 1; 0 stands for no requests.
func imbalance(x float64) string {
	switch {
	case x == 0:
		return none
	case x < 9.995:
		return strconv.FormatFloat(x, 'f', 2, 64)
	case x < 99.95:
		return strconv.FormatFloat(x, 'f', 1, 64)
	default:
		return count(int64(x + 0.5))
	}
}

// duration prints ms below a second in ms, else in seconds: 10 ms, 3 s, 2.5 s.
func duration(ms int64) string {
	if ms < 1000 {
		return count(ms) + " ms"
	}
	s := count(ms / 1000)
	if rest := ms % 1000; rest != 0 {
		s += strings.TrimRight(fmt.Sprintf(".%03d", rest), "0")
	}
	return s + " s"
}

// durations prints windows in ascending order, several as a range.
func durations(ms []int64) string {
	if len(ms) == 1 {
		return duration(ms[0])
	}
	return duration(ms[0]) + " – " + duration(ms[len(ms)-1])
}

// plural prints n things.
func plural[I int | int64](n I, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return count(n) + " " + thing + "s"
}
