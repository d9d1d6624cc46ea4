package wire

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"net/http"
	"path"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"toolpipe/stream/text/jsontext"
	"toolpipe/stream/text/readable"
)

// Media is data that models read: a picture or a PDF.
type Media struct {
	MIME string // by the first bytes: servers label pictures wrongly (microsoft/vscode#311732)
	Name string // of a PDF
	Data []byte // standard base64
}

type Shown struct {
	Text   []byte // a string literal: the text of the block, else a line that describes it
	IsText bool   // Text is all of the block
	Media  *Media // the data of the block, if models read it
}

// ResourceBlock makes a block of one item of the contents of a resource.
func ResourceBlock(contents []byte) Block {
	return Block{Type: "resource", Raw: slices.Concat([]byte(`{"type":"resource","resource":`), contents, []byte("}"))}
}

// Show returns the form of a block for a model.
func (b *Block) Show() Shown {
	switch b.Type {
	case "text":
		if b.Text == nil {
			return Shown{Text: []byte(`""`), IsText: true}
		}
		return Shown{Text: b.Text, IsText: true}
	case "image", "audio":
		return showData(b.Type, b.Raw, "data")
	case "resource":
		resource := jsontext.Member(b.Raw, "resource")
		if inline := jsontext.Member(resource, "text"); jsontext.Kind(inline) == '"' {
			return Shown{Text: inline, IsText: true}
		}
		return showData(b.Type, resource, "blob")
	case "resource_link":
		return Shown{Text: linkLine(b.Raw)}
	}
	return Shown{Text: line("[unsupported content:", b.Type+"]")}
}

// LinkPrefix begins the line for a link to a resource.
const LinkPrefix = "[resource"

func linkLine(link []byte) []byte {
	at := func(name string) string { return jsontext.Text(jsontext.Member(link, name)) }
	words := []string{LinkPrefix, cmp.Or(at("title"), at("name")), at("uri"), at("mimeType")}
	if size := jsontext.Member(link, "size"); jsontext.IsNumber(size) {
		words = append(words, string(size), "bytes")
	}
	text := strings.TrimRight(strings.Join(words, " "), " ")
	if about := at("description"); about != "" {
		text += ": " + about
	}
	return line(text + "]")
}

// showData shows the base64 data in a member of a block or resource. Its label counts where the first
// bytes do not contradict it.
func showData(what string, v []byte, member string) (s Shown) {
	at := func(name string) string { return jsontext.Text(jsontext.Member(v, name)) }
	literal, kind, uri := jsontext.Member(v, member), at("mimeType"), at("uri")
	encoded, data := decoded(literal)
	size := len(data)
	switch known := readable.Kind(data); {
	case data == nil:
		size = max(0, len(literal)-2) / 4 * 3
	case known != "":
		kind = known
		s.Media = &Media{MIME: kind, Data: encoded}
		if kind == readable.PDF {
			s.Media.Name = path.Base(cmp.Or(uri, "document.pdf"))
		}
	case what == "resource" && isText(cmp.Or(kind, http.DetectContentType(data))) && utf8.Valid(data) && bytes.IndexByte(data, 0) < 0:
		return Shown{Text: jsontext.AppendQuoted(nil, data), IsText: true}
	case kind == "" || readable.IsPicture(kind):
		kind, _, _ = strings.Cut(http.DetectContentType(data), ";")
	}
	s.Text = line("["+what, uri, kind, strconv.Itoa(size), "bytes]")
	return s
}

// decoded returns the base64 in a string literal, without line ends, and its data. Both are nil if the
// literal is not base64.
func decoded(literal []byte) (encoded, data []byte) {
	if jsontext.Kind(literal) != '"' {
		return nil, nil
	}
	encoded = jsontext.Unescape(literal[1 : len(literal)-1])
	data, err := base64.StdEncoding.AppendDecode(nil, encoded) // it ignores line ends
	if err != nil || len(data) == 0 {
		return nil, nil
	}
	if bytes.ContainsAny(encoded, "\r\n") {
		encoded = base64.StdEncoding.AppendEncode(nil, data)
	}
	return encoded, data
}

func isText(mime string) bool {
	mime, _, _ = strings.Cut(strings.ToLower(mime), ";")
	kind, format, _ := strings.Cut(strings.TrimSpace(mime), "/")
	if i := strings.LastIndexByte(format, '+'); i >= 0 {
		format = format[i+1:]
	}
	return kind == "text" || slices.Contains([]string{"json", "xml", "yaml", "toml", "javascript", "typescript", "sql", "sh", "ndjson"}, strings.TrimPrefix(format, "x-"))
}

// line is a string literal of these words, without those that are empty.
func line(words ...string) []byte {
	return jsontext.Quoted(strings.Join(strings.Fields(strings.Join(words, " ")), " "))
}
