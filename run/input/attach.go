package input

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"unicode/utf8"

	"toolpipe/run/config"
	"toolpipe/run/failure"
	"toolpipe/stream"
	"toolpipe/stream/text/readable"
)

// Attachments reads the files of --file: a text becomes a text part headed by its path, a picture
// an image part, a PDF a document. Standard input is read later; an empty part reserves its
// position. attached is called with each file.
func Attachments(c *config.Config, ctx context.Context, attached func(path string, data []byte)) ([]stream.Part, error) {
	var parts []stream.Part
	for _, path := range c.Files {
		if path == "-" {
			parts = append(parts, stream.Part{})
			continue
		}
		head := path + ":\n\n"
		all, err := config.ReadAttachment(ctx, head, "--file", path, config.MaxInput)
		if err != nil && config.IsURL(path) {
			return nil, failure.UsageError([]string{"--fetch lets the model read it: toolpipe --fetch " + config.ShellQuote("what does "+path+" say?"),
				"or attach its content: curl -s " + config.ShellQuote(path) + " | toolpipe -f - PROMPT"}, "--file: %q is a URL, not a file", path)
		}
		if info, statErr := os.Stat(path); statErr == nil && info.IsDir() {
			return nil, failure.UsageError([]string{"--files " + config.ShellQuote(path) + " lets the model read its files; -f takes one file each time"},
				"--file: %q is a directory", path)
		}
		if err != nil {
			return nil, hintAtSize(err)
		}
		data := all[len(head):]
		part, err := attachment("--file: "+strconv.Quote(path), path, all, data)
		if err != nil {
			return nil, err
		}
		attached(path, data)
		parts = append(parts, part)
	}
	return parts, nil
}

func hintAtSize(err error) error {
	if e, ok := errors.AsType[*failure.Error](err); ok && errors.Is(err, config.ErrTooLarge) {
		e.Hints = []string{"--files DIR lets the model read a large file there in parts, and search in it"}
	}
	return err
}

// attachInput puts standard input at its position among the attached files.
func attachInput(c *config.Config, attached []stream.Part, data []byte) (err error) {
	if data == nil {
		return failure.UsageError([]string{"toolpipe -f - PROMPT <picture.png"}, "--file -: standard input is not read")
	}
	attached[slices.Index(c.Files, "-")], err = attachment("--file -: standard input", "standard input", nil, data)
	return err
}

// attachment is the part of a message for a file. Errors begin with what. A text begins with name.
// all is name followed by the data in one string, or nil.
func attachment(what, name string, all, data []byte) (p stream.Part, err error) {
	if err := refuseUTF16(what, data); err != nil {
		return p, err
	}
	switch kind := readable.Kind(data); {
	case kind == readable.PDF:
		p.Image = &stream.Image{MIME: kind, Data: base64.StdEncoding.EncodeToString(data), Name: filepath.Base(name)}
	case kind != "":
		p.Image = &stream.Image{MIME: kind, Data: base64.StdEncoding.EncodeToString(data)}
	case !utf8.Valid(data) || bytes.IndexByte(data, 0) >= 0:
		err = failure.UsageError([]string{hintOfBytes(data, "--file takes UTF-8 text, PDF, PNG, JPEG, GIF and WebP")}, "%s is neither text nor a picture", what)
	case all != nil:
		p.Text = stringOf(all)
	default:
		p.Text = name + ":\n\n" + string(data)
	}
	return p, err
}

// refuseUTF16 returns an error if data is UTF-16 text, which programs for Windows write. Without a
// byte order mark it is recognized by zeros in every second byte. Such text may also be valid
// UTF-8.
func refuseUTF16(what string, data []byte) error {
	const looked = 512
	begin := data[:min(len(data), looked)&^1]
	form := ""
	switch zeros := [2]int{}; {
	case bytes.HasPrefix(data, []byte("\xff\xfe")):
		form = "UTF-16LE"
	case bytes.HasPrefix(data, []byte("\xfe\xff")):
		form = "UTF-16BE"
	default:
		for i, c := range begin {
			if c == 0 {
				zeros[i&1]++
			}
		}
		if half := len(begin) / 2; half < 2 || zeros[0]+zeros[1] == 0 {
			break
		} else if zeros[0] == 0 && zeros[1]*4 >= half*3 {
			form = "UTF-16LE"
		} else if zeros[1] == 0 && zeros[0]*4 >= half*3 {
			form = "UTF-16BE"
		}
	}
	if form == "" {
		return nil
	}
	return failure.UsageError([]string{"iconv -f " + form + " -t utf-8 FILE | toolpipe PROMPT"}, "%s is %s, not UTF-8", what, form)
}

// hintOfBytes says how to send data that is not UTF-8. otherwise is the hint for data of an unknown
// kind.
func hintOfBytes(data []byte, otherwise string) string {
	switch kind := readable.Kind(data); {
	case kind == readable.PDF:
		return "send the text of a PDF: pdftotext FILE.pdf - | toolpipe PROMPT"
	case kind != "":
		return "-f attaches a picture, also from standard input: toolpipe -f - 'what is this?' <picture.png"
	case bytes.IndexByte(data, 0) < 0:
		return "text in another encoding: iconv -f latin1 -t utf-8 FILE | toolpipe PROMPT"
	}
	return otherwise
}

// SystemText is the text of --system or --system-file. given reports whether one of them was given.
func SystemText(c *config.Config, ctx context.Context) (text string, given bool, err error) {
	var data []byte
	what := "--system"
	switch {
	case c.System != nil:
		data = []byte(*c.System)
	case c.SystemFile == "":
		return "", false, nil
	default:
		what = "--system-file: " + strconv.Quote(c.SystemFile)
		data, err = config.ReadFile(ctx, "--system-file", c.SystemFile, 16<<20, config.PlainFile, nil)
	}
	if i := invalidUTF8(data); err == nil && i >= 0 {
		err = failure.Usage("%s: byte %d is not UTF-8", what, i)
	}
	return string(data), true, err
}
