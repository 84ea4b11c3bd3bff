package cli

import (
	"strings"
	"testing"
)

func TestSize(t *testing.T) {
	for text, want := range map[string]size{
		"1kB": 1000, "1KiB": 1024, "500MB": 500e6, "2GiB": 2 << 30, "0003TB": 3e12, "8388607TiB": 8388607 << 40,
	} {
		var s, again size
		if err := s.Set(text); err != nil || s != want {
			t.Errorf("%s: got %d, %v; want %d", text, s, err, want)
		}
		if err := again.Set(s.String()); err != nil || again != s {
			t.Errorf("%s is written as %s, which is %d, %v", text, &s, again, err)
		}
	}
	for _, text := range []string{"", "1", "MB", "0MB", "-1MB", "+1MB", "1.5GiB", "1 MB", "1mb", "1M", "1MBB", "1_0MB", "8388608TiB"} {
		s := size(7)
		if err := s.Set(text); err == nil || !strings.Contains(err.Error(), "such as 500MB or 2GiB") || s != 7 {
			t.Errorf("%q: got %d, %v", text, s, err)
		}
	}
}
