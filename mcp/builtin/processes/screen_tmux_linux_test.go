//go:build !portable

package processes

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
	"unicode/utf8"

	"toolpipe/mcp/builtin/shell"
	"toolpipe/stream/text/screen"
	"toolpipe/testdata/load"
	"toolpipe/testdata/servertest"
)

// keyed is a program that fills a screen, with keys that do no harm and do not end it.
type keyed struct {
	needs string
	start []any // of the tool start
	keys  []string
}

const (
	up, down, right, left = "\x1bOA", "\x1bOB", "\x1bOC", "\x1bOD"
	pageUp, pageDown      = "\x1b[5~", "\x1b[6~"
	ctrlA, ctrlE          = "\x01", "\x05"
)

// screenPrograms are the programs that the screen is compared with tmux for.
var screenPrograms = map[string]keyed{
	"vi": {"vi", []any{"argv", []string{"vi", "-u", "NONE", "-i", "NONE", "-n", "-N", "text.txt"}}, []string{
		"j", "k", "l", "h", "w", "b", "x", "dd", "p", "u", "o日本語\x1b", "ihello, world \x1b", "A!\x1b", "\x06", "\x02", "\x04", "\x15", "gg", "G", "/fox\r", "n", "J", "~", "\x1b", "\x0c", "zz", "zt", "10j", "3dd",
		":set number\r", ":set nonumber\r", ":set nowrap\r", ":set wrap\r", ":split\r", ":only\r", ":vsplit\r", "\x17w", "V", "Rover\x1b", "O\ttab\x1b", ":set list\r", ":set nolist\r", up, down, pageDown, pageUp, "$", "0", "i\r\x1b", ":help\r", ":nonsense\r",
	}},
	"less": {"less", []any{"argv", []string{"less", "text.txt"}, "env", map[string]string{"LESSHISTFILE": "-"}}, []string{
		" ", "b", "j", "k", "g", "G", "d", "u", "y", "e", "/fox\r", "?wide\r", "n", "N", "50%", "10g", "&wide\r", "&\r", "-S\r", "-N\r", "-i\r", right, left, up, down, pageUp, pageDown, "\x0c", "R", "=", "ma", "'a", "F\x03",
	}},
	"top":  {"top", []any{"argv", []string{"top", "-d", "1"}}, []string{"c", "1", "t", "m", "M", "P", "N", "T", "i", "V", "z", "x", "y", "b", "h\x1b", "?\x1b", ">", "<", "e", "E", "l", "j", "J", "R", "S", "H", " ", up, down, left, right, "A", "a", "w\x1b", "G\r", "=", "0", "\x0c", "f\x1b", "f" + down + " \x1b"}},
	"htop": {"htop", []any{"argv", []string{"htop", "-d", "10"}, "env", map[string]string{"HTOPRC": "htoprc"}}, []string{up, down, left, right, pageUp, pageDown, "\x1bOH", "\x1bOF", "t", "H", "K", "p", "M", "P", "T", "I", "\x1b[15~", "\x1bORsh\x1b", "\x1bOSto\x1b", "\x1b[17~" + down + "\x1b", "\x1bOP ", "\x1bOQ" + down + down + "\x1b", "\x0c", "+", "-", "*"}},
	"nano": {"nano", []any{"argv", []string{"nano", "-I", "text.txt"}}, []string{
		"hello ", "日本", "é", up, down, left, right, pageUp, pageDown, "\x1b[3~", "\x7f", "\r", "\t", "\x0b", "\x15", ctrlA, ctrlE, "\x16", "\x19", "\x17fox\r", "\x17\x03", "\x03", "\x1bu", "\x1be", "\x1b6", "\x0c", "\x1b#", "\x1b$", "\x1b\\", "\x1b/", "\x1ba", "\x0a", "\x1bx", "\x1bn", strings.Repeat("long ", 20),
	}},
	"dialog": {"dialog", []any{"script", `while :; do
dialog --title Title --checklist 'Which ones?' 15 40 6 1 one on 2 two off 3 three off 4 日本 on 5 five off 6 six off 7 seven off
dialog --inputbox 'What is it?' 8 50 'a text'
dialog --menu 'Menu' 12 40 4 a first b second c third d fourth e fifth
dialog --yesno 'Really? This is a longer text that has to be wrapped.' 7 30
dialog --textbox text.txt 20 60
dialog --form 'A form' 12 50 3 First: 1 1 x 1 10 20 30 Second: 2 1 '' 2 10 20 30
done`}, []string{up, down, left, right, "\t", "\x1b[Z", " ", "\r", "\x1b\x1b", "a", "d", "hello", "\x7f", "\x1bOH", "\x1bOF", pageUp, pageDown, "日", "3", "\x0c"}},
	"python3": {"python3", []any{"argv", []string{"python3", "-q"}, "env", map[string]string{"PYTHON_HISTORY": "/dev/null"}}, []string{
		"print('hello')\r", "1+", "2\r", up, down, left, right, ctrlA, ctrlE, "\x7f", "\x0b", "\x15", "\x19", "\x0c", "print('日本'*30)\r", strings.Repeat("long_name + ", 9), "\x03", "for i in range(40):\r", "  print(i)\r", "\r", "\t", "\x12pri", "\x07", "\x1bb", "\x1bf", "\x1bd", "'", "(", ")", "import os; os.get\t\t", "x = 'e\u0301'\r",
	}},
	"fzf": {"fzf", []any{"script", `while :; do { seq 1000; cat text.txt; } | fzf -m --border --preview 'echo {}' >/dev/null; done`}, []string{
		"1", "2", "fox", "日", "\x7f", "\x15", "\x17", up, down, "\x0b", "\n", "\t", "\x1b[Z", pageUp, pageDown, ctrlA, ctrlE, left, right, "\r", " ", "'", "^", "!", "\x1b[A", "\x1b[B",
	}},
}

// TestScreenIsThatOfTmux has programs react to random keys on their terminal, and tmux show the
// bytes that they wrote: both show the same, and have the cursor in the same place, after each
// key. TOOLPIPE_SCREEN_KEYS is the number of keys for each program.
func TestScreenIsThatOfTmux(t *testing.T) {
	if testing.Short() {
		t.Skip("compares with tmux for seconds")
	}
	keys, _ := strconv.Atoi(os.Getenv("TOOLPIPE_SCREEN_KEYS"))
	if keys == 0 {
		keys = load.Of(t, 60, 15)
	}
	for name, program := range screenPrograms {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, needed := range []string{"tmux", program.needs} {
				if _, err := exec.LookPath(needed); err != nil {
					t.Skipf("needs %s", needed)
				}
			}
			compareScreens(t, program, keys)
		})
	}
}

func compareScreens(t *testing.T, program keyed, keys int) {
	dir := t.TempDir()
	text := "The quick brown fox.\n\tA tab, and wide: 日本語 ｆｕｌｌ 한국어 e\u0301 😀.\n" + strings.Repeat("A long line that has to be wrapped or cut. ", 5) + "\n"
	if err := os.WriteFile(filepath.Join(dir, "text.txt"), []byte(strings.Repeat(text, 40)), 0o600); err != nil {
		t.Fatal(err)
	}
	session, s := processServerOf(t, shell.CommandSpec{Dir: dir, Env: map[string]string{"LC_ALL": "C.UTF-8", "HOME": dir}})
	start := append(program.start, "pty", true, "name", "x")
	servertest.Works(t, session, "start", start...)
	p, err := s.find("x")
	if err != nil {
		t.Fatal(err)
	}
	pane := newPane(t)
	random := rand.New(rand.NewPCG(uint64(keys), 37))
	var seen int64 // bytes that tmux has
	compared, pressed := 0, []string(nil)
	for range keys {
		settle(p)
		v, written := at(p, &seen)
		if p.hasEnded() {
			t.Fatalf("it has ended after the keys %q\n%s", pressed, screenText(v))
		}
		if pane.rest = append(pane.rest, written...); pane.feed(t) {
			compared++
			if got, want := drawn(v), pane.shows(t); got != want {
				t.Fatalf("after the keys %q the screen is\n%s\nand that of tmux\n%s\nlast bytes: %q", pressed, got, want, written)
			}
		}
		key := program.keys[random.IntN(len(program.keys))]
		pressed = append(pressed[max(0, len(pressed)-20):], key)
		servertest.Works(t, session, "input", "id", "x", "text", key)
	}
	t.Logf("%d of %d screens were compared, %d bytes", compared, keys, seen)
	if compared < keys/2 {
		t.Errorf("only %d of %d screens were compared", compared, keys)
	}
}

// settle waits until a program has reacted: its output pauses. A program that never pauses is
// looked at all the same.
func settle(p *program) {
	for began, size := time.Now(), int64(-1); time.Since(began) < time.Second; {
		time.Sleep(25 * time.Millisecond)
		if now := p.out.Size(); now != size {
			size = now
		} else if size > 0 {
			return
		}
	}
}

// at is a screen, and the bytes that have made it of the one that was seen before.
func at(p *program, seen *int64) (v screen.View, written []byte) {
	p.terminal.mu.Lock()
	defer p.terminal.mu.Unlock()
	for *seen < p.out.Size() {
		b, _ := p.out.From(*seen, keptTail)
		written = append(written, b...)
		*seen += int64(len(b))
	}
	return p.terminal.shown.View(), written
}

// A pane is one of a tmux that shows what is written to it.
type pane struct {
	socket string
	input  *os.File
	rest   []byte // that was not written yet
	marks  int
	all    string // that tmux answered last
}

func newPane(t *testing.T) *pane {
	dir, err := os.MkdirTemp("", "tmux") // a socket's path has to be short
	if err != nil {
		t.Fatal(err)
	}
	p := &pane{socket: filepath.Join(dir, "s")}
	input := filepath.Join(dir, "input")
	conf := filepath.Join(dir, "conf")
	if err := syscall.Mkfifo(input, 0o600); err != nil {
		t.Fatal(err)
	}
	os.WriteFile(conf, []byte("set -g status off\nset -g escape-time 0\n"), 0o600)
	cmd := exec.Command("tmux", "-u", "-f", conf, "-S", p.socket, "new-session", "-d", "-x", "80", "-y", "24", "stty raw -echo; exec cat '"+input+"'")
	cmd.Env = append(os.Environ(), "LC_ALL=C.UTF-8", "TERM=xterm-256color")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("tmux: %v %s", err, out)
	}
	t.Cleanup(func() {
		exec.Command("tmux", "-S", p.socket, "kill-server").Run()
		os.RemoveAll(dir)
	})
	if p.input, err = os.OpenFile(input, os.O_WRONLY, 0); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.input.Close() })
	return p
}

// feed has the pane show the rest, unless that ends inside of a character or an escape
// sequence, and waits until it is shown.
func (p *pane) feed(t *testing.T) bool {
	if _, open := plain(p.rest); open > 0 || !utf8.Valid(p.rest) {
		return false
	}
	p.marks++
	mark := fmt.Sprintf("mark-%d", p.marks)
	if _, err := p.input.Write(append(p.rest, "\x1b]2;"+mark+"\x1b\\"...)); err != nil {
		t.Fatal(err)
	}
	p.rest = nil
	for began := time.Now(); time.Since(began) < time.Minute; time.Sleep(2 * time.Millisecond) {
		cmd := exec.Command("tmux", "-u", "-S", p.socket, "display-message", "-p", "#{pane_title} #{cursor_x} #{cursor_y}", ";", "capture-pane", "-p")
		cmd.Env = append(os.Environ(), "LC_ALL=C.UTF-8")
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("tmux: %v", err)
		}
		if bytes.HasPrefix(out, []byte(mark+" ")) {
			p.all = string(out)
			return true
		}
	}
	t.Fatal("tmux has not shown all of it")
	return false
}

// shows is what the pane shows, in the form of drawn.
func (p *pane) shows(t *testing.T) string {
	head, text, _ := strings.Cut(p.all, "\n")
	var mark string
	var column, row int
	if _, err := fmt.Sscan(head, &mark, &column, &row); err != nil {
		t.Fatalf("%q: %v", head, err)
	}
	return form(strings.Split(text, "\n"), row+1, min(column, 79)+1)
}

func drawn(v screen.View) string { return form(v.Rows, v.Row, v.Column) }

// form is a screen as a text. tmux gives line drawing characters of the VT100 as the letters
// that they are in the output.
func form(rows []string, row, column int) string {
	letters := strings.NewReplacer("┘", "j", "┐", "k", "┌", "l", "└", "m", "┼", "n", "─", "q", "├", "t", "┤", "u", "┴", "v", "┬", "w", "│", "x", "▒", "a", "◆", "`", "·", "~", "≤", "y", "≥", "z", "⎺", "o", "⎽", "s")
	var b strings.Builder
	for _, r := range rows {
		b.WriteString(strings.TrimRight(letters.Replace(r), " ") + "\n")
	}
	return fmt.Sprintf("%s\ncursor: row %d, column %d", strings.TrimRight(b.String(), "\n"), row, column)
}
