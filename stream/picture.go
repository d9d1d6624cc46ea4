package stream

import (
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"slices"
)

// pictureLimits are what an API accepts of a picture; 0 is no limit.
type pictureLimits struct {
	encoded    int // bytes of base64
	side       int // pixels of the longer side
	sideOfMany int // side, in a request with more than manyPictures pictures
}

const manyPictures = 20

// limitsOfPictures returns the documented limits of an API. Anthropic counts the bytes of the base64
// (lobehub/lobehub#14711).
func limitsOfPictures(api string) pictureLimits {
	if api == messagesDialect.name {
		return pictureLimits{encoded: 5 << 20, side: 8000, sideOfMany: 2000}
	}
	return pictureLimits{encoded: 20 << 20 / 3 * 4}
}

// excess says how a picture exceeds the limits, "" if it does not.
func (l pictureLimits) excess(img *Image, many bool) string {
	if many && l.sideOfMany > 0 {
		l.side = l.sideOfMany
	}
	if len(img.Data) > l.encoded {
		return fmt.Sprintf("it has %d bytes in base64, the endpoint accepts %d", len(img.Data), l.encoded)
	}
	if side := img.longerSide(); l.side > 0 && side > l.side {
		return fmt.Sprintf("its longer side has %d pixels, the endpoint accepts %d", side, l.side)
	}
	return ""
}

// isOptional reports whether requests may leave out a picture or document.
func isOptional(m *Message, p *Part) bool {
	return p.Image != nil && (m.Role == ToolRole || p.Image.Optional)
}

func hasOptionalImage(messages []Message) bool {
	return slices.ContainsFunc(messages, func(m Message) bool {
		return slices.ContainsFunc(m.Parts, func(p Part) bool { return isOptional(&m, &p) })
	})
}

// fitting returns messages with a text in place of each optional picture that the endpoint does
// not accept.
func (c *Client) fitting(messages []Message) []Message {
	o := &c.options
	o.leftOut = 0
	if !hasOptionalImage(messages) {
		return messages
	}
	if many := countPictures(messages) > manyPictures; many != o.manyPictures {
		o.manyPictures, c.encoder = many, nil
	}
	messages = slices.Clone(messages)
	for i := range messages {
		m := &messages[i]
		for j := range m.Parts {
			if why := c.unfit(m, &m.Parts[j]); why != "" {
				what := "picture"
				if m.Parts[j].Image.isDocument() {
					what = "document"
				}
				m.Parts = slices.Clone(m.Parts)
				m.Parts[j] = Part{Text: "[toolpipe] the " + what + " is left out: " + why}
			}
		}
	}
	return messages
}

// unfit says why requests leave out an optional picture, "" if they do not.
func (c *Client) unfit(m *Message, p *Part) (why string) {
	switch {
	case !isOptional(m, p):
	case c.options.noOptionalImages:
		return "the endpoint refuses it"
	case !p.Image.isDocument():
		if why = limitsOfPictures(c.dialect.name).excess(p.Image, c.options.manyPictures); why != "" {
			c.options.leftOut++
		}
	}
	return why
}

func countPictures(messages []Message) (n int) {
	for i := range messages {
		for _, p := range messages[i].Sent() {
			if p.Image != nil && !p.Image.isDocument() {
				n++
			}
		}
	}
	return n
}

// longerSide returns the pixels of the longer side of a picture, as its header says; 0 if that is
// unknown.
func (img *Image) longerSide() int {
	little, big := binary.LittleEndian, binary.BigEndian
	switch img.MIME {
	case "image/png":
		b := img.bytes(16, 8)
		return int(max(big.Uint32(b), big.Uint32(b[4:])))
	case "image/gif":
		b := img.bytes(6, 4)
		return int(max(little.Uint16(b), little.Uint16(b[2:])))
	case "image/webp":
		b := img.bytes(12, 20)
		switch string(b[:4]) {
		case "VP8X":
			return int(max(little.Uint32(b[12:])&0xffffff, little.Uint32(b[15:])&0xffffff)) + 1
		case "VP8L":
			v := little.Uint32(b[9:])
			return int(max(v&0x3fff, v>>14&0x3fff)) + 1
		}
		return int(max(little.Uint16(b[14:]), little.Uint16(b[16:])) & 0x3fff)
	case "image/jpeg":
		return img.jpegSide()
	}
	return 0
}

// maxSegments is how many segments of a JPEG are searched for its size.
const maxSegments = 1000

func (img *Image) jpegSide() int {
	at := 2
	for range maxSegments {
		b := img.bytes(at, 9)
		switch marker := b[1]; {
		case b[0] != 0xff, marker == 0xd9, marker == 0xda: // no segment, the end, or the pixels
			return 0
		case marker == 0xff: // a fill byte
			at++
		case marker >= 0xc0 && marker <= 0xcf && marker != 0xc4 && marker != 0xc8 && marker != 0xcc: // a frame
			return int(max(binary.BigEndian.Uint16(b[5:]), binary.BigEndian.Uint16(b[7:])))
		default:
			at += 2 + int(binary.BigEndian.Uint16(b[2:]))
		}
	}
	return 0
}

// bytes returns n bytes of the data, which are zero if there are not so many.
func (img *Image) bytes(at, n int) []byte {
	first, last := at/3*4, (at+n+2)/3*4
	if last <= len(img.Data) {
		if data, err := base64.StdEncoding.DecodeString(img.Data[first:last]); err == nil && len(data) >= at%3+n {
			return data[at%3:][:n]
		}
	}
	return make([]byte, n)
}
