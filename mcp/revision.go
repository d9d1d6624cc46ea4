package mcp

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"toolpipe/mcp/wire"
	"toolpipe/stream/text/jsontext"
)

// A probeResult is the conclusion from the answer to server/discover. A server that is not
// clearly modern is legacy.
type probeResult struct {
	modern  bool
	again   bool   // modern, but it refused the probe with -32022, after which a client tries again
	version string // legacy: the revision to offer in initialize; "" for the newest
	err     error  // the server is neither modern nor legacy
}

// readProbe reads the answer to server/discover: its result, or the error of exchange.
func readProbe(result []byte, err error) probeResult {
	versions := jsontext.Strings(jsontext.Member(result, "supportedVersions"))
	if refusal, refused := errors.AsType[*wire.RPCError](err); refused {
		switch refusal.Code {
		case wire.CodeUnsupportedVersion:
			versions = supported(refusal)
		case wire.CodeHeaderMismatch, wire.CodeMissingCapability:
			return probeResult{err: fmt.Errorf("the server speaks %s but refuses server/discover: %w", wire.ModernRevision, refusal)}
		}
	}
	switch modern := slices.Contains(versions, wire.ModernRevision); {
	case modern && err == nil:
		return probeResult{modern: true}
	case modern:
		return probeResult{again: true, err: fmt.Errorf("the server lists %s as supported and refuses it: %w", wire.ModernRevision, err)}
	case len(versions) == 0:
		return probeResult{}
	}
	for _, v := range wire.LegacyRevisions {
		if slices.Contains(versions, v) {
			return probeResult{version: v}
		}
	}
	return probeResult{err: fmt.Errorf("no protocol revision in common: the server has %s, toolpipe has %s and %s",
		strings.Join(versions, ", "), wire.ModernRevision, strings.Join(wire.LegacyRevisions[:], ", "))}
}

func supported(e *wire.RPCError) []string {
	return jsontext.Strings(jsontext.Member(e.Data, "supported"))
}

// nearestRevision is the known legacy revision to apply when a server answers initialize with
// revision: the same one, or the newest one before it.
func nearestRevision(revision string) string {
	for _, v := range wire.LegacyRevisions {
		if revision >= v {
			return v
		}
	}
	return wire.LegacyRevisions[len(wire.LegacyRevisions)-1]
}

// nextOffer is the revision to offer after initialize with offered failed with e: one that
// the error names, otherwise an older one, for servers that do not negotiate
// (alibaba/higress#3226). "" means that there is none left.
func nextOffer(offered string, attempt int, e *wire.RPCError) string {
	if attempt == 1 {
		named := supported(e)
		for _, v := range wire.LegacyRevisions {
			if v != offered && (slices.Contains(named, v) || strings.Contains(e.Message, v)) {
				return v
			}
		}
	}
	for _, v := range [...]string{"2025-06-18", "2024-11-05"} {
		if v < offered {
			return v
		}
	}
	return ""
}
