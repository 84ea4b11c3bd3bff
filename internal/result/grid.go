package result

// Grid is the set of configurations a study runs: every combination of its
// axes. Values stand in the order they are run and printed.
type Grid struct {
	Lookups          []string `json:"lookups"`
	Routings         []string `json:"routings"`
	Instances        []int    `json:"instances"`
	CapacitiesBlocks []int    `json:"capacities_blocks"` // of each instance
	WindowsMS        []int64  `json:"windows_ms"`
}

// Configs returns the configurations in the order of the rows: lookup,
// routing, instances, capacity, window, the last varying fastest.
func (g *Grid) Configs() []Config {
	var configs []Config
	for _, lookup := range g.Lookups {
		for _, routing := range g.Routings {
			for _, instances := range g.Instances {
				for _, capacity := range g.CapacitiesBlocks {
					for _, window := range g.WindowsMS {
						configs = append(configs, Config{lookup, routing, instances, capacity, window})
					}
				}
			}
		}
	}
	return configs
}
