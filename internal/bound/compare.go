package bound

import (
	"slices"
	"strings"
	"sync"
	"time"
)

// B is what of a testing.B a comparison needs.
type B interface {
	Helper()
	Loop() bool
	ReportMetric(n float64, unit string)
}

// Thing is something to be measured.
type Thing struct {
	Name string
	Run  func()
}

// Compare runs a thing and its bounds in turn, in every iteration of the
// benchmark, and reports ns per unit of the thing and of each bound, and how
// many times each bound the thing takes ("x-NAME"). All are medians over the
// iterations, the last of the ratios in one iteration: whatever slows the
// machine down for a while slows both down, and the ratio stays. It returns the
// ns per unit of the thing.
func Compare(b B, unit string, units float64, thing func(), bounds ...Thing) float64 {
	b.Helper()
	all := append([]Thing{{"", thing}}, bounds...)
	took := make([][]float64, len(all)) // ns of each, by round
	for _, t := range all {
		t.Run() // memory is there and warm, as in the middle of a study
	}
	for round := 0; b.Loop(); round++ {
		for i := range all {
			i = (i + round) % len(all) // none always comes after the same one
			start := time.Now()
			all[i].Run()
			took[i] = append(took[i], float64(time.Since(start)))
		}
	}
	b.ReportMetric(0, "ns/op") // of all together it says nothing
	b.ReportMetric(Median(took[0])/units, "ns/"+unit)
	for i, t := range all[1:] {
		name := strings.ReplaceAll(t.Name, " ", "-")
		b.ReportMetric(Median(took[i+1])/units, name+"-ns/"+unit)
		b.ReportMetric(MedianRatio(took[0], took[i+1]), "x-"+name)
	}
	return Median(took[0]) / units
}

// Threads runs f on n goroutines at once and waits for all. It is given the
// number of each, from 0.
func Threads(n int, f func(k int)) {
	var all sync.WaitGroup
	for k := range n {
		all.Go(func() { f(k) })
	}
	all.Wait()
}

// Median returns the middle of values, the upper one of two.
func Median(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	return slices.Sorted(slices.Values(values))[len(values)/2]
}

// MedianRatio returns the median of what a is to b, pair by pair.
func MedianRatio(a, b []float64) float64 {
	ratios := make([]float64, len(a))
	for i := range a {
		ratios[i] = a[i] / b[i]
	}
	return Median(ratios)
}
