package result

// Outcome is all that one configuration gave on one trace, before it is drawn
// together into rows.
type Outcome struct {
	Instances     [][Phases]Tally // one an instance
	Relations     [Phases]Relations
	Concentration Concentration
}

// PhaseRows returns the two rows of phases.csv.
func (o *Outcome) PhaseRows(trace string, c Config) []PhaseRow {
	var rows []PhaseRow
	requests := make([]int64, len(o.Instances))
	for phase := range Phase(Phases) {
		var sum Tally
		for k := range o.Instances {
			sum.Add(&o.Instances[k][phase])
			requests[k] = o.Instances[k][phase].Requests
		}
		rows = append(rows, PhaseRow{
			Trace: trace, Config: c, Phase: phase,
			Figures:          sum.Figures(),
			RequestImbalance: Imbalance(requests),
		})
	}
	return rows
}

// InstanceRows returns the rows of instances.csv, two an instance.
func (o *Outcome) InstanceRows(trace string, c Config) []InstanceRow {
	var rows []InstanceRow
	for k := range o.Instances {
		for phase := range Phase(Phases) {
			rows = append(rows, InstanceRow{
				Trace: trace, Config: c, Instance: k, Phase: phase,
				Figures: o.Instances[k][phase].Figures(),
			})
		}
	}
	return rows
}

// FanInRows returns the rows of fanin.csv, one for each fan-in that occurs at
// an instance in a phase.
func (o *Outcome) FanInRows(trace string, c Config) []FanInRow {
	var rows []FanInRow
	for k := range o.Instances {
		for phase := range Phase(Phases) {
			for _, count := range o.Instances[k][phase].FanIn {
				rows = append(rows, FanInRow{
					Trace: trace, Config: c, Instance: k, Phase: phase,
					FanInCount: count,
				})
			}
		}
	}
	return rows
}

// RelationRows returns the two rows of relations.csv.
func (o *Outcome) RelationRows(trace string, c Config) []RelationRow {
	var rows []RelationRow
	for phase := range Phase(Phases) {
		row := RelationRow{Trace: trace, Config: c, Phase: phase, Relations: o.Relations[phase]}
		for k := range o.Instances {
			row.Attempts += o.Instances[k][phase].Attempts
			row.Joins += o.Instances[k][phase].Joins
		}
		rows = append(rows, row)
	}
	return rows
}
