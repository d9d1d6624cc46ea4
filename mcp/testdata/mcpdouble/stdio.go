//go:build unix

package mcpdouble

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/tidwall/gjson"
)

// Main is the program fakemcp.
func Main(args []string) int {
	s, err := New(args, nil)
	if err != nil {
		return 2
	}
	fmt.Fprint(os.Stderr, unescape(s.stderr))
	if s.exit >= 0 {
		return s.exit
	}
	go io.CopyN(os.Stderr, neverEnding('e'), int64(s.flood))
	if s.stubborn {
		signal.Ignore(syscall.SIGTERM, syscall.SIGHUP, syscall.SIGINT)
	}
	if s.grandchild {
		leaveBehind()
	}
	if s.junk {
		fmt.Print("\xEF\xBB\xBF\x1b[32mServer ready\x1b[0m\r\n\r\n\nlistening on stdio\n[log] {not json}\n{not json\n")
	}
	s.out = bufio.NewWriter(os.Stdout)
	s.faultAtStart()
	if s.nag {
		go s.ask(s.send)
	}
	s.in = bufio.NewReader(os.Stdin)
	for {
		message, err := s.readMessage()
		if err != nil {
			break
		}
		m := gjson.Parse(message)
		s.came++
		switch {
		case s.silent, s.wrong != nil && s.wrong(s, m.Get("id").Raw, m):
		case m.Get("method").String() == "tools/call":
			go s.Handle(m, s.send)
		default:
			s.Handle(m, s.send)
		}
	}
	s.Record("eof")
	if s.stubborn {
		time.Sleep(time.Hour)
	}
	return 0
}

// send writes a message to stdout.
func (s *Server) send(message string) {
	if s.framing == "content-length" {
		s.raw(fmt.Sprintf("content-length: %d\r\nContent-Type: application/json\r\n\r\n%s", len(message), message))
	} else {
		s.raw(message + "\n")
	}
}

func (s *Server) raw(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.out.WriteString(text)
	s.out.Flush()
}

func (s *Server) readMessage() (string, error) {
	if s.framing != "content-length" {
		return s.in.ReadString('\n')
	}
	length := 0
	for {
		line, err := s.in.ReadString('\n')
		if err != nil {
			return "", err
		}
		if line = strings.TrimSpace(line); line == "" {
			body := make([]byte, length)
			_, err := io.ReadFull(s.in, body)
			return string(body), err
		}
		if n, _ := fmt.Sscanf(strings.ToLower(line), "content-length: %d", &length); n == 0 {
			fmt.Fprintln(os.Stderr, "no frame: "+line)
			os.Exit(2)
		}
	}
}

// leaveBehind starts a process that survives its parent unless somebody ends it:
// a daemon in its own session, where the program can find such processes.
func leaveBehind() {
	cmd := exec.Command("sleep", "300")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: Native}
	cmd.Start()
}

// neverEnding reads as lines of one letter without end.
type neverEnding byte

func (b neverEnding) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = byte(b)
	}
	p[len(p)-1] = '\n'
	return len(p), nil
}

func unescape(s string) string {
	return strings.NewReplacer(`\n`, "\n", `\x1b`, "\x1b", `\a`, "\a").Replace(s)
}
