//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package rundir

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

var errLocked = errors.New("locked")

// lock takes an open directory for this process, until it is closed or the
// process ends in whatever way. It returns errLocked if another has it.
func lock(dir *os.File) error {
	err := retry(func() error { return syscall.Flock(int(dir.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) })
	switch {
	case err == nil:
		return nil
	case errors.Is(err, syscall.EWOULDBLOCK):
		return errLocked
	case errors.Is(err, syscall.EBADF), errors.Is(err, syscall.ENOLCK), errors.Is(err, errors.ErrUnsupported):
		return nil // a file system, such as some of the network, that locks no directories
	}
	return fmt.Errorf("lock %s: %w", dir.Name(), err)
}

// syncDir brings the names in an open directory onto the disk.
func syncDir(dir *os.File) error {
	err := retry(dir.Sync)
	if errors.Is(err, syscall.EINVAL) || errors.Is(err, errors.ErrUnsupported) {
		return nil // a file system that has no such thing
	}
	return err
}

func retry(call func() error) error {
	for {
		if err := call(); !errors.Is(err, syscall.EINTR) {
			return err
		}
	}
}
