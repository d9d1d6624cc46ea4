package toolbox

import (
	"fmt"

	"toolpipe/mcp"
	"toolpipe/mcp/wire"
	"toolpipe/run/builtin"
	"toolpipe/run/failure"
	"toolpipe/run/servers"
	"toolpipe/stream/text/jsontext"
)

// IsTaped reports whether a recording has the answers of a server. Agents, and the tools that find
// tools and read results, work in a replay too: what they use is recorded.
func IsTaped(s *servers.Server) bool {
	return !s.Agent && s.Name != finderServer && s.Name != builtin.ResultsName
}

// tape keeps the answers of a server in the recording, or takes them from it; nil without one.
func (b *Toolbox) tape(s *servers.Server) mcp.Tape {
	t := b.inv.Tape()
	if t == nil || !IsTaped(s) {
		return nil
	}
	return func(method string, params []byte, ask func() ([]byte, error)) ([]byte, error) {
		asked := fmt.Appendf(nil, `{"server":%s,"method":%q,"params":%s}`, jsontext.Quoted(s.Name), method, params)
		if !t.Replays() {
			answer, err := ask()
			if err != nil {
				answer = []byte("null")
			}
			t.Keep(asked, answer)
			return answer, err
		}
		answer, err := t.Take(asked)
		switch {
		case err != nil:
			return nil, failure.Of(err) // also where it is the failure of an optional server
		case string(answer) == "null":
			return nil, &wire.RPCError{Code: wire.CodeMethodNotFound, Message: "it failed in the recorded run"}
		}
		return answer, nil
	}
}
