// Package bench measures Galley beside a peer: both in one run, turn by turn,
// so that a busy machine is busy for both. It prints and judges nothing but
// the quality of the figures themselves.
//
// It is for commands and benchmarks only; nothing of the program imports it.
package bench

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
)

// Pair is a measurement and its peer.
type Pair struct {
	// ID is the number of the bar ("bm-8"), Name what is measured.
	ID, Name string
	// Rounds is how often each side runs; at least 10 make a figure.
	Rounds int
	// Ours and Peer do the work once and return how long it took, so that what
	// prepares a round is not counted.
	Ours, Peer func() (time.Duration, error)
}

// Result holds the times of a Pair, sorted.
type Result struct {
	ID, Name   string
	Ours, Peer []time.Duration
}

// maxSpread is the spread of the peer's own times over which a run says
// nothing: (third quartile − first) / median.
const maxSpread = 0.3

// Run measures: one round of each side to warm up, then ours, peer, peer, ours,
// so that neither always comes first.
func (p Pair) Run() (Result, error) {
	r := Result{ID: p.ID, Name: p.Name}
	for i := -1; i < p.Rounds; i++ {
		order := []*[]time.Duration{&r.Ours, &r.Peer}
		if i%2 != 0 {
			slices.Reverse(order)
		}
		for _, side := range order {
			measure := p.Ours
			if side == &r.Peer {
				measure = p.Peer
			}
			took, err := measure()
			if err != nil {
				return Result{}, fmt.Errorf("%s %s: %w", p.ID, p.Name, err)
			}
			if i >= 0 {
				*side = append(*side, took)
			}
		}
	}
	slices.Sort(r.Ours)
	slices.Sort(r.Peer)
	return r, nil
}

// Ratio is our median divided by the peer's.
func (r Result) Ratio() float64 {
	return float64(median(r.Ours)) / float64(median(r.Peer))
}

// Spread is that of the peer's times, see maxSpread.
func (r Result) Spread() float64 {
	q := func(share float64) float64 { return float64(r.Peer[int(share*float64(len(r.Peer)-1))]) }
	return (q(0.75) - q(0.25)) / float64(median(r.Peer))
}

// String is the one line of the result: medians, minima, and no ratio when the
// peer itself varied too much.
func (r Result) String() string {
	ratio := fmt.Sprintf("%.2f", r.Ratio())
	if s := r.Spread(); s > maxSpread {
		ratio = fmt.Sprintf("unjudged(%.2f, the peer's own spread is %.0f%%)", r.Ratio(), s*100)
	}
	return fmt.Sprintf("%s %s ratio=%s ours=%s peer=%s ours-min=%s peer-min=%s n=%d",
		r.ID, strings.ReplaceAll(r.Name, " ", "-"), ratio, ms(median(r.Ours)), ms(median(r.Peer)), ms(r.Ours[0]), ms(r.Peer[0]), len(r.Ours))
}

// Figure prints a figure that has no peer.
func Figure(w io.Writer, id, name, value string) {
	_, _ = fmt.Fprintf(w, "%s %s %s\n", id, strings.ReplaceAll(name, " ", "-"), value)
}

func median(sorted []time.Duration) time.Duration { return sorted[len(sorted)/2] }

func ms(d time.Duration) string {
	return fmt.Sprintf("%.2fms", float64(d)/float64(time.Millisecond))
}
