// Command kvfanin measures how many loads of a cold KV-cache block one load
// could have served. Run kvfanin --help, or read the README.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"kvfanin/internal/cli"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	os.Exit(cli.Main(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}
