package cli

import (
	"os"

	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"
	"golang.org/x/term"
)

// progress shows on a terminal how far a study is, and nothing elsewhere.
type progress struct {
	container *mpb.Progress
	bar       *mpb.Bar
}

// progress starts showing how many of total configurations are done.
func (e *env) progress(total int) *progress {
	file, ok := e.stderr.(*os.File)
	if e.quiet || !ok || !term.IsTerminal(int(file.Fd())) {
		return &progress{}
	}
	container := mpb.New(mpb.WithOutput(file), mpb.WithWidth(40))
	return &progress{container, container.AddBar(int64(total),
		mpb.BarRemoveOnComplete(),
		mpb.PrependDecorators(decor.Name("study ")),
		mpb.AppendDecorators(decor.CountersNoUnit("%d/%d configurations")),
	)}
}

func (p *progress) done() {
	if p.bar != nil {
		p.bar.Increment()
	}
}

// end takes the display away, also when not all is done.
func (p *progress) end() {
	if p.bar != nil {
		p.bar.Abort(true)
		p.container.Wait()
	}
}
