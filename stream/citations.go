package stream

import (
	"strings"

	"github.com/tidwall/gjson"

	"toolpipe/stream/text/readable"
)

// Citation is a source that the endpoint names for a part of a reply. Title or URL may be "".
type Citation struct {
	Title, URL string
	Start, End int // the part of the text, as the endpoint counts; -1 if it does not say it
}

const (
	maxCitations = 2000    // of a reply, with and without positions
	maxCited     = 2 << 10 // bytes of a title, and of a URL
)

// cite passes on one citation, or a list of them, in the form of any dialect. Endpoints repeat
// citations: in each chunk, in a whole item, in a whole response.
func (d *draft) cite(list gjson.Result) {
	if d.sink.Cite == nil || !list.Exists() {
		return
	}
	for _, v := range list.Array() { // itself, if it is one
		c := citationOf(v)
		if c.Title == "" && c.URL == "" || d.text.cited[c] || len(d.text.cited) >= maxCitations {
			continue
		}
		if d.text.cited == nil {
			d.text.cited = map[Citation]bool{}
		}
		d.text.cited[c] = true
		d.text.cited[Citation{URL: c.URL, Start: -1, End: -1}] = true // lists of only URLs repeat it
		d.began = true
		d.fail(d.sink.Cite(c))
	}
}

// citationOf reads a URL, an annotation of chat or responses, a search result of Perplexity, or
// a citation of messages. A URL that is too long is left out: the beginning of it is no use.
func citationOf(v gjson.Result) Citation {
	url := v.Str
	if inner := v.Get("url_citation"); inner.IsObject() {
		v = inner
	}
	c := Citation{Start: indexOf(v, "start_index"), End: indexOf(v, "end_index")}
	if v.IsObject() {
		url = v.Get("url").Str
	}
	if len(url) <= maxCited {
		c.URL = strings.Clone(url)
	}
	for _, name := range []string{"filename", "document_title", "title"} { // a file of responses, a document of messages
		if title := v.Get(name).Str; title != "" {
			c.Title = strings.Clone(readable.Cut(title, maxCited, "..."))
		}
	}
	return c
}
