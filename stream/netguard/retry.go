package netguard

import (
	"math/rand/v2"
	"net/http"
	"strconv"
	"time"
)

// MaxRetries is how often a request is sent again after a failure that may pass.
const MaxRetries = 3

const (
	firstPause = 500 * time.Millisecond
	maxPause   = 30 * time.Second
)

// Pause is the wait before a request is sent again, if the server asks for none. It doubles with
// each repetition already made. A random part keeps clients from repeating at the same time.
func Pause(made int) time.Duration {
	pause := min(firstPause<<min(made, 16), maxPause)
	return pause + rand.N(pause/4)
}

// RetryAfter returns the wait that the head of a response asks for, 0 for none: seconds or a date
// (RFC 9110, section 10.2.3), or the milliseconds of OpenAI's header.
func RetryAfter(h http.Header) time.Duration {
	if ms, err := strconv.ParseFloat(h.Get("Retry-After-Ms"), 64); err == nil && ms > 0 && ms < 1e12 {
		return time.Duration(ms * float64(time.Millisecond))
	}
	v := h.Get("Retry-After")
	if s, err := strconv.ParseFloat(v, 64); err == nil && s > 0 {
		return time.Duration(min(s, 1e9) * float64(time.Second))
	}
	if t, err := http.ParseTime(v); err == nil {
		return max(time.Until(t), 0)
	}
	return 0
}
