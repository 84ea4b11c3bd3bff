package trace

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"
)

const (
	head  = `"timestamp": 0, "input_length": 1, "output_length": 2, `
	good  = head + `"hash_ids": [7]`
	only  = "only timestamp, input_length, output_length, hash_ids"
	all   = "all of timestamp, input_length, output_length, hash_ids"
	whole = "an integer, without fraction or exponent"
)

// Every way to be wrong, with every problem that validate lists for it. The
// first of them is what Parse fails with.
func TestBadInput(t *testing.T) {
	count := func(got, want, input int) string {
		return fmt.Sprintf("1: hash_ids: got length %d, want %d = ceil(input_length %d / block 512); --block-size gives another block", got, want, input)
	}
	for _, c := range []struct {
		name, text string
		want       []string // KIND LINE: FIELD: got X, want Y
	}{
		{"empty", "", []string{"empty 1: record: got no record in the whole file, want at least one"}},
		{"only blank lines", "\n \t\r\n", []string{"empty 1: record: got no record in the whole file, want at least one"}},
		{"only a BOM", "\ufeff", []string{"empty 1: record: got no record in the whole file, want at least one"}},

		{"binary", "\x00\x01\xff\x1b[2J", []string{`syntax 1: record: got "\x00\x01\xff\x1b[2J", want a JSON object`}},
		{"long text", strings.Repeat("é", 30), []string{`syntax 1: record: got "` + strings.Repeat("é", 20) + `"…, want a JSON object`}},
		{"cut between characters", "x" + strings.Repeat("é", 30), []string{`syntax 1: record: got "x` + strings.Repeat("é", 19) + `"…, want a JSON object`}},
		{"a list", "[" + "1]", []string{`syntax 1: record: got "[1]", want a JSON object`}},
		{"null", "null", []string{`syntax 1: record: got "null", want a JSON object`}},
		{"a BOM in the middle", rec(good) + "\ufeff" + rec(good), []string{`syntax 2: record: got "\ufeff{\"timestamp\": 0, \"input_length\": 1, \""…, want a JSON object`}},
		{"a second BOM", "\ufeff\ufeff", []string{`syntax 1: record: got "\ufeff", want a JSON object`}},
		{"UTF-16", "{\x00\"\x00", []string{`syntax 1: record: got "\x00\"\x00" at byte 2, want valid JSON`}},

		{"bad UTF-8 in a key", "{\"time\xffstamp\": 0}", []string{`syntax 1: record: got "\xffstamp\": 0}" at byte 7, want text in UTF-8`}},
		{"bad UTF-8 in a value", "{\"timestamp\": \"\xc3\"}", []string{`syntax 1: record: got "\xc3\"}" at byte 16, want text in UTF-8`}},

		{"cut in a key", `{"tim`, []string{`syntax 1: record: got the end of the line after "{\"tim", want the rest of the record`}},
		{"cut after a colon", `{"timestamp":`, []string{`syntax 1: record: got the end of the line after "{\"timestamp\":", want the rest of the record`}},
		{"cut in the list", "{" + head + `"hash_ids": [1, 2`, []string{`syntax 1: record: got the end of the line after …"1, \"output_length\": 2, \"hash_ids\": [1, 2", want the rest of the record`}},
		{"cut before the brace", "{" + good, []string{`syntax 1: record: got the end of the line after …": 1, \"output_length\": 2, \"hash_ids\": [7]", want the rest of the record`}},
		{"cut, and the problems before", `{"timestamp": -1, "input_length": 1.5, "out`, []string{
			"negative 1: timestamp: got -1, want at least 0",
			"not_an_integer 1: input_length: got 1.5, want " + whole,
			`syntax 1: record: got the end of the line after …"imestamp\": -1, \"input_length\": 1.5, \"out", want the rest of the record`}},
		{"on two lines", "{\n}", []string{
			`syntax 1: record: got the end of the line after "{", want the rest of the record`,
			`syntax 2: record: got "}", want a JSON object`}},

		{"two on a line", "{" + good + "} {}", []string{`syntax 1: record: got "{}" behind the record, want one JSON object on the line`}},
		{"a brace too many", "{" + good + "}}", []string{`syntax 1: record: got "}" behind the record, want one JSON object on the line`}},
		{"a comma behind", "{" + good + "},", []string{`syntax 1: record: got "," behind the record, want one JSON object on the line`}},
		{"old Mac line ends", "{" + good + "}\r{}", []string{`syntax 1: record: got "{}" behind the record, want one JSON object on the line`}},

		{"leading zero", `{"timestamp": 07}`, []string{`syntax 1: record: got "7}" at byte 16, want valid JSON`}},
		{"leading zero of a hash", "{" + head + `"hash_ids": [07]}`, []string{`syntax 1: record: got "7]}" at byte 71, want valid JSON`}},
		{"leading zeros of a long hash", "{" + head + `"hash_ids": [000000007]}`, []string{`syntax 1: record: got "00000007]}" at byte 71, want valid JSON`}},
		{"plus", `{"timestamp": +1}`, []string{`syntax 1: record: got "+1}" at byte 15, want valid JSON`}},
		{"NaN", `{"timestamp": NaN}`, []string{`syntax 1: record: got "NaN}" at byte 15, want valid JSON`}},
		{"no value", `{"timestamp": }`, []string{`syntax 1: record: got "}" at byte 15, want valid JSON`}},
		{"no colon", `{"timestamp" 1}`, []string{`syntax 1: record: got "1}" at byte 14, want valid JSON`}},
		{"no comma", `{"timestamp": 0 "input_length": 1}`, []string{`syntax 1: record: got "\"input_length\": 1}" at byte 17, want valid JSON`}},
		{"comma at the end", "{" + good + ",}", []string{`syntax 1: record: got "}" at byte 73, want valid JSON`}},
		{"comma in the list", "{" + head + `"hash_ids": [7,]}`, []string{`syntax 1: record: got "]}" at byte 72, want valid JSON`}},
		{"no comma in the list", "{" + head + `"hash_ids": [7 8]}`, []string{`syntax 1: record: got "8]}" at byte 72, want valid JSON`}},
		{"list closed by a brace", "{" + head + `"hash_ids": [7}`, []string{`syntax 1: record: got "}" at byte 71, want valid JSON`}},
		{"single quotes", `{'timestamp': 0}`, []string{`syntax 1: record: got "'timestamp': 0}" at byte 2, want valid JSON`}},
		{"a tab in a string", "{\"timestamp\": \"\t\"}", []string{`syntax 1: record: got "\t\"}" at byte 16, want valid JSON`}},
		{"deep", `{"a": ` + strings.Repeat("[", 1e6), []string{`syntax 1: record: got "` + strings.Repeat("[", 40) + `"… at byte 10006, want valid JSON`}},

		{"nothing in it", "{}", []string{
			"missing_key 1: timestamp: got no such key, want " + all,
			"missing_key 1: input_length: got no such key, want " + all,
			"missing_key 1: output_length: got no such key, want " + all,
			"missing_key 1: hash_ids: got no such key, want " + all}},
		{"no output_length", `{"timestamp": 0, "input_length": 1, "hash_ids": [7]}`, []string{
			"missing_key 1: output_length: got no such key, want " + all}},
		{"another case", `{"Timestamp": 0, "input_length": 1, "output_length": 2, "hash_ids": [7]}`, []string{
			`unknown_key 1: "Timestamp": got an unknown key, want ` + only,
			"missing_key 1: timestamp: got no such key, want " + all}},
		{"more keys", "{" + good + `, "": {"deep": [1, {}]}, "a\nb": 1}`, []string{
			`unknown_key 1: "": got an unknown key, want ` + only,
			`unknown_key 1: "a\nb": got an unknown key, want ` + only}},
		{"duplicates", "{" + good + `, "timestamp": 0, "hash_ids": [7], "timestamp": -1}`, []string{
			"duplicate_key 1: timestamp: got 0 for the key a second time, want each key once",
			"duplicate_key 1: hash_ids: got [7] for the key a second time, want each key once",
			"duplicate_key 1: timestamp: got -1 for the key a second time, want each key once"}},
		{"a duplicate spelled with escapes", "{" + good + `, "t\u0069mestamp": 9}`, []string{
			"duplicate_key 1: timestamp: got 9 for the key a second time, want each key once"}},
		{"an unknown key spelled with escapes", "{" + good + `, "\u0078": 9}`, []string{
			`unknown_key 1: "x": got an unknown key, want ` + only}},

		{"minus", `{"timestamp": -1, "input_length": -0, "output_length": -99999999999999999999, "hash_ids": []}`, []string{
			"negative 1: timestamp: got -1, want at least 0",
			"negative 1: input_length: got -0, want at least 0",
			"negative 1: output_length: got -99999999999999999999, want at least 0"}},
		{"no integers", `{"timestamp": 1.0, "input_length": 1e3, "output_length": -1.5, "hash_ids": []}`, []string{
			"not_an_integer 1: timestamp: got 1.0, want " + whole,
			"not_an_integer 1: input_length: got 1e3, want " + whole,
			"not_an_integer 1: output_length: got -1.5, want " + whole}},
		{"other types", `{"timestamp": "0", "input_length": null, "output_length": {"a": [true]}, "hash_ids": {}}`, []string{
			`not_an_integer 1: timestamp: got "0", want ` + whole,
			"not_an_integer 1: input_length: got null, want " + whole,
			`not_an_integer 1: output_length: got {"a": [true]}, want ` + whole,
			"not_a_list 1: hash_ids: got {}, want a list of hashes"}},
		{"unprintable", "{" + `"timestamp": "` + "\u202e" + `", "input_length": 1, "output_length": 2, "hash_ids": 7}`, []string{
			`not_an_integer 1: timestamp: got "\"\u202e\"", want ` + whole,
			"not_a_list 1: hash_ids: got 7, want a list of hashes"}},
		{"too large", `{"timestamp": 4611686018427387904, "input_length": 9223372036854775808, "output_length": 1` + strings.Repeat("0", 100) + `, "hash_ids": []}`, []string{
			"too_large 1: timestamp: got 4611686018427387904, want at most 4611686018427387903, so that sums of two stay in 64 bits",
			"too_large 1: input_length: got 9223372036854775808, want at most 4611686018427387903, so that sums of two stay in 64 bits",
			"too_large 1: output_length: got 1" + strings.Repeat("0", 39) + "…, want at most 4611686018427387903, so that sums of two stay in 64 bits"}},
		{"too large, else good", rec(strings.Replace(good, "0", "4611686018427387904", 1)) + rec(strings.Replace(good, "2", "4611686018427387904", 1)), []string{
			"too_large 1: timestamp: got 4611686018427387904, want at most 4611686018427387903, so that sums of two stay in 64 bits",
			"too_large 2: output_length: got 4611686018427387904, want at most 4611686018427387903, so that sums of two stay in 64 bits"}},
		{"hashes", `{"timestamp": 0, "input_length": 4096, "output_length": 2, "hash_ids": [18446744073709551616, 1.5, -1, -0, "x", null, [2], 1e0]}`, []string{
			"too_large 1: hash_ids[0]: got 18446744073709551616, want at most 18446744073709551615",
			"not_an_integer 1: hash_ids[1]: got 1.5, want " + whole,
			"negative 1: hash_ids[2]: got -1, want at least 0",
			"negative 1: hash_ids[3]: got -0, want at least 0",
			`not_an_integer 1: hash_ids[4]: got "x", want ` + whole,
			"not_an_integer 1: hash_ids[5]: got null, want " + whole,
			"not_an_integer 1: hash_ids[6]: got [2], want " + whole,
			"not_an_integer 1: hash_ids[7]: got 1e0, want " + whole}},
		{"a hash of 21 digits", "{" + head + `"hash_ids": [100000000000000000000]}`, []string{
			"too_large 1: hash_ids[0]: got 100000000000000000000, want at most 18446744073709551615"}},
		{"a hash that would wrap to 7", "{" + head + `"hash_ids": [18446744073709551623]}`, []string{
			"too_large 1: hash_ids[0]: got 18446744073709551623, want at most 18446744073709551615"}},

		{"a hash too many", `{"timestamp": 0, "input_length": 512, "output_length": 2, "hash_ids": [7, 8]}`, []string{"hash_count " + count(2, 1, 512)}},
		{"a hash too few", `{"timestamp": 0, "input_length": 513, "output_length": 2, "hash_ids": [7]}`, []string{"hash_count " + count(1, 2, 513)}},
		{"a hash for no token", `{"timestamp": 0, "input_length": 0, "output_length": 2, "hash_ids": [7]}`, []string{"hash_count " + count(1, 0, 0)}},
		{"no hash", `{"timestamp": 0, "input_length": 1, "output_length": 2, "hash_ids": []}`, []string{"hash_count " + count(0, 1, 1)}},
		{"a repeated hash does not fill the list", `{"timestamp": 0, "input_length": 1025, "output_length": 2, "hash_ids": [7, 7]}`, []string{"hash_count " + count(2, 3, 1025)}},
		{"a bad hash counts", `{"timestamp": 0, "input_length": 1, "output_length": 2, "hash_ids": [7, -7]}`, []string{
			"negative 1: hash_ids[1]: got -7, want at least 0",
			"hash_count " + count(2, 1, 1)}},
		{"the largest input", `{"timestamp": 0, "input_length": 4611686018427387903, "output_length": 2, "hash_ids": [7]}`, []string{
			"hash_count 1: hash_ids: got length 1, want 9007199254740992 = ceil(input_length 4611686018427387903 / block 512); --block-size gives another block"}},

		// Each is held against the last record with a timestamp, good or not.
		{"out of order", "\n" + at(5) + "\r\n" + "rubbish\n" + at(3) + at(4) + strings.Replace(at(2), "[]", "[1]", 1) + at(2), []string{
			`syntax 4: record: got "rubbish", want a JSON object`,
			"out_of_order 5: timestamp: got 3, want at least 5, as on line 2; --sort accepts it",
			"out_of_order 7: timestamp: got 2, want at least 4, as on line 6; --sort accepts it",
			"hash_count 7: hash_ids: got length 1, want 0 = ceil(input_length 0 / block 512); --block-size gives another block"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, s := problems(t, []byte(c.text), Options{})
			var lines []string
			byKind := map[Kind]int64{}
			for _, p := range got {
				lines = append(lines, string(p.Kind)+" "+strings.TrimPrefix(p.Error(), "stdin:"))
				byKind[p.Kind]++
			}
			if diff := cmp.Diff(c.want, lines); diff != "" {
				t.Errorf("problems (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(byKind, s.ByKind); diff != "" || s.Problems != int64(len(got)) {
				t.Errorf("summary counts %d problems %v, reported %d:\n%s", s.Problems, s.ByKind, len(got), diff)
			}
			_, err := Parse("dir/a.jsonl", []byte(c.text), Options{})
			_, want, _ := strings.Cut(c.want[0], " ")
			if err == nil || err.Error() != "dir/a.jsonl:"+want {
				t.Errorf("Parse: got error %v\nwant dir/a.jsonl:%s", err, want)
			}
		})
	}
}

// at is a good record without blocks.
func at(ms int) string {
	return rec(fmt.Sprintf(`"timestamp": %d, "input_length": 0, "output_length": 0, "hash_ids": []`, ms))
}

// Whatever spelling JSON allows for the same records gives the same trace.
func TestAcceptedSpellings(t *testing.T) {
	first := `{"timestamp": 0, "input_length": 513, "output_length": 2, "hash_ids": [7, 18446744073709551615]}`
	second := `{"timestamp": 10, "input_length": 512, "output_length": 0, "hash_ids": [7]}`
	want := &Trace{
		BlockTokens: 512,
		ArrivalMS:   []int64{0, 10}, InputTokens: []int64{513, 512}, OutputTokens: []int64{2, 0},
		Offset: []int64{0, 2, 3}, Block: []uint32{0, 1, 0}, Hash: []uint64{7, 18446744073709551615},
	}
	for _, c := range []struct{ name, text string }{
		{"as written", first + "\n" + second + "\n"},
		{"no last newline", first + "\n" + second},
		{"CRLF", first + "\r\n" + second + "\r\n"},
		{"CRLF, no last newline", first + "\r\n" + second + "\r"},
		{"blank lines", "\n" + first + "\n\n \t\r\n" + second + "\n\n\n"},
		{"BOM", "\ufeff" + first + "\n" + second + "\n"},
		{"BOM on a line of its own", "\ufeff\n" + first + "\n" + second + "\n"},
		{"no spaces", strings.ReplaceAll(first+"\n"+second, " ", "")},
		{"many spaces", strings.NewReplacer(" ", " \t ", ":", " \r: ", "[", "[ \t", "]", "  ] ", "{", " { ", "}", " \t} ", ",", " ,").Replace(first + "\n" + second)},
		{"another order", `{"hash_ids": [7, 18446744073709551615], "output_length": 2, "input_length": 513, "timestamp": 0}` + "\n" + second},
		{"escapes in keys", strings.ReplaceAll(first+"\n"+second, "hash_ids", `h\u0061sh\u005Fids`)},
	} {
		t.Run(c.name, func(t *testing.T) {
			same(t, mustParse(t, c.text, Options{}), want)
			if got, s := problems(t, []byte(c.text), Options{}); len(got) > 0 || s.Records != 2 || s.Lookups != 3 || s.Dropped != 0 {
				t.Errorf("Validate: got %v %+v, want 2 records, 3 lookups and no problem", got, s)
			}
		})
	}
}

// The largest numbers, and those around each change of the digit code.
func TestNumbersSurvive(t *testing.T) {
	var hashes []uint64
	for p := uint64(1); ; p *= 10 {
		hashes = append(hashes, p-1, p, p+1, p*18/10)
		if p == 1e19 {
			break
		}
	}
	hashes = append(hashes, 1<<63, 1<<64-1, 1<<64-2)
	want := Record{TimestampMS: maxInteger, InputTokens: int64(len(hashes)), OutputTokens: maxInteger, Hashes: hashes}
	text := rewritten(t, []Record{want})
	got, err := records(text, Options{BlockTokens: 1})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]Record{want}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if n := fastLines(t, text, 1); n != 1 {
		t.Error("the fast path gave up on a plain record")
	}
}

func TestRepeatedHashesCountOnce(t *testing.T) {
	text := rec(`"timestamp": 0, "input_length": 5, "output_length": 0, "hash_ids": [9, 8, 9, 9, 7]`) +
		rec(`"timestamp": 0, "input_length": 3, "output_length": 0, "hash_ids": [8, 8, 9]`)
	got := mustParse(t, text, Options{BlockTokens: 1})
	same(t, got, &Trace{
		BlockTokens: 1,
		ArrivalMS:   []int64{0, 0}, InputTokens: []int64{5, 3}, OutputTokens: []int64{0, 0},
		Offset: []int64{0, 3, 5}, Block: []uint32{0, 1, 2, 1, 0}, Hash: []uint64{9, 8, 7}, Dropped: 3,
	})
	if p, s := problems(t, []byte(text), Options{BlockTokens: 1}); len(p) > 0 || s.Lookups != 5 || s.Dropped != 3 {
		t.Errorf("Validate: got %v %+v, want 5 lookups, 3 dropped", p, s)
	}
}

func TestBlockSize(t *testing.T) {
	text := rec(`"timestamp": 0, "input_length": 65, "output_length": 0, "hash_ids": [1, 2]`)
	if got := mustParse(t, text, Options{BlockTokens: 64}); got.BlockTokens != 64 {
		t.Errorf("got %d tokens a block, want 64", got.BlockTokens)
	}
	if _, err := Parse("t", []byte(text), Options{BlockTokens: -1}); err == nil || err.Error() != "block size: got -1 tokens, want at least 1" {
		t.Errorf("got error %v", err)
	}
}

func TestSort(t *testing.T) {
	line := func(ms int, hash string) string {
		return rec(fmt.Sprintf(`"timestamp": %d, "input_length": 600, "output_length": %d, "hash_ids": [%s]`, ms, ms+1, hash))
	}
	shuffled := line(5, "50, 51") + line(0, "9, 50") + line(5, "9, 52") + line(0, "51, 51")
	got := mustParse(t, shuffled, Options{Sort: true})
	want := mustParse(t, line(0, "9, 50")+line(0, "51, 51")+line(5, "50, 51")+line(5, "9, 52"), Options{})
	same(t, got, want)
	if !got.Source.Sorted {
		t.Error("Sorted is not set on a trace that was sorted")
	}
	if got := mustParse(t, line(0, "1, 2")+line(0, "3, 4")+line(7, "5, 6"), Options{Sort: true}); got.Source.Sorted {
		t.Error("Sorted is set on a trace that was in order")
	}
	if p, _ := problems(t, []byte(shuffled), Options{Sort: true}); len(p) > 0 {
		t.Errorf("Validate with Sort: got %v", p)
	}
}

// A sorted trace is the trace of the sorted records.
func TestSortIsSortingTheRecords(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		recs := genRecords().Draw(t, "records")
		got, err := Parse("t", rewritten(t, recs), Options{BlockTokens: 1, Sort: true})
		if err != nil {
			t.Fatal(err)
		}
		// Plain insertion, stable.
		var ordered []Record
		moved := false
		for _, r := range recs {
			i := len(ordered)
			for i > 0 && ordered[i-1].TimestampMS > r.TimestampMS {
				i--
				moved = true
			}
			ordered = append(ordered[:i:i], append([]Record{r}, ordered[i:]...)...)
		}
		want, err := Parse("t", rewritten(t, ordered), Options{BlockTokens: 1})
		if err != nil {
			t.Fatal(err)
		}
		same(t, got, want)
		if got.Source.Sorted != moved {
			t.Fatalf("got Sorted %v, want %v", got.Source.Sorted, moved)
		}
	})
}

func genRecords() *rapid.Generator[[]Record] {
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) Record {
		hashes := rapid.SliceOfN(rapid.OneOf(rapid.Uint64(), rapid.Uint64Max(20)), 0, 12).Draw(t, "hashes")
		return Record{
			TimestampMS:  rapid.Int64Range(0, 8).Draw(t, "timestamp"),
			InputTokens:  int64(len(hashes)),
			OutputTokens: rapid.Int64Range(0, maxInteger).Draw(t, "output"),
			Hashes:       hashes,
		}
	}), 1, 20)
}

func TestRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := genRecords().Draw(t, "records")
		got, err := records(rewritten(t, want), Options{BlockTokens: 1, Sort: true})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
			t.Fatalf("(-want +got):\n%s", diff)
		}
	})
}

// The writer spells the public traces byte for byte, and the fast path takes
// every line of them.
func TestPublicTraces(t *testing.T) {
	for _, name := range []string{"conversation_trace.jsonl", "synthetic_trace.jsonl", "arxiv_trace_first1000.jsonl"} {
		t.Run(name, func(t *testing.T) {
			text, err := os.ReadFile(sharedFile(t, "traces/"+name))
			if err != nil {
				t.Fatal(err)
			}
			recs, err := records(text, Options{})
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(rewritten(t, recs), text) {
				t.Error("written again, the trace differs")
			}
			if n := fastLines(t, text, 512); n != len(recs) {
				t.Errorf("the fast path took %d of %d lines", n, len(recs))
			}
		})
	}
}

func TestWriterRefusesWhatNoReaderAccepts(t *testing.T) {
	for _, r := range []Record{{TimestampMS: -1}, {InputTokens: 1 << 62}, {OutputTokens: -1}} {
		if err := NewWriter(&bytes.Buffer{}).Write(&r); err == nil {
			t.Errorf("%+v: got no error", r)
		}
	}
}

// The fast path may give up on a line, but never disagrees with the slow one.
// Spelling is random: order of keys, spacing, escapes, and now and then one
// byte is changed, dropped or added.
func TestFastAndSlowAgree(t *testing.T) {
	taken := 0
	rapid.Check(t, func(t *rapid.T) {
		var text []byte
		for _, r := range genRecords().Draw(t, "records") {
			text = append(text, spell(t, r)...)
		}
		if rapid.IntRange(0, 2).Draw(t, "damage") == 0 {
			i := rapid.IntRange(0, len(text)-1).Draw(t, "where")
			with := rapid.SampledFrom([]string{"", "0", "9", "-", ".", "e", " ", ",", "]", "}", "\"", "\n", "\xff", "\x00"}).Draw(t, "with")
			text = append(text[:i:i], append([]byte(with), text[i+rapid.IntRange(0, 1).Draw(t, "drop"):]...)...)
		}
		taken += fastLines(t, text, 1)
	})
	if taken == 0 {
		t.Error("the fast path took no line at all")
	}
}

// spell writes a record in some way that JSON allows.
func spell(t *rapid.T, r Record) string {
	space := func() string {
		return rapid.SampledFrom([]string{"", "", " ", " ", "  ", "\t", "\r"}).Draw(t, "space")
	}
	list := ""
	for i, h := range r.Hashes {
		if i > 0 {
			list += "," + space()
		}
		list += strconv.FormatUint(h, 10) + strings.TrimPrefix(space(), " ")
	}
	members := []string{
		`"timestamp"` + space() + ":" + space() + strconv.FormatInt(r.TimestampMS, 10),
		`"input_length"` + space() + ":" + space() + strconv.FormatInt(r.InputTokens, 10),
		`"output_length"` + space() + ":" + space() + strconv.FormatInt(r.OutputTokens, 10),
		`"hash_ids"` + space() + ":" + space() + "[" + space() + list + "]",
	}
	switch rapid.IntRange(0, 9).Draw(t, "twist") {
	case 0:
		members = rapid.Permutation(members).Draw(t, "order")
	case 1:
		members[0] = strings.Replace(members[0], "time", `tim\u0065`, 1)
	}
	return space() + "{" + space() + strings.Join(members, space()+","+space()) + space() + "}" + space() + "\n"
}

// fastLines gives each line of a text to both paths. What the fast path takes
// the slow one must take, with the same record and without a problem. It
// returns how many lines the fast path took.
func fastLines(t rapid.TB, text []byte, block int64) (taken int) {
	t.Helper()
	l := newLines(bytes.NewReader(text))
	m := &mooncake{block: block}
	for {
		line, err := l.next()
		if err != nil {
			return taken
		}
		before := *m
		before.rec.Hashes = nil
		if l.long > 0 || !m.fast(line[:len(line)+linePad], len(line)) {
			m.last = before.last
			continue
		}
		taken++
		slow := before
		slow.good = true
		slow.report = func(p *Problem) error {
			t.Fatalf("%q: the fast path takes it, the slow one says %v", line, p)
			return nil
		}
		slow.slow(line)
		if diff := cmp.Diff(m.rec, slow.rec, cmpopts.EquateEmpty()); diff != "" || m.last != slow.last {
			t.Fatalf("%q (-fast +slow):\n%s", line, diff)
		}
	}
}

// The digit arithmetic against strconv.
func TestNumber(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.StringMatching(`[0-9]{0,22}`).Draw(t, "digits")
		rest := rapid.SampledFrom([]string{"", ",", ":", "/", " 1", "\xff9", "\xb0", "e1", ".5"}).Draw(t, "rest")
		v, end, ok := number([]byte(s+rest+"\n1234567"), 0)
		want, err := strconv.ParseUint(s, 10, 64)
		valid := err == nil && json.Valid([]byte(s))
		if ok != valid || ok && (v != want || end != len(s)) {
			t.Fatalf("%q: got %d, end %d, %v; want %d, %d, %v", s+rest, v, end, ok, want, len(s), valid)
		}
	})
}
