package report

// Figures as every document prints them, for the page: the package page lays
// out and prints nothing of its own.

// Count groups digits by thousands: 12,031.
func Count[I int | int64](n I) string { return count(n) }

// Percent prints a share in percent, as the published study does: 0.000493.
func Percent(share float64) string { return percent(share) }

// Roughly prints a share in percent in three digits: 0.109.
func Roughly(share float64) string { return roughly(share) }

// Duration prints ms with their unit: 10 ms, 3 s.
func Duration(ms int64) string { return duration(ms) }

// Plural prints n things.
func Plural[I int | int64](n I, thing string) string { return plural(n, thing) }

// minus puts the sign of a number where a hyphen stands for it.
func minus(text string) string {
	if len(text) > 0 && text[0] == '-' {
		return "−" + text[1:]
	}
	return text
}
