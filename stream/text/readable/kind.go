package readable

import (
	"net/http"
	"slices"
)

// PDF is the MIME type of a document that models read.
const PDF = "application/pdf"

// Kind returns the MIME type of a picture or a PDF that models read, by its first bytes. It is ""
// for other data.
func Kind(data []byte) string {
	if kind := http.DetectContentType(data); IsPicture(kind) || kind == PDF {
		return kind
	}
	return ""
}

// IsPicture reports whether models read pictures of this MIME type.
func IsPicture(kind string) bool {
	return slices.Contains([]string{"image/png", "image/jpeg", "image/gif", "image/webp"}, kind)
}
