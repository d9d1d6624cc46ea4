package stream

// Opaque is what an assistant message holds beside its Parts and Calls:
// reasoning, signatures, encrypted items. It is sent back unread, to the same
// endpoint and model only. The zero value holds nothing and is of no endpoint.
type Opaque struct {
	api, endpoint, model string // that it came from
	json                 []byte // chat: members of the message; else its blocks or items
	content              []byte // chat: the content as it came, for a text that is not all of it
}

// of returns what goes back to an endpoint of that API.
func (o *Opaque) of(api string) Opaque {
	if o.api != api {
		return Opaque{}
	}
	return *o
}
