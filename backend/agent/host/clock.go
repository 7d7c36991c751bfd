package host

import "time"

// jump is how much more the clock of the wall may advance than the monotonic
// one before we take it that the machine slept.
const jump = 10 * time.Second

// clock sees the machine sleep: the clock of the wall then goes on and the
// monotonic one does not.
type clock struct {
	now  func() time.Time
	wall time.Time // without a monotonic reading
	mono time.Time
}

func (h *Host) newClock() *clock {
	return &clock{now: h.cfg.Now, wall: h.cfg.Now().Round(0), mono: time.Now()}
}

// slept returns how long the machine slept since the last call; 0 when it did
// not, or when somebody set the clock by a little or back.
func (c *clock) slept() time.Duration {
	wall, mono := c.now().Round(0), time.Now()
	d := wall.Sub(c.wall) - mono.Sub(c.mono)
	c.wall, c.mono = wall, mono
	if d <= jump {
		return 0
	}
	return d
}
