package decision

import (
	"encoding/json"
	"math/big"
	"strconv"
	"strings"
)

// The figures of a decision are printed here and not where the pages are made,
// because decide.js prints them as well, digit by digit the same: formatNumber,
// formatPercent and formatDuration there. Ties are rounded away from zero, as
// JavaScript's toFixed does, and strconv does not.

// FormatNumber prints x in at most four digits behind the first, with the
// thousands set off: 12,031, 85.27, 0.001234; above and below in powers of
// ten: 1.203e7, 4.5e-6. It takes at most ten columns for what Check lets pass.
func FormatNumber(x float64) string {
	switch {
	case x == 0:
		return "0"
	case x < 0:
		return "-" + FormatNumber(-x)
	case x >= 1e6 || x < 1e-3:
		return scientific(x)
	}
	decimals := 6
	for _, from := range []float64{1e-2, 1e-1, 1, 10, 100, 1000} {
		if x >= from {
			decimals--
		}
	}
	return group(trim(fixed(x, decimals)))
}

// FormatPercent prints a share in percent, in six decimals as the published
// study does, or in powers of ten where six would show few digits of it.
func FormatPercent(share float64) string {
	percent := 100 * share
	if percent > 0 && percent < 1e-4 {
		return scientific(percent)
	}
	return fixed(percent, 6)
}

// FormatDuration prints ms below a second in ms, else in seconds: 10 ms, 2.5 s.
func FormatDuration(ms int64) string {
	if ms < 1000 {
		return strconv.FormatInt(ms, 10) + " ms"
	}
	return group(trim(strconv.FormatInt(ms/1000, 10)+"."+strconv.FormatInt(1000+ms%1000, 10)[1:])) + " s"
}

// fixed prints x ≥ 0 with that many decimals.
func fixed(x float64, decimals int) string {
	return new(big.Rat).SetFloat64(x).FloatString(decimals)
}

// scientific prints x > 0 as a number from 1 to 10 and a power of ten.
func scientific(x float64) string {
	e := 0
	for ; x >= 10; e++ {
		x /= 10
	}
	for ; x < 1; e-- {
		x *= 10
	}
	digits := fixed(x, 3)
	if digits == "10.000" {
		digits = "1.000"
		e++
	}
	return trim(digits) + "e" + strconv.Itoa(e)
}

// trim takes away zeros at the end of the decimals.
func trim(s string) string {
	if !strings.Contains(s, ".") {
		return s
	}
	return strings.TrimSuffix(strings.TrimRight(s, "0"), ".")
}

// group sets off the thousands.
func group(s string) string {
	whole, decimals, found := strings.Cut(s, ".")
	for i := len(whole) - 3; i > 0; i -= 3 {
		whole = whole[:i] + "," + whole[i:]
	}
	if found {
		return whole + "." + decimals
	}
	return whole
}

// exact prints x in the shortest form that reads back to the same value, as a
// flag or an input takes it. It is what String(x) is in JavaScript.
func exact(x float64) string {
	b, err := json.Marshal(x)
	if err != nil {
		return strconv.FormatFloat(x, 'g', -1, 64) // NaN and the infinities
	}
	return string(b)
}
