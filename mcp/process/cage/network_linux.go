//go:build !portable

package cage

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strconv"
	"syscall"

	"toolpipe/stream/goroutine"
)

// A network is a new network without other hosts, for several children.
type network struct {
	files []*os.File // the network and, unless this program is root, the user namespace that owns it
}

// ownNetwork is the network of the cage's children.
func (w *wrapper) ownNetwork() (n *network, err error) {
	w.joining.Lock()
	defer w.joining.Unlock()
	if w.joined == nil {
		w.joined, err = w.newNetwork()
	}
	return w.joined, err
}

// newNetwork lets bwrap make a network and set up its loopback device. The open descriptors
// keep it. bwrap waits until it has been opened.
func (b *bubblewrap) newNetwork() (*network, error) {
	said, info, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer said.Close()
	waits, goOn, err := os.Pipe()
	if err != nil {
		info.Close()
		return nil, err
	}
	defer waits.Close()
	n, opened := &network{}, make(chan error, 1)
	goroutine.Start(func() {
		defer goOn.Close()
		opened <- n.open(said)
	})
	err = b.try([]*os.File{info, waits}, "--ro-bind", "/", "/", "--info-fd", "3", "--block-fd", "4")
	info.Close()
	if err = errors.Join(err, <-opened); err != nil {
		n.close()
		return nil, fmt.Errorf("a private network: %w", err)
	}
	return n, nil
}

// open opens the namespaces of the child that bwrap names in said, which is JSON.
func (n *network) open(said *os.File) error {
	var text []byte
	for {
		_, number, _ := bytes.Cut(text, []byte(`"child-pid":`))
		number = bytes.TrimLeft(number, " ")
		if end := bytes.IndexAny(number, ",}\n"); end > 0 {
			return n.openOf(string(number[:end]))
		}
		part := make([]byte, 512)
		count, err := said.Read(part)
		if err != nil {
			return fmt.Errorf("bwrap names no child: %w", err)
		}
		text = append(text, part[:count]...)
	}
}

func (n *network) openOf(pid string) error {
	net, err := os.Open("/proc/" + pid + "/ns/net")
	if err != nil {
		return err
	}
	n.files = append(n.files, net)
	if os.Getuid() == 0 {
		return nil
	}
	const getOwner = 0xb701 // NS_GET_USERNS, ioctl_nsfs(2)
	fd, _, errno := syscall.Syscall(syscall.SYS_IOCTL, net.Fd(), getOwner, 0)
	if errno != 0 {
		return fmt.Errorf("the owner of a network: %w", errno)
	}
	syscall.CloseOnExec(int(fd))
	n.files = append(n.files, os.NewFile(fd, "user"))
	return nil
}

// join is the beginning of a command line that executes its rest in the network. The files are
// the descriptors from networkFD on.
func (n *network) join(nsenter string) []string {
	argv := []string{nsenter, "--preserve-credentials", "--net=/proc/self/fd/" + strconv.Itoa(networkFD)}
	if len(n.files) > 1 {
		argv = append(argv, "--user=/proc/self/fd/"+strconv.Itoa(userFD))
	}
	return append(argv, "--")
}

func (n *network) close() {
	for _, f := range n.files {
		f.Close()
	}
}
