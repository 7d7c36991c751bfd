package loop

import (
	"context"
	"fmt"
	"log/slog"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"galley/backend/agent/core"
	"galley/backend/agent/crash"
	"galley/backend/agent/feed"
)

// previewer shows one attempt's words while they come, and keeps them for the
// case of a crash. Cleaning them costs more than receiving them, so it happens
// in a goroutine of its own, at most once in previewEvery; keeping them writes
// to a disk, so it happens with the first words and then at most once in
// draftEvery.
type previewer struct {
	send  func(core.Preview)
	keep  func(words string) error
	clean func(string) string
	base  core.Preview // run and attempt
	stop  chan struct{}
	wake  chan struct{}
	wg    sync.WaitGroup

	// mu guards what follows.
	mu       sync.Mutex
	text     strings.Builder
	thinking bool

	// What follows is the goroutine's own. shown is what the reader has, of the
	// words read; kept are those of the last draft, stored at keptAt.
	shown      core.Preview
	read, kept string
	keptAt     time.Time
}

// preview starts to show an attempt. Its end must be called.
func (r *Runtime) preview(ctx context.Context, t core.Task, attempt int, clean func(string) string) *previewer {
	log := r.log.With("run", t.Run.ID)
	p := &previewer{
		send: t.Recorder.Preview, clean: clean,
		keep: func(words string) error { return t.Recorder.KeepDraft(ctx, t.Run.ID, said(words)) },
		base: core.Preview{RunID: t.Run.ID, Attempt: attempt},
		stop: make(chan struct{}), wake: make(chan struct{}, 1),
	}
	p.wg.Go(func() {
		defer func() {
			if e := recover(); e != nil {
				log.Error("preview panicked", "panic", fmt.Sprint(e), "stack", string(debug.Stack()))
			}
		}()
		p.show(log)
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

func (p *previewer) show(log *slog.Logger) {
	var later <-chan time.Time // nil while every word is kept
	for {
		select {
		case <-p.wake:
			p.flush()
		case <-later:
		case <-p.stop:
			p.flush()
			return
		}
		later = p.draft(log)
		select {
		case <-time.After(previewEvery):
		case <-p.stop:
			p.flush()
			return
		}
	}
}

// draft keeps the words when their time has come, else it returns when that is.
// Before words were shown none are kept: the attempt may be made again.
func (p *previewer) draft(log *slog.Logger) <-chan time.Time {
	if p.shown.Text == "" || p.read == p.kept {
		return nil
	}
	if wait := draftEvery - time.Since(p.keptAt); wait > 0 {
		return time.After(wait)
	}
	if err := p.keep(p.read); err != nil {
		// A store that fails ends the Runner by itself.
		log.Warn("draft not kept", "err", err)
	} else {
		crash.At("mid_text")
	}
	p.kept, p.keptAt = p.read, time.Now()
	return nil
}

// flush sends the difference to what the reader has, if there is one.
func (p *previewer) flush() {
	p.mu.Lock()
	text, thinking := p.text.String(), p.thinking
	p.mu.Unlock()
	p.read = text
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
