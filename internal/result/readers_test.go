package result

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// need ends a test whose tool is missing: it is skipped, or fails where the
// environment says that nothing may be.
func need(t *testing.T, what string) {
	t.Helper()
	if os.Getenv("KVFANIN_REQUIRE_ALL") == "1" {
		t.Fatalf("missing: %s", what)
	}
	t.Skipf("missing: %s", what)
}

// pythonWith returns a Python interpreter that has a module.
func pythonWith(t *testing.T, module string) string {
	t.Helper()
	python := os.Getenv("KVFANIN_PYTHON")
	if python == "" {
		python = "python3"
	}
	if err := exec.Command(python, "-c", "import "+module).Run(); err != nil {
		need(t, python+" with "+module+" (KVFANIN_PYTHON names an interpreter)")
	}
	return python
}

// TestDuckDBReadsCohorts queries written files as a user would, several at a
// time, and compares what comes back, the largest block hash included.
func TestDuckDBReadsCohorts(t *testing.T) {
	python := pythonWith(t, "duckdb")
	dir := t.TempDir()
	everyFormat(t, func(t *testing.T, format CohortFormat) {
		for _, window := range []int64{10, 30} {
			config := cohortConfig
			config.WindowMS = window
			path := filepath.Join(dir, fmt.Sprintf("%d.%s", window, format))
			if err := os.WriteFile(path, cohortFile(t, format, config, extremes[:3], 1), 0o666); err != nil {
				t.Fatal(err)
			}
		}
		const query = `
import duckdb, sys
for row in duckdb.sql(f"SELECT lookup, routing, instances, capacity_blocks, window_ms, instance, block_hash, leader_request, start_ms, fanin, phase FROM '{sys.argv[1]}' ORDER BY window_ms, block_hash").fetchall():
    print(*row, sep=",")
`
		out, err := exec.Command(python, "-c", query, filepath.Join(dir, "*."+string(format))).Output()
		if err != nil {
			t.Fatal(err)
		}
		const want = `contiguous_prefix,round_robin,16,100000,10,0,0,0,0,1,warmup
contiguous_prefix,round_robin,16,100000,10,0,9223372036854775808,1,0,1,warmup
contiguous_prefix,round_robin,16,100000,10,15,18446744073709551615,9223372036854775807,9223372036854775807,9223372036854775807,steady
contiguous_prefix,round_robin,16,100000,30,0,0,0,0,1,warmup
contiguous_prefix,round_robin,16,100000,30,0,9223372036854775808,1,0,1,warmup
contiguous_prefix,round_robin,16,100000,30,15,18446744073709551615,9223372036854775807,9223372036854775807,9223372036854775807,steady
`
		if d := cmp.Diff(want, string(out)); d != "" {
			t.Error(d)
		}

		// A reader passes over what the bounds in a file say cannot match: each
		// value must be found when it is asked for. (Without page bounds in a
		// column the library wrote bounds that hid every row of it.)
		const filters = `
import duckdb, sys
rows = duckdb.read_parquet(sys.argv[1]) if sys.argv[1].endswith("parquet") else duckdb.read_csv(sys.argv[1])
for column in rows.columns:
    for value, n in duckdb.sql(f"SELECT {column}, count(*) FROM rows GROUP BY ALL").fetchall():
        literal = f"'{value}'" if isinstance(value, str) else value
        [(found,)] = duckdb.sql(f"SELECT count(*) FROM '{sys.argv[1]}' WHERE {column} = {literal}").fetchall()
        if found != n:
            print(f"{column} = {value}: {found} rows found, {n} there")
`
		out, err = exec.Command(python, "-c", filters, filepath.Join(dir, "*."+string(format))).CombinedOutput()
		if err != nil || len(out) > 0 {
			t.Errorf("%v\n%s", err, out)
		}
	})
}
