package schema

// meter bounds what the library may do with a value: it goes the ways that the
// library may go, and counts what each step may cost, which is the value that
// an error would print. A reference that leads back to itself at one place of
// the value would never end.
type meter struct {
	schema *Schema
	left   int
}

// visit reports whether checking v against n stays within the bounds. chain is
// how many schemas led here at the same place of the value.
func (m *meter) visit(n *node, v any, chain int) bool {
	if m.left--; chain > maxChain || !m.weigh(v) {
		return false
	}
	for _, c := range m.schema.below[n] {
		if c.in == inPlace && !m.visit(c.schema, v, chain+1) {
			return false
		}
	}
	for _, ref := range []string{n.Ref, n.DynamicRef} {
		for _, target := range m.schema.targets(n, ref) {
			if !m.visit(target, v, chain+1) {
				return false
			}
		}
	}
	switch v := v.(type) {
	case map[string]any:
		for name, e := range v {
			for _, c := range m.schema.below[n] {
				switch {
				case c.in == inMembers, c.in == inMember && c.name == name:
					if !m.visit(c.schema, e, 0) {
						return false
					}
				case c.in == inNames && !m.visit(c.schema, name, 0):
					return false
				}
			}
		}
	case []any:
		for i, e := range v {
			for _, c := range m.schema.below[n] {
				if (c.in == inElements || c.in == inElement && c.number == i) && !m.visit(c.schema, e, 0) {
					return false
				}
			}
		}
	}
	return true
}

// weigh takes the size of v from what is left.
func (m *meter) weigh(v any) bool {
	switch v := v.(type) {
	case string:
		m.left -= len(v) / 64
	case []any:
		for _, e := range v {
			if m.left--; m.left < 0 || !m.weigh(e) {
				return false
			}
		}
	case map[string]any:
		for name, e := range v {
			if m.left -= 1 + len(name)/64; m.left < 0 || !m.weigh(e) {
				return false
			}
		}
	}
	return m.left >= 0
}
