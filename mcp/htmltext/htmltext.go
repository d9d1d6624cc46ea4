// Package htmltext turns an HTML page into readable text, for a model that fetched it and for
// error messages of servers. It takes any bytes: other content comes out as text.
package htmltext

import (
	"bytes"
	"html"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

// Text returns the text of an HTML page as a browser shows it, with # before headings, -
// before list items, and addresses after links. Addresses are resolved against base. Its time
// and memory are proportional to the length of the page.
func Text(page []byte, base *url.URL) []byte {
	p := &pageText{base: base, href: attribute("href"), alt: attribute("alt")}
	for len(page) > 0 {
		i := bytes.IndexByte(page, '<')
		if i < 0 {
			p.text(page)
			break
		}
		p.text(page[:i])
		page = p.markup(page[i:])
	}
	return append(bytes.TrimRight(bytes.TrimLeft(p.out, "\n"), " \n"), '\n')
}

// IsPage reports whether a body is an HTML page: its first bytes look like one, or its
// Content-Type is HTML and it begins with a tag.
func IsPage(body []byte, contentType string) bool {
	body = bytes.TrimSpace(bytes.TrimPrefix(body, []byte("\uFEFF")))
	declared, _, _ := strings.Cut(strings.ToLower(contentType), ";")
	declared = strings.TrimSpace(declared)
	return strings.HasPrefix(http.DetectContentType(body), "text/html") ||
		(declared == "text/html" || declared == "application/xhtml+xml") && bytes.HasPrefix(body, []byte("<"))
}

// pageText is the text of the page so far.
type pageText struct {
	base  *url.URL
	href  func(tag []byte) string
	alt   func(tag []byte) string
	out   []byte
	gap   bool   // white space was read after the end of out
	pre   int    // open pre elements
	lists int    // open lists
	link  string // the address of the link that is being read; "" for none
	from  int    // where the text of the link begins in out
}

// markup handles a tag or a comment, which begins with <, and returns the rest.
func (p *pageText) markup(b []byte) []byte {
	switch {
	case bytes.HasPrefix(b, []byte("<!--")):
		if i := bytes.Index(b[4:], []byte("-->")); i >= 0 {
			return b[4+i+3:]
		}
		return nil
	case len(b) < 2 || !isLetter(b[1]) && b[1] != '/' && b[1] != '!' && b[1] != '?':
		p.text(b[:1])
		return b[1:]
	}
	end := tagEnd(b)
	name, closing := tagName(b[1:end])
	attributes := b[:end]
	rest := b[min(end+1, len(b)):]
	if slices.Contains(hidden, name) && !closing && !bytes.HasSuffix(attributes, []byte("/")) {
		return skipElement(rest, name)
	}
	p.tag(name, closing, attributes)
	return rest
}

// tagEnd returns the offset of the > that ends a tag, outside of quoted values, or the length
// of b.
func tagEnd(b []byte) int {
	quote := byte(0)
	for i := 1; i < len(b); i++ {
		switch c := b[i]; {
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '>':
			return i
		case (c == '"' || c == '\'') && b[i-1] == '=':
			quote = c
		}
	}
	return len(b)
}

func tagName(b []byte) (name string, closing bool) {
	b, closing = bytes.CutPrefix(b, []byte("/"))
	if end := bytes.IndexAny(b, blanks+"/"); end >= 0 {
		b = b[:end]
	}
	return strings.ToLower(string(b)), closing
}

// hidden are the elements with content that is not shown as text.
var hidden = []string{"script", "style", "noscript", "template", "svg", "math", "iframe", "object", "canvas", "select", "textarea"}

// skipElement returns the text after the end tag of an element.
func skipElement(b []byte, name string) []byte {
	for {
		i := bytes.Index(b, []byte("</"))
		if i < 0 {
			return nil
		}
		b = b[i+2:]
		if len(b) >= len(name) && bytes.EqualFold(b[:len(name)], []byte(name)) {
			return b[min(tagEnd(b)+1, len(b)):]
		}
	}
}

// tag writes the separator or mark for a tag.
func (p *pageText) tag(name string, closing bool, tag []byte) {
	switch name {
	case "br":
		p.newlines(1)
	case "hr":
		p.newlines(2)
		p.write("---")
		p.newlines(2)
	case "h1", "h2", "h3", "h4", "h5", "h6":
		p.newlines(2)
		if !closing {
			p.write("######"[:name[1]-'0'] + " ")
		}
	case "ul", "ol", "menu":
		p.newlines(1)
		if closing {
			p.lists = max(0, p.lists-1)
		} else {
			p.lists = min(p.lists+1, 16)
		}
	case "li":
		p.newlines(1)
		if !closing {
			p.write(strings.Repeat("  ", max(0, p.lists-1)) + "- ")
		}
	case "pre":
		p.newlines(2)
		if closing {
			p.pre = max(0, p.pre-1)
		} else {
			p.pre++
		}
	case "td", "th":
		if closing {
			p.text([]byte(" "))
		}
	case "a": // links cannot be nested
		shown := bytes.TrimSpace(p.out[min(p.from, len(p.out)):])
		if p.link != "" && len(shown) > 0 && string(shown) != p.link {
			p.write(" <" + p.link + ">")
		}
		if p.link = ""; !closing {
			p.link, p.from = p.absolute(p.href(tag)), len(p.out)
		}
	case "img":
		if alt := p.alt(tag); alt != "" {
			p.text([]byte("[image: " + alt + "]"))
		}
	case "p", "div", "section", "article", "header", "footer", "main", "nav", "aside", "table", "blockquote", "form", "fieldset", "figure", "dl", "details", "title", "body":
		p.newlines(2)
	case "tr", "dt", "dd", "figcaption", "summary", "option", "address", "caption":
		p.newlines(1)
	}
}

// absolute returns the target address of a link; "" if it stays on the page or is not an
// address for a reader.
func (p *pageText) absolute(href string) string {
	href = strings.TrimSpace(href)
	if href == "" || href[0] == '#' || len(href) > 2000 {
		return ""
	}
	u, err := url.Parse(href)
	if err != nil {
		return ""
	}
	if p.base != nil {
		u = p.base.ResolveReference(u)
	}
	if u.Scheme != "http" && u.Scheme != "https" && u.Scheme != "mailto" {
		return ""
	}
	return u.String()
}

// text writes text from between tags.
func (p *pageText) text(b []byte) {
	if bytes.IndexByte(b, '&') >= 0 {
		b = []byte(html.UnescapeString(string(b)))
	}
	if p.pre > 0 {
		p.flush()
		p.out = append(p.out, bytes.ReplaceAll(b, []byte("\r\n"), []byte("\n"))...)
		return
	}
	for len(b) > 0 {
		r, n := utf8.DecodeRune(b)
		if r == ' ' || r == '\n' || r == '\t' || r == '\r' || r == '\f' || r == '\u00a0' {
			p.gap = true
		} else {
			p.flush()
			p.out = append(p.out, b[:n]...)
		}
		b = b[n:]
	}
}

// write writes text that is not from the page.
func (p *pageText) write(s string) {
	p.gap = false
	p.out = append(p.out, s...)
}

// flush writes a space for the gap before the next text.
func (p *pageText) flush() {
	if n := len(p.out); p.gap && n > 0 && p.out[n-1] != '\n' && p.out[n-1] != ' ' {
		p.out = append(p.out, ' ')
	}
	p.gap = false
}

// newlines makes the text end with n line ends.
func (p *pageText) newlines(n int) {
	p.gap = false
	text := bytes.TrimRight(p.out, " ")
	if len(text) == 0 || len(text) < len(p.out) && text[len(text)-1] == '-' {
		return // nothing yet, or an item that has only begun
	}
	for p.out = text; !bytes.HasSuffix(p.out, []byte("\n\n")[:n]); {
		p.out = append(p.out, '\n')
	}
}

// attribute returns a function that gives the value of an attribute of a tag; "" if the tag
// does not have it. Blanks, or another value, precede the name.
func attribute(name string) func(tag []byte) string {
	pattern := regexp.MustCompile(`(?i)[\s"']` + name + `\s*=\s*(?:"([^"]*)|'([^']*)|([^\s>]*))`)
	return func(tag []byte) string {
		if found := pattern.FindSubmatch(tag); found != nil {
			return html.UnescapeString(string(bytes.Join(found[1:], nil)))
		}
		return ""
	}
}

const blanks = " \t\r\n\f"

func isLetter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' || c == '_' }
