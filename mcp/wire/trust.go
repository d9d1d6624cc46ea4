package wire

import "toolpipe/stream/text/jsontext"

// Claims reports the server's claims about a result: private if it is not for everybody,
// untrusted if an outsider wrote part of it. Servers are not trusted, so claims can only make
// a result more private or less trusted: any confidentiality but "public" is private, and any
// integrity but "trusted" is untrusted. Claims are in the _meta of the result, of its blocks
// and of the resources in them, as ifc (github/github-mcp-server, pkg/ifc) or as
// io.modelcontextprotocol/trust-annotations
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
