package result

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"io"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress/zstd"
)

var cohortConfig = Config{"contiguous_prefix", "round_robin", 16, 100_000, 10_000}

// extremes are the cohorts at the ends of what a column holds.
var extremes = []Cohort{
	{0, 0, 0, 0, 1, Warmup},
	{15, math.MaxUint64, math.MaxInt64, math.MaxInt64, math.MaxInt64, Steady},
	{0, 1 << 63, 1, 0, 1, Warmup},
	{math.MaxInt32, math.MaxUint64 - 1, 0, math.MaxInt64, 2, Steady},
	{0, 0, math.MaxInt64, 0, math.MaxInt64, Steady},
}

// everyFormat runs a test on each format.
func everyFormat(t *testing.T, test func(t *testing.T, format CohortFormat)) {
	for _, format := range CohortFormats() {
		t.Run(string(format), func(t *testing.T) { test(t, format) })
	}
}

func cohortFile(t fataler, format CohortFormat, config Config, cohorts []Cohort, batch int) []byte {
	t.Helper()
	var file bytes.Buffer
	if err := writeCohorts(&file, format, config, cohorts, batch); err != nil {
		t.Fatalf("%s: %v", format, err)
	}
	return file.Bytes()
}

func readCohorts(file []byte, format CohortFormat, config Config) ([]Cohort, error) {
	var cohorts []Cohort
	for batch, err := range ReadCohorts(bytes.NewReader(file), int64(len(file)), format, config) {
		if err != nil {
			return nil, err
		}
		cohorts = append(cohorts, batch...)
	}
	return cohorts, nil
}

func TestCohortRoundTrip(t *testing.T) {
	everyFormat(t, func(t *testing.T, format CohortFormat) {
		for _, cohorts := range [][]Cohort{
			nil,
			extremes,
			slices.Repeat(extremes, cohortBatch/len(extremes)+1),
			benchmarkCohorts(cohortBatch, true),
			benchmarkCohorts(3*cohortBatch+1, false),
		} {
			got, err := readCohorts(cohortFile(t, format, cohortConfig, cohorts, 1000), format, cohortConfig)
			if err != nil {
				t.Fatalf("%d cohorts: %v", len(cohorts), err)
			}
			if d := cmp.Diff(cohorts, got); d != "" {
				t.Fatalf("%d cohorts: %s", len(cohorts), d)
			}
		}
	})
}

// The bytes are those of the cohorts, however they are divided over calls. There
// are enough to fill a page of each column.
func TestCohortBytes(t *testing.T) {
	everyFormat(t, func(t *testing.T, format CohortFormat) {
		cohorts := benchmarkCohorts(70_000, true)
		want := cohortFile(t, format, cohortConfig, cohorts, len(cohorts))
		for _, batch := range []int{1, 1000, cohortBatch + 1} {
			if got := cohortFile(t, format, cohortConfig, cohorts, batch); !bytes.Equal(got, want) {
				t.Errorf("in calls of %d: %d bytes, and not the %d of one call", batch, len(got), len(want))
			}
		}
	})
}

// More cohorts than a row group holds are in several, none lost where one ends.
func TestCohortRowGroups(t *testing.T) {
	cohorts := slices.Repeat(benchmarkCohorts(cohortBatch+1, false), rowGroupRows/cohortBatch+1)
	cohorts = cohorts[:rowGroupRows+cohortBatch+1]
	file := cohortFile(t, CohortParquet, cohortConfig, cohorts, len(cohorts))
	f, err := parquet.OpenFile(bytes.NewReader(file), int64(len(file)))
	if err != nil {
		t.Fatal(err)
	}
	var rows []int64
	for _, g := range f.RowGroups() {
		rows = append(rows, g.NumRows())
	}
	if want := []int64{rowGroupRows, cohortBatch + 1}; !slices.Equal(rows, want) {
		t.Errorf("row groups of %d rows, want %d", rows, want)
	}
	got, err := readCohorts(file, CohortParquet, cohortConfig)
	if err != nil || !slices.Equal(got, cohorts) {
		t.Errorf("%d cohorts, %v; want %d", len(got), err, len(cohorts))
	}
}

// The columns of both formats are the same and are spelled out here, like
// those of the tables.
func TestCohortColumns(t *testing.T) {
	const want = "lookup,routing,instances,capacity_blocks,window_ms,instance,block_hash,leader_request,start_ms,fanin,phase"
	if got := strings.Join(cohortFileColumns(), ","); got != want {
		t.Errorf("columns %s, want %s", got, want)
	}
	var leaves []string
	for _, c := range parquetSchema.Columns() {
		leaves = append(leaves, strings.Join(c, "."))
	}
	if got := strings.Join(leaves, ","); got != want {
		t.Errorf("Parquet columns %s, want %s", got, want)
	}

	// No signed column holds every hash.
	if schema := parquetSchema.String(); !strings.Contains(schema, "required int64 block_hash (INT(64,false));") {
		t.Errorf("Parquet schema %s", schema)
	}

	gz, err := gzip.NewReader(bytes.NewReader(cohortFile(t, CohortCSV, cohortConfig, extremes[1:2], 1)))
	if err != nil {
		t.Fatal(err)
	}
	if !gz.ModTime.IsZero() || gz.Name != "" {
		t.Errorf("gzip header %+v depends on when or where", gz.Header)
	}
	text, err := io.ReadAll(gz)
	if err != nil {
		t.Fatal(err)
	}
	const row = "contiguous_prefix,round_robin,16,100000,10000,15,18446744073709551615,9223372036854775807,9223372036854775807,9223372036854775807,steady"
	if got := string(text); got != want+"\n"+row+"\n" {
		t.Errorf("file\n%s", got)
	}
}

func TestCohortConfigMustMatch(t *testing.T) {
	everyFormat(t, func(t *testing.T, format CohortFormat) {
		file := cohortFile(t, format, cohortConfig, extremes, 1)
		for _, c := range configColumns {
			other := cohortConfig
			for _, text := range []string{"17", "x"} {
				if c.parse([]byte(text), &other) == nil {
					break
				}
			}
			if _, err := readCohorts(file, format, other); err == nil {
				t.Errorf("%s: read as %+v", c.name, other)
			}
		}
	})
	file := cohortFile(t, CohortParquet, cohortConfig, extremes, 1)
	other := cohortConfig
	other.WindowMS = 30
	if _, err := readCohorts(file, CohortParquet, other); err == nil || err.Error() != "column window_ms: 10000, want 30" {
		t.Errorf("error %v", err)
	}
}

func TestCohortErrors(t *testing.T) {
	if _, err := NewCohortWriter(io.Discard, "orc", cohortConfig); err == nil || err.Error() != `cohort format "orc", want one of ["parquet" "csv.gz"]` {
		t.Errorf("format: %v", err)
	}
	if _, err := readCohorts(nil, "orc", cohortConfig); err == nil || err.Error() != `cohort format "orc", want one of ["parquet" "csv.gz"]` {
		t.Errorf("format: %v", err)
	}
	bad := cohortConfig
	bad.Routing = "a,b"
	everyFormat(t, func(t *testing.T, format CohortFormat) {
		if _, err := NewCohortWriter(io.Discard, format, bad); err == nil || err.Error() != `column routing: "a,b": want a name of A-Z a-z 0-9 . _ -` {
			t.Errorf("configuration: %v", err)
		}
		full := errors.New("disk full")
		if err := writeCohorts(failingWriter{full}, format, cohortConfig, benchmarkCohorts(50_000, true), 1000); !errors.Is(err, full) {
			t.Errorf("write: %v", err)
		}
		for _, file := range []string{"", "x", "PAR1\x00\x00\x00\x00PAR1", "PAR1", "PAR1PAR1", "PAR1\xff\xff\xff\xffPAR1", strings.Repeat("\x00", 1000)} {
			if got, err := readCohorts([]byte(file), format, cohortConfig); err == nil {
				t.Errorf("%q reads as %v", file, got)
			}
		}
	})
}

// The length of a footer is held against the file before so much is allocated.
func TestCohortParquetFooterLength(t *testing.T) {
	_, err := readCohorts([]byte("PAR1\xff\xff\xff\xffPAR1"), CohortParquet, cohortConfig)
	if err == nil || err.Error() != "a Parquet footer of 4294967295 bytes in a file of 12" {
		t.Errorf("error %v", err)
	}
}

// A reader may stop in the middle of a file.
func TestCohortReadStops(t *testing.T) {
	everyFormat(t, func(t *testing.T, format CohortFormat) {
		cohorts := benchmarkCohorts(3*cohortBatch, false)
		file := cohortFile(t, format, cohortConfig, cohorts, len(cohorts))
		for batch, err := range ReadCohorts(bytes.NewReader(file), int64(len(file)), format, cohortConfig) {
			if err != nil || !slices.Equal(batch, cohorts[:cohortBatch]) {
				t.Errorf("first batch of %d, %v", len(batch), err)
			}
			break
		}
	})
}

// A panic of who reads is not taken for one of the library.
func TestCohortReadPassesPanics(t *testing.T) {
	everyFormat(t, func(t *testing.T, format CohortFormat) {
		file := cohortFile(t, format, cohortConfig, extremes, 1)
		defer func() {
			if p := recover(); p != "mine" {
				t.Errorf("recovered %v", p)
			}
		}()
		for _, err := range ReadCohorts(bytes.NewReader(file), int64(len(file)), format, cohortConfig) {
			if err == nil {
				panic("mine")
			}
		}
	})
}

// No end of a file can be missing, and nothing can stand after it.
func TestCohortFileIsWhole(t *testing.T) {
	everyFormat(t, func(t *testing.T, format CohortFormat) {
		file := cohortFile(t, format, cohortConfig, extremes, 1)
		for n := range file {
			if _, err := readCohorts(file[:n], format, cohortConfig); err == nil {
				t.Errorf("cut to %d of %d bytes: no error", n, len(file))
			}
		}
		var emptyMember bytes.Buffer
		if err := gzip.NewWriter(&emptyMember).Close(); err != nil {
			t.Fatal(err)
		}
		for _, more := range [][]byte{{0}, {'\n'}, emptyMember.Bytes(), file} {
			if format == CohortParquet && len(more) == len(file) {
				// Parquet is read from its end, and what is there says where the
				// rest lies: the first copy.
				continue
			}
			if _, err := readCohorts(slices.Concat(file, more), format, cohortConfig); err == nil {
				t.Errorf("with %d bytes more: no error", len(more))
			}
		}
	})
}

// TestCohortFlips turns over each byte of a file, its lowest bit, its highest or
// all of them. That is an error, or it changes nothing that is read: a checksum
// over the whole file is kept elsewhere, and finds those.
func TestCohortFlips(t *testing.T) {
	everyFormat(t, func(t *testing.T, format CohortFormat) {
		cohorts := append(slices.Clone(extremes), benchmarkCohorts(100, true)...)
		file := cohortFile(t, format, cohortConfig, cohorts, len(cohorts))
		unseen := 0
		for i := range file {
			mask := []byte{0x01, 0x80, 0xff}[i%3]
			file[i] ^= mask
			got, err := readCohorts(file, format, cohortConfig)
			file[i] ^= mask
			if err != nil {
				continue
			}
			unseen++
			if !slices.Equal(got, cohorts) {
				t.Errorf("byte %d ^ %#x: other cohorts and no error", i, mask)
			}
		}
		t.Logf("%d of %d flips change nothing that is read", unseen, len(file))
	})
}

// FuzzReadCohorts holds that no file is a panic.
func FuzzReadCohorts(f *testing.F) {
	for _, format := range CohortFormats() {
		var file bytes.Buffer
		if err := writeCohorts(&file, format, cohortConfig, extremes, 1); err != nil {
			f.Fatal(err)
		}
		f.Add(file.Bytes())
	}
	f.Fuzz(func(_ *testing.T, file []byte) {
		for _, format := range CohortFormats() {
			// What is read is no concern here, only that it ends.
			_, _ = readCohorts(file, format, cohortConfig)
		}
	})
}

// Rows that do not fit the columns, in the format where they can be written by
// hand.
func TestCohortCSVRefuses(t *testing.T) {
	header := strings.Join(cohortFileColumns(), ",") + "\n"
	const row = "contiguous_prefix,round_robin,16,100000,10000,0,1,2,3,4,steady\n"
	for _, c := range []struct{ name, text, want string }{
		{"empty", "", "line 1: no header: the file is empty"},
		{"header", "lookup\n", "line 1: 1 columns, want 11: routing is missing"},
		{"configuration", header + row + strings.Replace(row, "16", "8", 1),
			`line 3: "contiguous_prefix,round_robin,8,100000,10000,0,1,2,3,4,steady", want a row that begins with "contiguous_prefix,round_robin,16,100000,10000,"`},
		{"fields", header + row + strings.Replace(row, ",4", "", 1), `line 3: 5 fields in "0,1,2,3,steady", want 6`},
		{"instance", header + strings.Replace(row, ",0,1", ",2147483648,1", 1), `line 2, column instance: "2147483648": want a smaller integer`},
		{"block hash", header + strings.Replace(row, ",1,2", ",18446744073709551616,2", 1), `line 2, column block_hash: "18446744073709551616": want a smaller integer`},
		{"start", header + strings.Replace(row, ",3,", ",-3,", 1), `line 2, column start_ms: "-3": want a non-negative integer without leading zeros`},
		{"phase", header + strings.Replace(row, "steady", "", 1), `line 2, column phase: "": want warmup or steady`},
		{"end", header + strings.TrimSuffix(row, "\n"), `line 2: "` + strings.TrimSuffix(row, "\n") + `" does not end in a newline`},
	} {
		var file bytes.Buffer
		gz := gzip.NewWriter(&file)
		_, _ = gz.Write([]byte(c.text))
		if err := gz.Close(); err != nil {
			t.Fatal(err)
		}
		_, err := readCohorts(file.Bytes(), CohortCSV, cohortConfig)
		if err == nil || err.Error() != c.want {
			t.Errorf("%s: error %v\nwant %s", c.name, err, c.want)
		}
	}
}

// A footer that lies about how many rows there are is found out, and not
// believed: 150 is in it as the rows of the file, the rows of the row group and
// the values of each column.
func TestCohortParquetRowCount(t *testing.T) {
	cohorts := benchmarkCohorts(150, false)
	file := cohortFile(t, CohortParquet, cohortConfig, cohorts, len(cohorts))
	footer := len(file) - 8 - int(binary.LittleEndian.Uint32(file[len(file)-8:]))
	count, less := binary.AppendVarint(nil, 150), binary.AppendVarint(nil, 149)
	var errs []string
	for i := footer; i < len(file)-8; i++ {
		if !bytes.HasPrefix(file[i:], count) {
			continue
		}
		copy(file[i:], less)
		got, err := readCohorts(file, CohortParquet, cohortConfig)
		copy(file[i:], count)
		if err != nil {
			errs = append(errs, err.Error())
		} else if !slices.Equal(got, cohorts) {
			t.Errorf("byte %d: %d cohorts and no error", i, len(got))
		}
	}
	want := []string{
		"149 rows in all, 150 in the row groups",
		"150 rows in all, 149 in the row groups",
	}
	if !slices.Equal(errs, want) {
		t.Errorf("errors %q, want %q", errs, want)
	}
	all := append(slices.Clone(file[:footer]), bytes.ReplaceAll(file[footer:], count, less)...)
	if _, err := readCohorts(all, CohortParquet, cohortConfig); err == nil || err.Error() != "column lookup: goes on after the row group" {
		t.Errorf("all counts: error %v", err)
	}
}

// Parquet of another schema, or with a phase that is none, is refused.
func TestCohortParquetRefuses(t *testing.T) {
	file := func(write func(w io.Writer) error) []byte {
		var file bytes.Buffer
		if err := write(&file); err != nil {
			t.Fatal(err)
		}
		return file.Bytes()
	}
	other := file(func(w io.Writer) error {
		type row struct {
			BlockHash int64 `parquet:"block_hash"`
		}
		return parquet.Write(w, []row{{1}}, parquet.NewSchema("cohort", parquet.SchemaOf(row{})))
	})
	if _, err := readCohorts(other, CohortParquet, cohortConfig); err == nil || !strings.HasPrefix(err.Error(), `schema "message cohort {\n\trequired int64 block_hash (INT(64,true));\n}", want "message cohort {`) {
		t.Errorf("schema: %v", err)
	}
	rows := []parquetRow{{cohortConfig.Lookup, cohortConfig.Routing, 16, 100_000, 10_000, 0, 1, 2, 3, 4, "between"}}
	plain := file(func(w io.Writer) error { return parquet.Write(w, rows, parquetSchema) })
	if _, err := readCohorts(plain, CohortParquet, cohortConfig); err == nil || err.Error() != "codec UNCOMPRESSED, want ZSTD" {
		t.Errorf("codec: %v", err)
	}
	phase := file(func(w io.Writer) error {
		return parquet.Write(w, rows, parquetSchema, parquet.Compression(&zstd.Codec{}))
	})
	if _, err := readCohorts(phase, CohortParquet, cohortConfig); err == nil || err.Error() != `column phase: "between": want warmup or steady` {
		t.Errorf("phase: %v", err)
	}
}

// TestCohortEditsAreFound edits each column of each cohort of each
// configuration and holds that the check finds it.
//
// Exceptions. Nothing in the rows knows a block hash. A leader and its start
// are known by their order alone, so that they are found where they are moved
// past another cohort or past the trace, and not where they stay between two.
func TestCohortEditsAreFound(t *testing.T) {
	s := sampleStudy()
	seen := make(map[string]bool)
	edits := []struct {
		name string
		edit func(*Cohort)
	}{
		{"instance to another", func(c *Cohort) { c.Instance = 1 - c.Instance }},
		{"instance that is none", func(c *Cohort) { c.Instance += 2 }},
		{"negative instance", func(c *Cohort) { c.Instance -= 2 }},
		{"leader past the trace", func(c *Cohort) { c.LeaderRequest += s.facts.Requests }},
		{"leader before the trace", func(c *Cohort) { c.LeaderRequest -= s.facts.Requests }},
		{"start before the trace", func(c *Cohort) { c.StartMS = -1 }},
		{"fan-in one more", func(c *Cohort) { c.FanIn++ }},
		{"fan-in one less", func(c *Cohort) { c.FanIn-- }},
		{"fan-in huge", func(c *Cohort) { c.FanIn = math.MaxInt64 }},
		{"other phase", func(c *Cohort) { c.Phase = 1 - c.Phase }},
		{"no phase", func(c *Cohort) { c.Phase = Phases }},
	}
	for config, rows := range s.rows.ByConfig() {
		cohorts := s.cohorts[config]
		find := func(what string, cohorts []Cohort) {
			t.Helper()
			violations := s.checkCohorts(config, cohorts, rows)
			for _, v := range violations {
				seen[v.Identity] = true
				if v.File != "cohorts" || v.Row == "" || v.Detail == "" {
					t.Errorf("%+v says too little", v)
				}
			}
			if len(violations) == 0 {
				t.Errorf("%+v: %s is not found", config, what)
			}
		}
		for i := range cohorts {
			for _, e := range edits {
				edited := slices.Clone(cohorts)
				e.edit(&edited[i])
				find(e.name, edited)
			}
			find("a lost row", slices.Delete(slices.Clone(cohorts), i, i+1))
			find("a doubled row", slices.Insert(slices.Clone(cohorts), i, cohorts[i]))
			without := cohorts[i]
			without.FanIn = 0
			find("a row without attempts", slices.Insert(slices.Clone(cohorts), i, without))
			if i > 0 && cohorts[i-1].Phase < cohorts[i].Phase && cohorts[i-1].FanIn == cohorts[i].FanIn {
				edited := slices.Clone(cohorts)
				edited[i-1].Phase, edited[i].Phase = Steady, Warmup
				find("phases in the other order", edited)
			}
			if i > 0 && cohorts[i-1].Instance == cohorts[i].Instance && cohorts[i-1].LeaderRequest < cohorts[i].LeaderRequest {
				swapped := slices.Clone(cohorts)
				swapped[i-1], swapped[i] = swapped[i], swapped[i-1]
				find("a swap", swapped)
			}
			if i > 0 && cohorts[i-1].Instance == cohorts[i].Instance && cohorts[i-1].LeaderRequest == cohorts[i].LeaderRequest {
				edited := slices.Clone(cohorts)
				edited[i].StartMS++
				find("a leader that arrives twice", edited)
			}
		}
	}
	for _, name := range CohortIdentities() {
		if !seen[name] {
			t.Errorf("no edit breaks %q", name)
		}
	}
}

// Fan-ins beyond what is counted in an array are counted all the same.
func TestCohortCheckLargeFanIns(t *testing.T) {
	check := NewCohortCheck(Config{Instances: 1}, 10)
	var want FanIn
	for _, f := range []int64{1, 63, 64, 65, 1 << 40} {
		want = append(want, FanInCount{f, 2})
		check.Add([]Cohort{{FanIn: f}, {FanIn: f}})
	}
	if d := cmp.Diff(want, check.instances[0].led[Warmup].fanIn()); d != "" {
		t.Error(d)
	}
}
