package study

import (
	"context"
	"sync/atomic"
)

// task is work that a worker takes on as a whole.
type task func(*replayer) error

// crew is the workers of a study, and the tasks that wait for them. The next
// deal is made while the tasks of the last are run, and no deal after it: two
// are held at once. A single worker runs each task where it is sent, and holds
// one.
type crew struct {
	ctx   context.Context
	queue chan task
	alone *replayer // of a single worker

	deal, before *pending // whose tasks are sent, and the one before
}

// pending counts the tasks of a deal that are not done, and one more until all
// are sent.
type pending struct {
	left atomic.Int64
	none chan struct{} // closed when none is left
}

func newPending() *pending {
	t := &pending{none: make(chan struct{})}
	t.left.Store(1)
	return t
}

func (t *pending) done() {
	if t.left.Add(-1) == 0 {
		close(t.none)
	}
}

func newCrew(ctx context.Context, jobs int) *crew {
	c := &crew{ctx: ctx, queue: make(chan task, 1024), deal: newPending()}
	if jobs == 1 {
		c.alone = new(replayer)
	}
	return c
}

// send gives the crew a task of the deal at hand.
func (c *crew) send(t task) error {
	if c.ctx.Err() != nil {
		return c.ctx.Err()
	}
	if c.alone != nil {
		return t(c.alone)
	}
	deal := c.deal
	deal.left.Add(1)
	select {
	case c.queue <- func(r *replayer) error { defer deal.done(); return t(r) }:
		return nil
	case <-c.ctx.Done():
		return c.ctx.Err()
	}
}

// endDeal says that all tasks of a deal are sent, and waits until those of the
// deal before are done.
func (c *crew) endDeal() error {
	c.deal.done()
	if c.alone != nil {
		*c.alone = replayer{} // not to be held beside the next deal while that is made
	}
	if c.before != nil {
		select {
		case <-c.before.none:
		case <-c.ctx.Done():
			return c.ctx.Err()
		}
	}
	c.before, c.deal = c.deal, newPending()
	return nil
}

// close says that all tasks are sent.
func (c *crew) close() { close(c.queue) }

// work is one worker: it runs tasks until there are no more.
func (c *crew) work() error {
	var r replayer
	for t := range c.queue {
		if c.ctx.Err() != nil {
			return c.ctx.Err()
		}
		if err := t(&r); err != nil {
			return err
		}
	}
	return nil
}
