package wire

import "toolpipe/stream/text/jsontext"

// Claims are what a server says of a result: whether it holds what is not for everybody, or
// what an outsider wrote. They count only where they make it more so, since nobody trusts the
// server: whatever does not say "public" is private, whatever does not say "trusted" is not.
// They stand in the _meta of the result, of its blocks and of the resources in them, as ifc
// (github/github-mcp-server, pkg/ifc) or as io.modelcontextprotocol/trust-annotations
// (modelcontextprotocol/experimental-ext-tool-annotations).
func (r *Result) Claims() (private, untrusted bool) {
	add := func(meta []byte) {
		if ifc := jsontext.Member(meta, "ifc"); jsontext.Kind(ifc) == '{' {
			readers := jsontext.Member(ifc, "confidentiality")
			words := jsontext.Strings(readers)
			public := jsontext.Text(readers) == "public" || len(words) == 1 && words[0] == "public"
			private = private || !public
			untrusted = untrusted || jsontext.Text(jsontext.Member(ifc, "integrity")) != "trusted"
		}
		claims := jsontext.Member(meta, "io.modelcontextprotocol/trust-annotations")
		private = private || jsontext.IsTrue(jsontext.Member(claims, "sensitive"))
		untrusted = untrusted || jsontext.IsTrue(jsontext.Member(claims, "untrusted"))
	}
	add(r.Meta)
	for _, b := range r.Content {
		add(jsontext.Member(b.Raw, "_meta"))
		add(jsontext.Member(jsontext.Member(b.Raw, "resource"), "_meta"))
	}
	return private, untrusted
}
