//go:build !darwin && !dragonfly && !freebsd && !linux && !netbsd && !openbsd

package rundir

import (
	"errors"
	"os"
)

var errLocked = errors.New("locked")

// lock does nothing: here, two runs on one directory are not kept apart.
func lock(*os.File) error { return nil }

// syncDir does nothing: here, a directory cannot be synced.
func syncDir(*os.File) error { return nil }
