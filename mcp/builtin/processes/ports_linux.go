//go:build !portable

package processes

import (
	"bufio"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"strings"
)

const (
	maxSocketTable = 64 << 20 // bytes of a list of sockets
	stateListen    = "0A"     // TCP_LISTEN of the kernel
)

// listening lists the TCP addresses that processes listen on, each with the pid of one of
// them.
func listening(pids []int) (addresses []string, err error) {
	owners := map[string]int{} // pid by inode of a socket
	for _, pid := range pids {
		dir := "/proc/" + strconv.Itoa(pid)
		links, openErr := os.ReadDir(dir + "/fd")
		if openErr != nil && !errors.Is(openErr, os.ErrNotExist) {
			err = openErr // another user's process
		}
		for _, link := range links {
			target, _ := os.Readlink(dir + "/fd/" + link.Name())
			if inode, ok := strings.CutPrefix(target, "socket:["); ok {
				owners[strings.TrimSuffix(inode, "]")] = pid
			}
		}
	}
	for _, pid := range pids { // each may be in its own network namespace
		dir := fmt.Sprintf("/proc/%d/net/", pid)
		addresses = slices.Concat(addresses, listeners(dir+"tcp", owners), listeners(dir+"tcp6", owners))
	}
	if slices.Sort(addresses); len(addresses) > 0 {
		return slices.Compact(addresses), nil
	}
	return nil, err
}

// listeners are the addresses in a list of sockets (proc_pid_net(5)) that have an owner. A
// missing list has none.
func listeners(list string, owners map[string]int) (addresses []string) {
	f, err := os.Open(list)
	if err != nil {
		return nil
	}
	defer f.Close()
	lines := bufio.NewScanner(io.LimitReader(f, maxSocketTable))
	for lines.Scan() {
		fields := strings.Fields(lines.Text()) // number, address, remote, state, …; the tenth is the inode
		if len(fields) < 10 || fields[3] != stateListen || owners[fields[9]] == 0 {
			continue
		}
		if address, ok := socketAddress(fields[1]); ok {
			addresses = append(addresses, fmt.Sprintf("%s (pid %d)", address, owners[fields[9]]))
		}
	}
	return addresses
}

// socketAddress reads 0100007F:1F90: words in the machine's byte order, and the port.
func socketAddress(text string) (netip.AddrPort, bool) {
	host, port, _ := strings.Cut(text, ":")
	b, err := hex.DecodeString(host)
	n, portErr := strconv.ParseUint(port, 16, 16)
	if err != nil || portErr != nil || len(b)%4 != 0 {
		return netip.AddrPort{}, false
	}
	for word := b; len(word) > 0; word = word[4:] {
		binary.NativeEndian.PutUint32(word, binary.BigEndian.Uint32(word))
	}
	address, ok := netip.AddrFromSlice(b)
	return netip.AddrPortFrom(address, uint16(n)), ok
}
