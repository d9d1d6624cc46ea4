package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestMain(m *testing.M) {
	if filepath.Base(os.Args[0]) == "go" {
		if err := asGo(os.Args[1:]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// planted is a program whose unit test misses some changes; a test that builds and
// starts the program notices one more.
var planted = map[string]string{
	"go.mod": "module toolpipe\n\ngo 1.26\n",
	"main.go": `package main

import (
	"fmt"

	"toolpipe/run"
)

func main() { fmt.Println(run.Sum(1, 2), run.Double(2), run.Loud("x")) }
`,
	"run/run.go": `package run

func Sum(a, b int) int {
	if a == 7 {
		return 0
	}
	return a + b
}

func Double(n int) int {
	if n > 10 {
		n = 10
	}
	return 2 * n
}

func Loud(s string) string {
	if s != "" {
		panicIf(len(s) > 5)
		return s + "!"
	}
	return ""
}

func panicIf(wrong bool) {
	for wrong {
		panic("wrong")
	}
	return
}

func many() (int, error) { return func() (int, error) {
	return 1, nil
}() }

type kind int

const none kind = iota

func kindOf() kind { return none }

func never() int { panic("never") }

func pair() (func() int, string) { return func() int {
	return 2
}, "2" }
`,
	"run/run_test.go": `package run

import "testing"

func TestSum(t *testing.T) {
	if Sum(1, 2) != 3 {
		t.Error("sum")
	}
}

func TestDouble(t *testing.T) {
	if Double(3) != 6 || Double(11) != 20 {
		t.Error("double")
	}
}

func TestFails(t *testing.T) { t.Error("always") }
`,
	"run/endtoend/endtoend_test.go": `package endtoend

import (
	"os/exec"
	"path/filepath"
	"testing"
)

func TestProgram(t *testing.T) {
	path := filepath.Join(t.TempDir(), "program")
	build := exec.Command("go", "build", "-o", path, ".")
	build.Dir = "../.."
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatal(err, string(out))
	}
	if out, err := exec.Command(path).Output(); err != nil || string(out) != "3 4 x!\n" {
		t.Error(err, string(out))
	}
}
`,
}

// TestPlanted checks that changes which a test notices are killed, also by a test
// that starts the program, and that the others survive.
func TestPlanted(t *testing.T) {
	for _, name := range []string{"active.go", "path.go"} {
		text, err := os.ReadFile("active/" + name)
		if err != nil {
			t.Fatal(err)
		}
		planted["testdata/mutate/active/"+name] = string(text)
	}
	top := t.TempDir()
	t.Chdir(top)
	for name, text := range planted {
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	targets = []target{{"run/*.go", []step{{"./run", all, ""}, {endToEnd, all, ""}}}}
	chosen, files, err := choose(nil)
	if err != nil {
		t.Fatal(err)
	}
	// The output of the planted test that fails stays out of the output of this one, in
	// which it would count as a failure.
	var log bytes.Buffer
	b, err := newBench(t.Context(), &log, files)
	if err != nil {
		t.Fatal(err)
	}
	defer b.close()
	kept, err := openResults("results")
	if err != nil {
		t.Fatal(err)
	}
	defer kept.close()
	var got []string
	for _, m := range files[chosen[0].file] {
		kept.of(m)
		o, by, err := b.try(m, chosen[0].steps)
		if err != nil {
			t.Fatal(err)
		}
		kept.add(m, o, by)
		got = append(got, strings.TrimSpace(fmt.Sprintf("%s %s: %s %s", m.function, m.what, o, by)))
	}
	want := strings.Split(strings.TrimSpace(strings.ReplaceAll(`
Sum 'a == 7' is true: killed TestSum
Sum 'a == 7' is false: unreached
Sum the zero value for 'a + b': killed TestSum
Double 'n > 10' is true: killed TestDouble
Double 'n > 10' is false: killed TestDouble
Double 'n > 10' with >=: unreached
Double without 'n = 10': killed TestDouble
Double the zero value for '2 * n': killed TestDouble
Loud 's != ""' is true: unreached
Loud 's != ""' is false: killed TestProgram
Loud without 'panicIf(len(s) > 5)': survived
Loud 'len(s) > 5' with >=: unreached
Loud the zero value for 's + "!"': killed TestProgram
panicIf without 'return': survived
panicIf 'wrong' is false: unreached
panicIf without 'panic("wrong")': unreached
many zero values for 'func() (int, error) { return 1, nil }()': unreached
many the zero value for '1': unreached
never without 'panic("never")': unbuilt
pair the zero value for 'func() int { return 2 }': unreached
pair the zero value for '"2"': unbuilt
pair the zero value for '2': unreached`, "'", "`")), "\n")
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if !strings.Contains(log.String(), "./run TestFails fails without a change, and is left out:\n--- FAIL: TestFails") {
		t.Errorf("the log does not name the test that fails without a change: %q", log.String())
	}
	if text, err := os.ReadFile("run/run.go"); err != nil || string(text) != planted["run/run.go"] {
		t.Error("the tree was changed")
	}

	// The results are taken up again, but for changes that no test noticed.
	again, err := openResults("results")
	if err != nil {
		t.Fatal(err)
	}
	defer again.close()
	for i, m := range files[chosen[0].file] {
		o, _, done := again.of(m)
		if noticed := strings.Contains(got[i], ": killed"); done != noticed || !strings.Contains(got[i], ": "+string(o)) {
			t.Errorf("%s: %s %t", got[i], o, done)
		}
	}
}
