package mcp

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"toolpipe/mcp/wire"
	"toolpipe/stream/jsontext"
)

// A probeResult is what the answer to server/discover says about a server. Anything
// that is not positively modern is legacy.
type probeResult struct {
	modern bool
	retry  bool // ask once more, with version
	// version is the modern revision to speak, or the legacy one to offer; ""
	// for the newest.
	version string
	err     error // it can be neither
}

// readProbe reads the answer to server/discover: its result, or the error that
// exchange gave. corrected says that the version was asked for by the server.
func readProbe(result []byte, err error, corrected bool) probeResult {
	if err == nil {
		return judgeSupported(result)
	}
	e, ok := errors.AsType[*wire.RPCError](err)
	if !ok {
		return probeResult{}
	}
	switch e.Code {
	case wire.CodeUnsupportedVersion:
		return judgeUnsupported(e, corrected)
	case wire.CodeHeaderMismatch, wire.CodeMissingCapability:
		return probeResult{err: fmt.Errorf("the server speaks %s but refuses server/discover: %w", wire.ModernRevision, e)}
	}
	return probeResult{}
}

func judgeSupported(result []byte) probeResult {
	supported := jsontext.Strings(jsontext.Member(result, "supportedVersions"))
	if slices.Contains(supported, wire.ModernRevision) {
		return probeResult{modern: true, version: wire.ModernRevision}
	}
	if v := newestLegacy(supported); v != "" || len(supported) == 0 {
		return probeResult{version: v}
	}
	return probeResult{err: noMutual(supported)}
}

func judgeUnsupported(e *wire.RPCError, corrected bool) probeResult {
	supported := jsontext.Strings(jsontext.Member(e.Data, "supported"))
	if slices.Contains(supported, wire.ModernRevision) {
		if corrected {
			return probeResult{err: fmt.Errorf("the server lists %s as supported and refuses it: %w", wire.ModernRevision, e)}
		}
		return probeResult{retry: true, version: wire.ModernRevision}
	}
	if v := newestLegacy(supported); v != "" || len(supported) == 0 {
		return probeResult{version: v}
	}
	return probeResult{err: noMutual(supported)}
}

func noMutual(supported []string) error {
	return fmt.Errorf("no protocol revision in common: the server has %s, toolpipe has %s and %s",
		strings.Join(supported, ", "), wire.ModernRevision, strings.Join(wire.LegacyRevisions[:], ", "))
}

func newestLegacy(supported []string) string {
	for _, v := range wire.LegacyRevisions {
		if slices.Contains(supported, v) {
			return v
		}
	}
	return ""
}

// nearestRevision is the known legacy revision whose rules to use for one that a
// server answered to initialize: itself, or the newest not after it.
func nearestRevision(revision string) string {
	for _, v := range wire.LegacyRevisions {
		if revision >= v {
			return v
		}
	}
	return wire.LegacyRevisions[len(wire.LegacyRevisions)-1]
}

// nextOffer is what to offer next after initialize with version offered failed
// with e: what the error names, else the older revisions that servers which
// do not negotiate are known to want (higress#3226). "" is the end.
func nextOffer(offered string, attempt int, e *wire.RPCError) string {
	if attempt == 1 {
		named := jsontext.Strings(jsontext.Member(e.Data, "supported"))
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
