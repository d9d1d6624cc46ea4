package input

import (
	"bytes"
	"context"
	"encoding/base64"
	"unicode/utf8"

	"toolpipe/run/config"
	"toolpipe/run/failure"
	"toolpipe/stream"
)

// Attachments reads the files of --file: text becomes a text part headed by
// its path, a picture an image part.
func Attachments(c *config.Config, ctx context.Context) ([]stream.Part, error) {
	var parts []stream.Part
	for _, path := range c.Files {
		data, err := config.ReadFile(ctx, "--file", path, MaxInput, config.PlainFile)
		if err != nil {
			return nil, err
		}
		if mime := imageType(data); mime != "" {
			parts = append(parts, stream.Part{Image: &stream.Image{MIME: mime, Data: base64.StdEncoding.EncodeToString(data)}})
			continue
		}
		if !utf8.Valid(data) || bytes.IndexByte(data, 0) >= 0 {
			return nil, failure.UsageError([]string{"--file takes UTF-8 text, PNG, JPEG, GIF and WebP"}, "--file: %q is neither text nor a picture", path)
		}
		parts = append(parts, stream.Part{Text: path + ":\n\n" + string(data)})
	}
	return parts, nil
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
