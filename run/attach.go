package run

import (
	"bytes"
	"context"
	"encoding/base64"
	"path/filepath"
	"unicode/utf8"

	"toolpipe/stream"
)

// attachments reads the files of --file: text becomes a text part headed by
// its path, a picture an image part.
func (c *Config) attachments(ctx context.Context) ([]stream.Part, error) {
	var parts []stream.Part
	for _, path := range c.Files {
		data, err := readFile(ctx, "--file", path, maxInput, plainFile)
		if err != nil {
			return nil, err
		}
		if mime := imageType(data); mime != "" {
			parts = append(parts, stream.Part{Image: &stream.Image{MIME: mime, Data: base64.StdEncoding.EncodeToString(data)}})
			continue
		}
		if !utf8.Valid(data) || bytes.IndexByte(data, 0) >= 0 {
			return nil, usageError([]string{"--file takes UTF-8 text, PNG, JPEG, GIF and WebP"}, "--file: %q is neither text nor a picture", path)
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

// systemText is the text of --system or --system-file; given tells whether
// one of them was.
func (c *Config) systemText(ctx context.Context) (text string, given bool, err error) {
	if c.System != nil {
		if i := invalidUTF8([]byte(*c.System)); i >= 0 {
			return "", true, usage("--system: byte %d is not UTF-8", i)
		}
		return *c.System, true, nil
	}
	if c.SystemFile == "" {
		return "", false, nil
	}
	data, err := readFile(ctx, "--system-file", c.SystemFile, 16<<20, plainFile)
	if err == nil && !utf8.Valid(data) {
		err = usage("--system-file: %q: byte %d is not UTF-8", c.SystemFile, invalidUTF8(data))
	}
	return string(data), true, err
}

// userConfigDir is where the user's config files are, "" if nowhere. A path
// that is not absolute is no answer, for nothing is read from the working
// directory unless a flag names it; the XDG specification says the same.
func userConfigDir(getenv func(string) string) string {
	if dir := getenv("XDG_CONFIG_HOME"); filepath.IsAbs(dir) {
		return dir
	}
	if home := getenv("HOME"); filepath.IsAbs(home) {
		return defaultConfigDir(home)
	}
	return ""
}
