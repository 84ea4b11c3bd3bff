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

	// SharesAtLargest are the three shares of that row.
	SharesAtLargest Shares `json:"shares_at_largest_redundancy"`
	// The same over (joins - extensions) ÷ attempts: without the joins that a closed
	// loop may forbid. The largest need not be of the same row.
	MedianWithoutExtensions  float64 `json:"median_redundancy_without_extensions_share"`
	LargestWithoutExtensions float64 `json:"largest_redundancy_without_extensions_share"`

	LargestFanIn     int64   `json:"largest_fanin"`
	LargestFanInAt   *Config `json:"largest_fanin_at"` // the first such row; nil where it is 1 or less
	RowsP99FanInOver int     `json:"rows_fanin_p99_above_1"`
}

func windowsOf(s *steady, smallestGapMS *int64) ([]Window, *Absence) {
	if len(s.rows) == 0 {
		return nil, &Absence{Finding: RedundancyByWindow, Reason: noRows}
	}
	windowsMS, byWindow := s.byWindow()
	one := 0 // so many of them are one experiment
	for one < len(windowsMS) && (smallestGapMS == nil || windowsMS[one] <= *smallestGapMS) {
		one++
	}
	var lines []Window
	if one > 0 {
		lines = append(lines, s.windowOf(windowsMS[:one], byWindow))
	}
	for i := one; i < len(windowsMS); i++ {
		lines = append(lines, s.windowOf(windowsMS[i:i+1], byWindow))
	}
	return lines, nil
}

// byWindow returns the windows of the rows, ascending, and the rows of each.
func (s *steady) byWindow() (windowsMS []int64, byWindow map[int64][]*result.PhaseRow) {
	byWindow = make(map[int64][]*result.PhaseRow)
	for _, row := range s.rows {
		if byWindow[row.WindowMS] == nil {
			windowsMS = append(windowsMS, row.WindowMS)
		}
		byWindow[row.WindowMS] = append(byWindow[row.WindowMS], row)
	}
	slices.Sort(windowsMS)
	return windowsMS, byWindow
}

func (s *steady) windowOf(windowsMS []int64, byWindow map[int64][]*result.PhaseRow) Window {
	line := Window{WindowsMS: windowsMS}
	var all, without []*big.Rat
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
			if at := Config(row.Config); row.FanInMax > line.LargestFanIn {
				line.LargestFanIn = row.FanInMax
				if row.FanInMax > 1 {
					line.LargestFanInAt = &at
				}
			}

			r := ratio(&row.Counts)
			all = append(all, r)
			less := row.Counts
			less.Joins -= s.extensions(row.Config)
			without = append(without, ratio(&less))
			switch r.Cmp(largest) {
			case 1:
				at := Config(row.Config)
				largest, line.LargestAt, line.RowsAtLargest = r, &at, 1
				line.SharesAtLargest = sharesOf(&row.Figures)
			case 0:
				line.RowsAtLargest++
			}
		}
	}
	line.MedianRedundancy = float(median(all))
	line.LargestRedundancy = float(largest)
	line.MedianWithoutExtensions = float(median(without))
	line.LargestWithoutExtensions = float(without[len(without)-1])
	return line
}

// median sorts xs, of which there is at least one.
func median(xs []*big.Rat) *big.Rat {
	slices.SortFunc(xs, (*big.Rat).Cmp)
	low, high := xs[(len(xs)-1)/2], xs[len(xs)/2]
	sum := new(big.Rat).Add(low, high)
	return sum.Quo(sum, big.NewRat(2, 1))
}
