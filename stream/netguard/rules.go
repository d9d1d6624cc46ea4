package netguard

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"unicode"

	"toolpipe/stream/text/glob"
)

// Rules are the exceptions for addresses that are not public.
type Rules struct {
	networks []netip.Prefix
	hosts    []string // globs, in lower case
}

// ParseRules reads patterns: a network such as 10.1.0.0/16 or 10.1.*, an address, or a glob
// for the host's name such as *.corp.example.
func ParseRules(patterns []string) (*Rules, error) {
	r := &Rules{}
	for _, p := range patterns {
		bare := strings.TrimSuffix(strings.TrimPrefix(p, "["), "]")
		switch a, err := netip.ParseAddr(bare); {
		case err == nil:
			r.networks = append(r.networks, netip.PrefixFrom(a.Unmap(), a.Unmap().BitLen()))
		case likeAddress(p):
			network, err := parseNetwork(p)
			if err != nil {
				return nil, err
			}
			r.networks = append(r.networks, network)
		default:
			all, err := glob.Expand(strings.ToLower(strings.TrimSuffix(p, ".")))
			if err != nil || p == "" || strings.ContainsAny(p, ": @") {
				return nil, fmt.Errorf("%q is neither a host pattern nor an address", p)
			}
			r.hosts = append(r.hosts, all...)
		}
	}
	return r, nil
}

// likeAddress reports whether a pattern is meant for addresses. As a glob for names, 10.*
// would match 10.attacker.example, which can resolve to any address.
func likeAddress(pattern string) bool {
	return strings.Contains(pattern, "/") ||
		strings.ContainsAny(pattern, "0123456789") && !strings.ContainsFunc(pattern, unicode.IsLetter)
}

// parseNetwork reads 10.1.0.0/16, or 10.1.* for the same.
func parseNetwork(pattern string) (netip.Prefix, error) {
	numbers := strings.TrimRight(pattern, ".*")
	fixed := strings.Count(numbers, ".") + 1
	stars := strings.Count(pattern[len(numbers):], ".*")
	prefix := pattern
	if numbers+strings.Repeat(".*", stars) == pattern && stars > 0 && fixed+stars <= 4 {
		prefix = fmt.Sprintf("%s%s/%d", numbers, strings.Repeat(".0", 4-fixed), 8*fixed)
	}
	network, err := netip.ParsePrefix(prefix)
	if err != nil {
		return network, fmt.Errorf("%q is no address and no network such as 10.1.0.0/16 or 10.1.*", pattern)
	}
	return network.Masked(), nil
}

// AllowsHost reports whether a host's name may resolve to an address that is not public. An
// address instead of a name never matches a pattern for names.
func (r *Rules) AllowsHost(host string) bool {
	if _, err := netip.ParseAddr(host); err == nil {
		return false
	}
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	return slices.ContainsFunc(r.hosts, func(pattern string) bool { return glob.Match(pattern, host, glob.Paths, nil) })
}

// Check returns an error if a resolved address, "IP:port", must not be connected to. named
// means that the host's name is allowed: then the address may be in a private network or on
// this machine, but not link-local, where a cloud gives out credentials, nor of any other
// special purpose.
func (r *Rules) Check(address string, named bool) error {
	at, err := netip.ParseAddrPort(address)
	if err != nil {
		return fmt.Errorf("%q is no address", address)
	}
	a := at.Addr().WithZone("").Unmap()
	local := a.IsPrivate() && a != cloudMetadata() || a.IsLoopback()
	if public(a) || named && local || slices.ContainsFunc(r.networks, func(n netip.Prefix) bool { return n.Contains(a) }) {
		return nil
	}
	return &PrivateAddressError{a}
}

// cloudMetadata is in a private network, but also gives out credentials.
func cloudMetadata() netip.Addr {
	return netip.AddrFrom16([16]byte{0xfd, 0x00, 0x0e, 0xc2, 14: 0x02, 15: 0x54})
}

// A PrivateAddressError reports an address that is not public and not allowed.
type PrivateAddressError struct{ Address netip.Addr }

func (e *PrivateAddressError) Error() string {
	return fmt.Sprintf("%s is a private or local address", e.Address)
}
