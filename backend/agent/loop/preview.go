package loop

import (
	"fmt"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"galley/backend/agent/core"
	"galley/backend/agent/feed"
)

// previewer shows one attempt's words while they come. Cleaning them costs more
// than receiving them, so it happens in a goroutine of its own, at most once in
// previewEvery.
type previewer struct {
	send  func(core.Preview)
	clean func(string) string
	base  core.Preview // run and attempt
	stop  chan struct{}
	wake  chan struct{}
	wg    sync.WaitGroup

	// mu guards what follows.
	mu       sync.Mutex
	text     strings.Builder
	thinking bool

	// shown is what the reader has; the goroutine's own.
	shown core.Preview
}

// preview starts to show an attempt. Its end must be called.
func (r *Runtime) preview(t core.Task, attempt int, clean func(string) string) *previewer {
	p := &previewer{
		send: t.Recorder.Preview, clean: clean,
		base: core.Preview{RunID: t.Run.ID, Attempt: attempt},
		stop: make(chan struct{}), wake: make(chan struct{}, 1),
	}
	p.wg.Go(func() {
		defer func() {
			if e := recover(); e != nil {
				r.log.Error("preview panicked", "run", t.Run.ID, "panic", fmt.Sprint(e), "stack", string(debug.Stack()))
			}
		}()
		p.show()
	})
	return p
}

// delta takes what came.
func (p *previewer) delta(d core.Delta) {
	p.mu.Lock()
	p.text.WriteString(d.Text)
	p.thinking = p.thinking || d.Reasoning != ""
	p.mu.Unlock()
	select {
	case p.wake <- struct{}{}:
	default:
	}
}

// end shows the last words and returns all that came.
func (p *previewer) end() string {
	close(p.stop)
	p.wg.Wait()
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.text.String()
}

func (p *previewer) show() {
	for {
		select {
		case <-p.wake:
			p.flush()
		case <-p.stop:
			p.flush()
			return
		}
		select {
		case <-time.After(previewEvery):
		case <-p.stop:
			p.flush()
			return
		}
	}
}

// flush sends the difference to what the reader has, if there is one.
func (p *previewer) flush() {
	p.mu.Lock()
	text, thinking := p.text.String(), p.thinking
	p.mu.Unlock()
	now := ""
	if text != "" {
		now = p.clean(text)
	}
	// Words that are cleaned away are chatter or thinking, too.
	next := core.Preview{Text: now, Thinking: now == "" && (thinking || text != "")}
	if next == p.shown {
		return
	}
	out := p.base
	out.Keep, out.Text = feed.Between(p.shown.Text, next.Text)
	out.Thinking = next.Thinking
	p.shown = next
	p.send(out)
}
