package findings

import "kvfanin/internal/result"

// Concentrated is where the joins come from in one row of a line of windows.
type Concentrated struct {
	WindowsMS []int64 `json:"windows_ms"` // of the line
	Why       string  `json:"why"`        // what the row has most of: LargestRedundancy or LargestFanIn
	At        Config  `json:"at"`
	Shares    Shares  `json:"shares"`
	FanInMax  int64   `json:"largest_fanin"`
	// CohortsAtMax have that fan-in.
	CohortsAtMax int64 `json:"cohorts_of_largest_fanin"`
	// BoundaryJoins are joins of the row to loads that were led in warm-up. The
	// concentration is without them.
	BoundaryJoins int64 `json:"boundary_joins"`
	result.Concentration
}

// Why a row was picked.
const (
	LargestRedundancy = "largest_redundancy"
	LargestFanIn      = "largest_fanin"
)

// concentratedOf picks two rows of each line with joins: that with the largest
// redundancy, and that with the largest fan-in; the first of equals.
func concentratedOf(s *steady, lines []Window) []Concentrated {
	rows := make(map[result.Config]*result.ConcentrationRow)
	for i := range s.concentrations {
		rows[s.concentrations[i].Config()] = &s.concentrations[i]
	}
	picked := []Concentrated{}
	pick := func(line *Window, why string, at *Config) {
		if at == nil || rows[result.Config(*at)] == nil {
			return
		}
		row := s.of[result.Config(*at)]
		picked = append(picked, Concentrated{
			WindowsMS: line.WindowsMS, Why: why, At: *at,
			Shares: sharesOf(&row.Figures), FanInMax: row.FanInMax,
			CohortsAtMax: s.fanIns[fanInKey{row.Config, row.FanInMax}], BoundaryJoins: row.BoundaryJoins,
			Concentration: rows[result.Config(*at)].Concentration,
		})
	}
	for i := range lines {
		pick(&lines[i], LargestRedundancy, lines[i].LargestAt)
		pick(&lines[i], LargestFanIn, lines[i].LargestFanInAt)
	}
	return picked
}

// sharesOf returns the three shares of a row; 0 where there is nothing to be a
// share of.
func sharesOf(f *result.Figures) Shares {
	shares := Shares{Redundancy: f.Redundancy()}
	if f.Cohorts > 0 {
		shares.DuplicateCohorts = float64(f.DuplicateCohorts) / float64(f.Cohorts)
	}
	if f.Attempts > 0 {
		shares.DuplicateAttempts = float64(f.DuplicateAttempts) / float64(f.Attempts)
	}
	return shares
}
