package stream

import (
	"unicode/utf8"

	"github.com/tidwall/gjson"
)

// schemaSize is what OpenAI limits of a schema in strict mode.
type schemaSize struct{ properties, values, text int }

const (
	maxSchemaLevels     = 10 // of objects and arrays
	maxSchemaProperties = 5_000
	maxSchemaValues     = 1_000   // of all enums
	maxSchemaText       = 120_000 // characters of names and values
	manyValues          = 250     // from which on the text of a single enum is limited
	maxValuesText       = 15_000  // characters
)

// fits counts a schema that partWriter has written, at a level of objects and arrays, and reports
// whether it is within the limits.
func (s *schemaSize) fits(v gjson.Result, level int) bool {
	ok := level <= maxSchemaLevels
	each := func(list gjson.Result, level int) {
		list.ForEach(func(name, inner gjson.Result) bool {
			s.text += utf8.RuneCountInString(name.Str)
			ok = s.fits(inner, level) && ok
			return true
		})
	}
	v.ForEach(func(key, value gjson.Result) bool {
		switch key.Str {
		case "properties":
			s.properties += len(value.Map())
			each(value, level+1)
		case "$defs", "definitions":
			each(value, 0)
		case "anyOf":
			each(value, level)
		case "items":
			ok = s.fits(value, level+1) && ok
		case "const":
			s.text += utf8.RuneCountInString(value.String())
		case "enum":
			values, before := value.Array(), s.text
			for _, one := range values {
				s.text += utf8.RuneCountInString(one.String())
			}
			s.values += len(values)
			ok = ok && (len(values) <= manyValues || s.text-before <= maxValuesText)
		}
		return true
	})
	return ok && s.properties <= maxSchemaProperties && s.values <= maxSchemaValues && s.text <= maxSchemaText
}
