package probe

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// harness is the Python package and the locks. The patterns leave tests and
// what tools write out.
//
//go:embed harness/kvfanin_probe/*.py harness/locks/*.txt
var harness embed.FS

// unpackHarness writes the Python package below dir and returns the folder that
// holds it.
func unpackHarness(dir string) (string, error) {
	const from = "harness/kvfanin_probe"
	root := filepath.Join(dir, "harness")
	err := fs.WalkDir(harness, from, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		to := filepath.Join(root, filepath.FromSlash(strings.TrimPrefix(name, "harness/")))
		if d.IsDir() {
			return os.MkdirAll(to, 0o777)
		}
		b, err := harness.ReadFile(name)
		if err != nil {
			return err
		}
		return os.WriteFile(to, b, 0o666)
	})
	if err != nil {
		return "", fmt.Errorf("unpack the harness: %w", err)
	}
	return root, nil
}

// lockText returns the release's lock: requirements with versions and hashes.
func (r *Release) lockText() []byte { return lockText(r.lock) }

func lockText(name string) []byte {
	b, err := harness.ReadFile(path.Join("harness/locks", name))
	if err != nil {
		panic(err) // TestLocks
	}
	return b
}

// Packages returns how many packages the release's lock names.
func (r *Release) Packages() (n int) {
	for line := range strings.Lines(string(r.lockText())) {
		if strings.Contains(line, "==") && !strings.HasPrefix(strings.TrimSpace(line), "#") {
			n++
		}
	}
	return n
}

// lockHash names what the lock installs.
func (r *Release) lockHash() string {
	sum := sha256.Sum256(r.lockText())
	return hex.EncodeToString(sum[:6])
}
