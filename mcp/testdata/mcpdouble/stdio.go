//go:build unix

package mcpdouble

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
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
	text, _ := strconv.Unquote(`"` + s.stderr + `"`)
	fmt.Fprint(os.Stderr, text)
	if s.exit >= 0 {
		return s.exit
	}
	go floodStderr(s.flood)
	if s.stubborn {
		signal.Ignore(syscall.SIGTERM, syscall.SIGHUP, syscall.SIGINT)
	}
	if s.grandchild {
		leaveBehind()
	}
	if s.junk {
		fmt.Print("\xEF\xBB\xBF\x1b[32mServer ready\x1b[0m\r\n\r\n\nlistening on stdio\n[log] {not json}\n{not json\n")
	}
	s.faultAtStart()
	if s.nag {
		go s.ask(s.send)
	}
	s.in = bufio.NewReader(os.Stdin)
	for {
		text, err := s.readMessage()
		if err != nil {
			break
		}
		m := message{gjson.Parse(text), s.send}
		s.came++
		switch {
		case s.silent, s.wrong != nil && s.wrong(s, m):
		case m.method() == "tools/call":
			go s.Handle(m.Result, s.send)
		default:
			s.Handle(m.Result, s.send)
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
	piece := len(text)
	if s.fault == "dribble" { // every byte in a write of its own
		piece = 1
	}
	for ; text != ""; text = text[piece:] {
		os.Stdout.WriteString(text[:piece])
	}
}

func (s *Server) readMessage() (string, error) {
	if s.framing != "content-length" {
		return s.in.ReadString('\n')
	}
	length := 0
	if _, err := fmt.Fscanf(s.in, "Content-Length: %d\n\n", &length); err == io.EOF {
		return "", err
	} else if err != nil {
		fmt.Fprintln(os.Stderr, "no frame:", err)
		os.Exit(2)
	}
	body := make([]byte, length)
	_, err := io.ReadFull(s.in, body)
	return string(body), err
}

// leaveBehind starts a process that survives its parent unless somebody ends it:
// a daemon in its own session, where the program can find such processes.
func leaveBehind() {
	cmd := exec.Command("sleep", "300")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: Native}
	cmd.Start()
}

func floodStderr(size int) {
	const line = 32 << 10
	for range size / line {
		os.Stderr.WriteString(strings.Repeat("e", line-1) + "\n")
	}
}
