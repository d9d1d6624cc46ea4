package input

import (
	"bytes"
	"context"
	"encoding/base64"
	"path/filepath"
	"slices"
	"strconv"
	"unicode/utf8"

	"toolpipe/run/config"
	"toolpipe/run/failure"
	"toolpipe/stream"
)

// Attachments reads the files of --file: text becomes a text part headed by
// its path, a picture an image part, a PDF a document if the API of that name
// takes one. For standard input, which is read later,
// there is an empty part in its place. attached is told each file that was read.
func Attachments(c *config.Config, ctx context.Context, api string, attached func(path string, data []byte)) ([]stream.Part, error) {
	var parts []stream.Part
	for _, path := range c.Files {
		if path == "-" {
			parts = append(parts, stream.Part{})
			continue
		}
		data, err := config.ReadFile(ctx, "--file", path, MaxInput, config.PlainFile)
		if err != nil && config.IsURL(path) {
			return nil, failure.UsageError([]string{"--fetch lets the model read it: toolpipe --fetch " + config.ShellQuote("what does "+path+" say?"),
				"or attach what it holds: curl -s " + config.ShellQuote(path) + " | toolpipe -f - PROMPT"}, "--file: %q is a URL, not a file", path)
		}
		if err != nil {
			return nil, err
		}
		part, err := attachment("--file: "+strconv.Quote(path), path, api, data)
		if err != nil {
			return nil, err
		}
		attached(path, data)
		parts = append(parts, part)
	}
	return parts, nil
}

// attachInput puts standard input into its place among the attached files.
func attachInput(c *config.Config, api string, attached []stream.Part, data []byte) (err error) {
	if data == nil {
		return failure.UsageError([]string{"toolpipe -f - PROMPT <picture.png"}, "--file -: standard input is not read")
	}
	attached[slices.Index(c.Files, "-")], err = attachment("--file -: standard input", "standard input", api, data)
	return err
}

// attachment is the part of a file; what begins an error, and name heads a text.
func attachment(what, name, api string, data []byte) (stream.Part, error) {
	if mime := imageType(data); mime != "" {
		return stream.Part{Image: &stream.Image{MIME: mime, Data: base64.StdEncoding.EncodeToString(data)}}, nil
	}
	if bytes.HasPrefix(data, []byte("%PDF-")) {
		if api == "chat" {
			return stream.Part{}, failure.UsageError([]string{hintOfBytes(data, ""), "--api messages and --api responses take documents"}, "%s is a PDF, which chat completions do not take", what)
		}
		return stream.Part{Image: &stream.Image{MIME: stream.PDF, Data: base64.StdEncoding.EncodeToString(data), Name: filepath.Base(name)}}, nil
	}
	if !utf8.Valid(data) || bytes.IndexByte(data, 0) >= 0 {
		return stream.Part{}, failure.UsageError([]string{hintOfBytes(data, "--file takes UTF-8 text, PNG, JPEG, GIF and WebP")}, "%s is neither text nor a picture", what)
	}
	return stream.Part{Text: name + ":\n\n" + string(data)}, nil
}

// hintOfBytes says how data that is not UTF-8 can be sent; otherwise is for data
// of which nothing is known.
func hintOfBytes(data []byte, otherwise string) string {
	switch {
	case imageType(data) != "":
		return "-f attaches a picture, also from standard input: toolpipe -f - 'what is this?' <picture.png"
	case bytes.HasPrefix(data, []byte("%PDF-")):
		return "send the text of a PDF: pdftotext FILE.pdf - | toolpipe PROMPT"
	case bytes.IndexByte(data, 0) < 0:
		return "text in another encoding: iconv -f latin1 -t utf-8 FILE | toolpipe PROMPT"
	}
	return otherwise
}

// imageType tells a picture by its first bytes, "" for anything else.
func imageType(data []byte) string {
	for _, t := range []struct{ magic, mime string }{
		{"\x89PNG\r\n\x1a\n", "image/png"}, {"\xff\xd8\xff", "image/jpeg"}, {"GIF87a", "image/gif"}, {"GIF89a", "image/gif"},
	} {
		if bytes.HasPrefix(data, []byte(t.magic)) {
			return t.mime
		}
	}
	if len(data) >= 12 && string(data[:4]) == "RIFF" && string(data[8:12]) == "WEBP" {
		return "image/webp"
	}
	return ""
}

// SystemText is the text of --system or --system-file; given tells whether
// one of them was.
func SystemText(c *config.Config, ctx context.Context) (text string, given bool, err error) {
	if c.System != nil {
		if i := invalidUTF8([]byte(*c.System)); i >= 0 {
			return "", true, failure.Usage("--system: byte %d is not UTF-8", i)
		}
		return *c.System, true, nil
	}
	if c.SystemFile == "" {
		return "", false, nil
	}
	data, err := config.ReadFile(ctx, "--system-file", c.SystemFile, 16<<20, config.PlainFile)
	if err == nil && !utf8.Valid(data) {
		err = failure.Usage("--system-file: %q: byte %d is not UTF-8", c.SystemFile, invalidUTF8(data))
	}
	return string(data), true, err
}
