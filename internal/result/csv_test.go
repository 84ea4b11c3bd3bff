package result

import (
	"bytes"
	"errors"
	"io"
	"math"
	"strconv"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// The columns are a contract with scripts: they are spelled out here and not
// derived.
func TestHeaders(t *testing.T) {
	const key = "trace,lookup,routing,instances,capacity_blocks,window_ms,"
	const figures = "requests,lookups,hits,attempts,cohorts,joins,boundary_joins,duplicate_cohorts,duplicate_attempts,redundancy,fanin_p50,fanin_p99,fanin_max"
	checkHeader(t, PhaseTable, "phases.csv", key+"phase,"+figures+",request_imbalance\n")
	checkHeader(t, InstanceTable, "instances.csv", key+"instance,phase,"+figures+"\n")
	checkHeader(t, RelationTable, "relations.csv", key+"phase,attempts,joins,repeat,extension,branch\n")
	checkHeader(t, FanInTable, "fanin.csv", key+"instance,phase,fanin,cohorts\n")
}

func checkHeader[R any](t *testing.T, table *Table[R], name, want string) {
	t.Helper()
	if table.Name() != name {
		t.Errorf("name %s, want %s", table.Name(), name)
	}
	if got := write(t, table, nil); got != want {
		t.Errorf("%s: header\n%s want\n%s", name, got, want)
	}
	rows, err := table.Read(strings.NewReader(want))
	if len(rows) != 0 || err != nil {
		t.Errorf("%s: header alone reads as %v, %v", name, rows, err)
	}
}

type fataler interface {
	Helper()
	Fatalf(format string, args ...any)
}

func write[R any](t fataler, table *Table[R], rows []R) string {
	t.Helper()
	var file bytes.Buffer
	if err := table.Write(&file, rows); err != nil {
		t.Fatalf("%s: %v", table.Name(), err)
	}
	return file.String()
}

// TestWrite shows each kind of row once, as it stands in its file: every value
// is another, so that no two columns can be mixed up.
func TestWrite(t *testing.T) {
	config := Config{"contiguous_prefix", "round_robin", 2, 1000, 300}
	figures := Figures{
		Counts:           Counts{Requests: 11, Lookups: 12, Hits: 13, Attempts: 14, Cohorts: 15, Joins: 16, BoundaryJoins: 17},
		DuplicateCohorts: 18, DuplicateAttempts: 19, PrintedRedundancy: 6.068e-05, FanInP50: 20, FanInP99: 21, FanInMax: math.MaxInt64,
	}
	for _, c := range []struct{ got, want string }{
		{
			write(t, PhaseTable, []PhaseRow{{"a.b-C_9", config, Steady, figures, 1.25}}),
			"a.b-C_9,contiguous_prefix,round_robin,2,1000,300,steady,11,12,13,14,15,16,17,18,19,6.068e-05,20,21,9223372036854775807,1.25",
		},
		{
			write(t, InstanceTable, []InstanceRow{{"t", config, 1, Warmup, figures}}),
			"t,contiguous_prefix,round_robin,2,1000,300,1,warmup,11,12,13,14,15,16,17,18,19,6.068e-05,20,21,9223372036854775807",
		},
		{
			write(t, RelationTable, []RelationRow{{"t", config, Warmup, 9, 8, Relations{1, 2, 5}}}),
			"t,contiguous_prefix,round_robin,2,1000,300,warmup,9,8,1,2,5",
		},
		{
			write(t, FanInTable, []FanInRow{{"t", config, 1, Steady, FanInCount{3, 4}}}),
			"t,contiguous_prefix,round_robin,2,1000,300,1,steady,3,4",
		},
	} {
		_, got, _ := strings.Cut(c.got, "\n")
		if got != c.want+"\n" {
			t.Errorf("row\n%swant\n%s", got, c.want)
		}
	}
}

func TestRoundTrip(t *testing.T) {
	t.Run("phases", rapid.MakeCheck(func(t *rapid.T) { roundTrip(t, PhaseTable) }))
	t.Run("instances", rapid.MakeCheck(func(t *rapid.T) { roundTrip(t, InstanceTable) }))
	t.Run("relations", rapid.MakeCheck(func(t *rapid.T) { roundTrip(t, RelationTable) }))
	t.Run("fanin", rapid.MakeCheck(func(t *rapid.T) { roundTrip(t, FanInTable) }))
}

// roundTrip draws a file of values that its columns take and holds that
// reading and writing gives its bytes, and reading those its rows.
func roundTrip[R any](t *rapid.T, table *Table[R]) {
	values := rapid.OneOf(
		rapid.SampledFrom([]string{"warmup", "steady", "0", "9223372036854775807", "1e-05", "1.7976931348623157e+308", "5e-324", "1e+21"}),
		rapid.Map(rapid.Int64Min(0), func(n int64) string { return strconv.FormatInt(n, 10) }),
		rapid.Map(rapid.Float64Range(0, 2), func(f float64) string { return strconv.FormatFloat(f, 'g', -1, 64) }),
		rapid.StringMatching(`[A-Za-z0-9._-]{1,12}`),
	)
	file := []byte(strings.Join(names(table.columns), ",") + "\n")
	for range rapid.IntRange(0, 5).Draw(t, "rows") {
		for i, c := range table.columns {
			var scratch R
			text := values.Filter(func(s string) bool { return c.parse([]byte(s), &scratch) == nil }).Draw(t, c.name)
			if i > 0 {
				file = append(file, ',')
			}
			file = append(file, text...)
		}
		file = append(file, '\n')
	}
	rows, err := table.Read(bytes.NewReader(file))
	if err != nil {
		t.Fatalf("%v in\n%s", err, file)
	}
	again := write(t, table, rows)
	if again != string(file) {
		t.Fatalf("wrote\n%sread\n%s", again, file)
	}
	same, err := table.Read(strings.NewReader(again))
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(rows, same); d != "" {
		t.Fatal(d)
	}
}

func TestReadRefuses(t *testing.T) {
	const header = "trace,lookup,routing,instances,capacity_blocks,window_ms,instance,phase,fanin,cohorts\n"
	const row = "t,l,r,2,1000,10,1,warmup,3,4\n"
	with := func(old, value string) string { return header + row + strings.Replace(row, old, value, 1) }
	for _, c := range []struct{ name, file, want string }{
		{"empty file", "", "line 1: no header: the file is empty"},
		{"no header", row, `line 1: column 1 is "t", want trace`},
		{"another table", "trace,lookup,routing,instances,capacity_blocks,window_ms,phase\n", `line 1: column 7 is "phase", want instance`},
		{"column missing", strings.Replace(header, ",cohorts", "", 1), "line 1: 9 columns, want 10: cohorts is missing"},
		{"column added", strings.Replace(header, "\n", ",x\n", 1), "line 1: 11 columns, want 10"},
		{"header cut", strings.TrimSuffix(header, "\n"), `line 1: "` + strings.TrimSuffix(header, "\n") + `" does not end in a newline`},
		{"byte order mark", "\ufeff" + header, `line 1: column 1 is "\ufefftrace", want trace`},
		{"last newline missing", header + row + "t,l", `line 3: "t,l" does not end in a newline`},
		{"field missing", with(",4", ""), `line 3: 9 fields in "t,l,r,2,1000,10,1,warmup,3", want 10`},
		{"field added", with("4", "4,"), `line 3: 11 fields in "t,l,r,2,1000,10,1,warmup,3,4,", want 10`},
		{"blank line", header + row + "\n", `line 3: 1 fields in "", want 10`},
		{"carriage return", with("4", "4\r"), `line 3, column cohorts: "4\r": want a non-negative integer without leading zeros`},
		{"no integer", with(",3", ","), `line 3, column fanin: "": want a non-negative integer without leading zeros`},
		{"leading zero", with("1000", "01000"), `line 3, column capacity_blocks: "01000": want a non-negative integer without leading zeros`},
		{"plus sign", with("1000", "+1000"), `line 3, column capacity_blocks: "+1000": want a non-negative integer without leading zeros`},
		{"negative", with(",4", ",-4"), `line 3, column cohorts: "-4": want a non-negative integer without leading zeros`},
		{"fraction", with(",4", ",4.0"), `line 3, column cohorts: "4.0": want a non-negative integer without leading zeros`},
		{"exponent", with(",4", ",4e0"), `line 3, column cohorts: "4e0": want a non-negative integer without leading zeros`},
		{"space", with(",4", ", 4"), `line 3, column cohorts: " 4": want a non-negative integer without leading zeros`},
		{"past 63 bits", with(",4", ",9223372036854775808"), `line 3, column cohorts: "9223372036854775808": want a smaller integer`},
		{"past 64 bits", with(",4", ",18446744073709551616"), `line 3, column cohorts: "18446744073709551616": want a smaller integer`},
		{"phase", with("warmup", "Warmup"), `line 3, column phase: "Warmup": want warmup or steady`},
		{"no name", with("t,", ","), `line 3, column trace: "": want a name of A-Z a-z 0-9 . _ -`},
		{"quoted", with("t,", `"t",`), `line 3, column trace: "\"t\"": want a name of A-Z a-z 0-9 . _ -`},
		{"long value", with("t,", strings.Repeat("é", 60)+","), `line 3, column trace: "` + strings.Repeat("é", 50) + `…": want a name of A-Z a-z 0-9 . _ -`},
		{"long line", with("t,", strings.Repeat("t", maxLine)+","), "line 3: longer than 65536 bytes"},
		{"binary", header + "\x00\xff\n", `line 2: 1 fields in "\x00\xff", want 10`},
	} {
		t.Run(c.name, func(t *testing.T) {
			rows, err := FanInTable.Read(strings.NewReader(c.file))
			if err == nil || err.Error() != c.want {
				t.Errorf("error %v\nwant  %s", err, c.want)
			}
			if rows != nil {
				t.Errorf("rows beside an error: %v", rows)
			}
		})
	}
}

func TestReadRefusesNumbers(t *testing.T) {
	good := write(t, PhaseTable, []PhaseRow{{Trace: "t", Config: Config{"l", "r", 2, 1000, 10}, RequestImbalance: 1.5}})
	for _, text := range []string{"", "1.50", "01.5", "+1.5", "-1.5", "-0", "1.5e0", "15e-1", "0x1.8p0", "NaN", "Inf", "+Inf", "1_5", "1e400", "1.0", ".5"} {
		_, err := PhaseTable.Read(strings.NewReader(strings.Replace(good, "1.5\n", text+"\n", 1)))
		want := `line 2, column request_imbalance: "` + text + `": want a non-negative number in its shortest form`
		if err == nil || err.Error() != want {
			t.Errorf("error %v\nwant  %s", err, want)
		}
	}
}

// A redundancy that is wrong but well formed is read as it stands: that it is
// wrong is for an identity to say.
func TestReadKeepsPrintedRedundancy(t *testing.T) {
	file := write(t, PhaseTable, []PhaseRow{{Trace: "t", Config: Config{"l", "r", 1, 1, 1}, Figures: Figures{PrintedRedundancy: 0.25}}})
	rows, err := PhaseTable.Read(strings.NewReader(file))
	if err != nil || rows[0].PrintedRedundancy != 0.25 || rows[0].Redundancy() != 0 {
		t.Errorf("read %+v, %v", rows, err)
	}
}

func TestWriteRefuses(t *testing.T) {
	config := Config{"l", "r", 1, 1, 1}
	good := PhaseRow{Trace: "t", Config: config}
	for _, c := range []struct {
		edit func(*PhaseRow)
		want string
	}{
		{func(r *PhaseRow) { r.Trace = "a,b" }, `row 2, column trace: "a,b": want a name of A-Z a-z 0-9 . _ -`},
		{func(r *PhaseRow) { r.Lookup = "" }, `row 2, column lookup: "": want a name of A-Z a-z 0-9 . _ -`},
		{func(r *PhaseRow) { r.Hits = -1 }, `row 2, column hits: "-1": want a non-negative integer without leading zeros`},
		{func(r *PhaseRow) { r.Phase = 2 }, `row 2, column phase: "2": want warmup or steady`},
		{func(r *PhaseRow) { r.RequestImbalance = math.NaN() }, `row 2, column request_imbalance: "NaN": want a non-negative number in its shortest form`},
		{func(r *PhaseRow) { r.PrintedRedundancy = math.Copysign(0, -1) }, `row 2, column redundancy: "-0": want a non-negative number in its shortest form`},
	} {
		bad := good
		c.edit(&bad)
		err := PhaseTable.Write(io.Discard, []PhaseRow{good, bad})
		if err == nil || err.Error() != c.want {
			t.Errorf("error %v\nwant  %s", err, c.want)
		}
	}
}

func TestReaderAndWriterErrorsPass(t *testing.T) {
	broken := errors.New("broken")
	file := write(t, FanInTable, nil)
	if _, err := FanInTable.Read(io.MultiReader(strings.NewReader(file), iotest.ErrReader(broken))); !errors.Is(err, broken) {
		t.Errorf("read: %v", err)
	}
	many := make([]FanInRow, 10_000)
	for i := range many {
		many[i] = FanInRow{Trace: "t", Config: Config{"l", "r", 1, 1, 1}}
	}
	// Both where the buffer is flushed on the way and where it is at the end.
	for _, rows := range [][]FanInRow{many, many[:1]} {
		if err := FanInTable.Write(failingWriter{broken}, rows); !errors.Is(err, broken) {
			t.Errorf("write of %d rows: %v", len(rows), err)
		}
	}
}

type failingWriter struct{ err error }

func (w failingWriter) Write([]byte) (int, error) { return 0, w.err }

// FuzzRead holds that nothing is read that would not be written so.
func FuzzRead(f *testing.F) {
	f.Add([]byte("trace,lookup,routing,instances,capacity_blocks,window_ms,instance,phase,fanin,cohorts\nt,l,r,2,1000,10,1,warmup,3,4\n"))
	f.Add([]byte("trace,lookup,routing,instances,capacity_blocks,window_ms,phase,attempts,joins,repeat,extension,branch\nt,l,r,2,1000,10,steady,3,2,1,0,1\n"))
	f.Fuzz(func(t *testing.T, file []byte) {
		readsBack(t, PhaseTable, file)
		readsBack(t, InstanceTable, file)
		readsBack(t, RelationTable, file)
		readsBack(t, FanInTable, file)
	})
}

func readsBack[R any](t *testing.T, table *Table[R], file []byte) {
	rows, err := table.Read(bytes.NewReader(file))
	if err != nil {
		return
	}
	if again := write(t, table, rows); again != string(file) {
		t.Errorf("%s reads %q and writes %q", table.Name(), file, again)
	}
}
