package endtoend

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// attacks is a shell program, after variables that it needs. Each try writes its name into the file results if it succeeds.
// The first three are no attacks, and show that programs work.
const attacks = `try() { if sh -c "$2" >/dev/null 2>&1; then echo "$1" >>"$R/results"; fi; }
try own 'echo x >"$R/new"'
try read 'cat "$O/file"'
try null 'echo x >/dev/null'
try write 'echo x >"$O/new"'
try append 'echo x >>"$O/file"'
try remove 'rm "$O/gone" && ! test -e "$O/gone"'
try secret 'cat "$HOME/.ssh/id"'
try fifo 'echo x >"$O/fifo"'
try sysctl 'exec 3<>/proc/sys/kernel/core_pattern'
try sysrq 'exec 3>>/proc/sysrq-trigger'
try disk 'exec 3</dev/vda'
try device 'mknod "$R/null" c 1 3'
try setgid 'chmod g+s "$R/new"'
try setuid 'chmod u+s "$R/new"'
try signal 'kill -0 $P'
try priority 'renice -n 0 -p $P'
try environ 'cat /proc/$P/environ'
try terminal 'exec 3<$T'
try type 'exec 3>$T'
echo end >>"$R/results"
`

// TestSandboxRoutes plays attacks by each way in which a program gets into a sandbox: as a
// command, in the background and as a tool server; with and without bubblewrap; as root and as
// another user. An attack that fails without a sandbox too proves nothing and does not count.
func TestSandboxRoutes(t *testing.T) {
	if !hasLandlock() {
		t.Skip("there is no Landlock here")
	}
	for _, user := range testUsers() {
		free := playAttacks(t, user, "", nil)
		if !strings.HasPrefix(free, "own read null write append remove secret fifo ") || !strings.HasSuffix(free, " end") {
			t.Fatalf("without a sandbox, as user %d: %s", user, free)
		}
		for _, holder := range []string{"Landlock", "bubblewrap"} {
			for route, args := range sandboxRoutes {
				t.Run(strconv.Itoa(user)+"/"+holder+"/"+route, func(t *testing.T) {
					if got := playAttacks(t, user, holder, args); got != "own read null end" {
						t.Errorf("possible: %s", got)
					}
				})
			}
		}
	}
}

// testUsers are this user and, for root, one more.
func testUsers() []int {
	if os.Getuid() == 0 {
		return []int{0, 65534}
	}
	return []int{os.Getuid()}
}

// ownedBy gives a directory to a user, as whom processes can be started then.
func ownedBy(t *testing.T, dir string, user int) *syscall.SysProcAttr {
	t.Helper()
	if user == os.Getuid() {
		return &syscall.SysProcAttr{Setsid: true}
	}
	chown := func(path string, _ os.DirEntry, err error) error {
		return errors.Join(err, os.Lchown(path, user, user))
	}
	if err := errors.Join(os.Chmod(dir, 0o755), filepath.WalkDir(dir, chown)); err != nil {
		t.Fatal(err)
	}
	return &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(user), Gid: uint32(user)}, Setsid: true}
}

// sandboxRoutes are the arguments and the input of toolpipe. $ROOT is the writable directory.
var sandboxRoutes = map[string][]string{
	"command":    {"", "--shell", "--files", "$ROOT", "--sandbox", "on", "--call", "shell__run_command", `{"script":"sh attacks"}`},
	"background": {`{"name":"processes__start","arguments":{"script":"sh attacks; sleep 60"}}` + "\n" + `{"name":"shell__run_command","arguments":{"script":"until grep -qs end results; do sleep 0.05; done"}}`, "--shell", "--shell-background", "--files", "$ROOT", "--sandbox", "on", "--calls"},
	"server":     {"", "-t", "s=sh -c 'cd $ROOT && sh attacks; exec $FAKEMCP'", "--mcp-sandbox", "s=write=$ROOT", "--list-tools"},
}

// playAttacks plays the attacks as a user, and returns the names of those that succeeded. Without a
// holder there is no sandbox.
func playAttacks(t *testing.T, user int, holder string, args []string) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "toolpipe-routes-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	at := func(name string) string { return filepath.Join(dir, name) }
	for name, content := range map[string]string{"root/kept": "x\n", "outside/file": "x\n", "outside/gone": "x\n", "home/.ssh/id": "key\n"} {
		if err := errors.Join(os.MkdirAll(filepath.Dir(at(name)), 0o755), os.WriteFile(at(name), []byte(content), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	master, terminal, err := openTerminal()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { master.Close() })
	if err := syscall.Mkfifo(at("outside/fifo"), 0o600); err != nil {
		t.Fatal(err)
	}
	reader, err := os.OpenFile(at("outside/fifo"), os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { reader.Close() })
	as := ownedBy(t, dir, user)
	if err := os.Chown(terminal, user, -1); err != nil {
		t.Fatal(err)
	}
	victim := exec.Command("sleep", "60")
	victim.SysProcAttr = as
	if err := victim.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { victim.Process.Kill(); victim.Wait() })
	variables := fmt.Sprintf("export R=%q O=%q T=%q P=%d\n", at("root"), at("outside"), terminal, victim.Process.Pid)
	if err := os.WriteFile(at("root/attacks"), []byte(variables+attacks), 0o644); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("sh", at("root/attacks"))
	if holder != "" {
		cmd = sandboxed(t, dir, holder, args)
	}
	cmd.Env = append([]string{"HOME=" + at("home"), "PATH=" + os.Getenv("PATH")}, cmd.Env...)
	cmd.Dir, cmd.SysProcAttr, cmd.WaitDelay = at("root"), as, 10*time.Second
	out, err := cmd.CombinedOutput()
	found, readErr := os.ReadFile(at("root/results"))
	if readErr != nil {
		t.Fatalf("%v: %.500s", err, out)
	}
	return strings.Join(strings.Fields(string(found)), " ")
}

// sandboxed is toolpipe with what holds its sandbox.
func sandboxed(t *testing.T, dir, holder string, args []string) *exec.Cmd {
	for name, build := range map[string]func() (string, error){"toolpipe": toolpipe, "fakemcp": fakeMCP} {
		built, err := build()
		if err == nil { // another user reads only the copy
			err = exec.Command("cp", built, filepath.Join(dir, name)).Run()
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	fill := strings.NewReplacer("$ROOT", filepath.Join(dir, "root"), "$FAKEMCP", filepath.Join(dir, "fakemcp"))
	words := []string{"--no-config", "-y"}
	for _, word := range args[1:] {
		words = append(words, fill.Replace(word))
	}
	cmd := exec.Command(filepath.Join(dir, "toolpipe"), words...)
	cmd.Stdin = strings.NewReader(args[0])
	if _, err := exec.LookPath("bwrap"); err != nil && holder == "bubblewrap" {
		t.Skip(err)
	} else if holder == "Landlock" { // a bwrap that another user can replace is not used
		bin := filepath.Join(dir, "home/bin")
		if err := errors.Join(os.Mkdir(bin, 0o755), os.WriteFile(filepath.Join(bin, "bwrap"), nil, 0o755)); err != nil {
			t.Fatal(err)
		}
		cmd.Env = []string{"PATH=" + bin + ":" + os.Getenv("PATH")}
	}
	return cmd
}
