package run

import (
	"bytes"
	"encoding/base64"
	"io"
	"os"
	"unicode/utf8"

	"toolpipe/stream"
)

// readPlain reads a file that a flag names and whose content grants nothing.
func readPlain(flag, path string, limit int64) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, openError(flag, path, err)
	}
	defer f.Close()
	if info, err := f.Stat(); err == nil && info.IsDir() {
		return nil, usage("%s: %q is a directory", flag, path)
	}
	data, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err != nil {
		return nil, openError(flag, path, err)
	}
	if int64(len(data)) > limit {
		return nil, usage("%s: %q is larger than %d MiB", flag, path, limit>>20)
	}
	return data, nil
}

// attachments reads the files of --file: text becomes a text part headed by
// its path, a picture an image part.
func (c *Config) attachments() ([]stream.Part, error) {
	var parts []stream.Part
	for _, path := range c.Files {
		data, err := readPlain("--file", path, maxInput)
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
func (c *Config) systemText() (text string, given bool, err error) {
	if c.System != nil {
		return *c.System, true, nil
	}
	if c.SystemFile == "" {
		return "", false, nil
	}
	data, err := readPlain("--system-file", c.SystemFile, 16<<20)
	if err == nil && !utf8.Valid(data) {
		err = usage("--system-file: %q: byte %d is not UTF-8", c.SystemFile, invalidUTF8(data))
	}
	return string(data), true, err
}

func userConfigDir(getenv func(string) string) string {
	if dir := getenv("XDG_CONFIG_HOME"); dir != "" {
		return dir
	}
	if home := getenv("HOME"); home != "" {
		return defaultConfigDir(home)
	}
	return ""
}

func openFile(path string) (*os.File, error) { return os.OpenFile(path, os.O_RDONLY|openNonblock, 0) }
