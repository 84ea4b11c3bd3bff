package cli

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/BurntSushi/toml"
	"github.com/spf13/pflag"
)

// applyConfig sets the flags that a TOML file holds, by their names, apart
// from those given on the command line. A list may be a TOML array.
func applyConfig(flags *pflag.FlagSet, path string) error {
	if path == "" {
		return nil
	}
	var file map[string]any
	if _, err := toml.DecodeFile(path, &file); err != nil {
		return fmt.Errorf("--config %s: %w", path, err)
	}
	for _, key := range slices.Sorted(maps.Keys(file)) {
		flag := flags.Lookup(key)
		if flag == nil || key == "config" || key == "help" {
			return fmt.Errorf("--config %s: %q is no flag of this command (see --help)", path, key)
		}
		if flag.Changed {
			continue
		}
		if err := flags.Set(key, tomlText(file[key])); err != nil {
			return fmt.Errorf("--config %s: %w", path, err)
		}
	}
	return nil
}

// tomlText returns a TOML value as it would stand on the command line.
func tomlText(v any) string {
	list, ok := v.([]any)
	if !ok {
		return fmt.Sprint(v)
	}
	words := make([]string, len(list))
	for i, v := range list {
		words[i] = fmt.Sprint(v)
	}
	return strings.Join(words, ",")
}
