package findings

import (
	"math/big"
	"slices"

	"kvfanin/internal/result"
)

// Window is the redundancy under one load window, or under several that are
// one and the same experiment on the trace.
//
// Several are one where none exceeds the smallest positive gap between
// timestamps: each load is then complete at the next timestamp, since an
// arrival exactly at a completion finds the block, and only requests of one
// timestamp can share a load, whatever the window. A trace of one timestamp
// has no such gap, and all windows are one.
type Window struct {
	WindowsMS []int64 `json:"windows_ms"` // ascending
	// Rows is how many rows the line draws together: each result stands in
	// them once a window.
	Rows                int `json:"rows"`
	RowsWithoutAttempts int `json:"rows_without_attempts"` // whose redundancy is 0 by definition

	// The median of an even number of rows is the mean of the two in the middle.
	MedianRedundancy  float64 `json:"median_redundancy_share"`
	LargestRedundancy float64 `json:"largest_redundancy_share"`
	// LargestAt is where the redundancy is largest; nil where it is 0 everywhere.
	LargestAt     *Config `json:"largest_redundancy_at"`
	RowsAtLargest int     `json:"rows_at_largest_redundancy"`

	LargestFanIn     int64 `json:"largest_fanin"`
	RowsP99FanInOver int   `json:"rows_fanin_p99_above_1"`
}

func windowsOf(s *steady, smallestGapMS *int64) ([]Window, *Absence) {
	if len(s.rows) == 0 {
		return nil, &Absence{Finding: RedundancyByWindow, Reason: noRows}
	}
	var windowsMS []int64
	byWindow := make(map[int64][]*result.PhaseRow)
	for _, row := range s.rows {
		if byWindow[row.WindowMS] == nil {
			windowsMS = append(windowsMS, row.WindowMS)
		}
		byWindow[row.WindowMS] = append(byWindow[row.WindowMS], row)
	}
	slices.Sort(windowsMS)

	one := 0 // so many of them are one experiment
	for one < len(windowsMS) && (smallestGapMS == nil || windowsMS[one] <= *smallestGapMS) {
		one++
	}
	var lines []Window
	if one > 0 {
		lines = append(lines, windowOf(windowsMS[:one], byWindow))
	}
	for i := one; i < len(windowsMS); i++ {
		lines = append(lines, windowOf(windowsMS[i:i+1], byWindow))
	}
	return lines, nil
}

func windowOf(windowsMS []int64, byWindow map[int64][]*result.PhaseRow) Window {
	line := Window{WindowsMS: windowsMS}
	var all []*big.Rat
	largest := new(big.Rat)
	for _, window := range windowsMS {
		for _, row := range byWindow[window] {
			line.Rows++
			if row.Attempts == 0 {
				line.RowsWithoutAttempts++
			}
			if row.FanInP99 > 1 {
				line.RowsP99FanInOver++
			}
			line.LargestFanIn = max(line.LargestFanIn, row.FanInMax)

			r := redundancy(row)
			all = append(all, r)
			switch r.Cmp(largest) {
			case 1:
				at := Config(row.Config)
				largest, line.LargestAt, line.RowsAtLargest = r, &at, 1
			case 0:
				line.RowsAtLargest++
			}
		}
	}
	line.MedianRedundancy = float(median(all))
	line.LargestRedundancy = float(largest)
	return line
}

// median sorts xs, of which there is at least one.
func median(xs []*big.Rat) *big.Rat {
	slices.SortFunc(xs, (*big.Rat).Cmp)
	low, high := xs[(len(xs)-1)/2], xs[len(xs)/2]
	sum := new(big.Rat).Add(low, high)
	return sum.Quo(sum, big.NewRat(2, 1))
}
