package stream

import (
	"crypto/sha256"
	"encoding/hex"
)

// promptCacheKey makes the value of prompt_cache_key, by which OpenAI sends
// requests with the same beginning to the machine that has it in its cache. It
// is a hash of the head and the first message, and so the same for all requests
// of a run, and for the runs of one pipeline. The model is left out: a replay
// need not know it.
func (c *Client) promptCacheKey(r *Request) string {
	var text segments
	anyModel := *r
	anyModel.Model = ""
	c.dialect.open(&text, &anyModel, c.options)
	e := c.dialect.encoder(r, c.options)
	for i := range r.Messages {
		if m := &r.Messages[i]; !isSystem(m) {
			e.message(&text, m)
			e.finish(&text)
			break
		}
	}
	sum := sha256.Sum256(text.flat())
	return "toolpipe-" + hex.EncodeToString(sum[:16])
}

// cacheKey writes prompt_cache_key.
func (f *fields) cacheKey(o options) {
	if !o.noCacheKey {
		f.set("prompt_cache_key", "?", o.cacheKey)
	}
}
