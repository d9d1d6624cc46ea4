package confine

import "testing"

// TestForget: a file is forgotten when nothing shows it any more, and only then.
func TestForget(t *testing.T) {
	t.Parallel()
	for line, want := range map[[2]string]int{
		{"c1", "[toolpipe] left out: 9 bytes of this result"}:                  3,
		{"c2", "[toolpipe] left out: 9 bytes of this result"}:                  3,
		{"", "a.txt:\n\n[toolpipe] left out: 9 bytes of this attachment"}:      2,
		{"", "[toolpipe] left out: 9 bytes of this attachment"}:                3,
		{"other", "a.txt:\n\n[toolpipe] left out: 9 bytes of this attachment"}: 3,
		{"", "other.txt:\n\n[toolpipe] left out: 9 bytes of this attachment"}:  3,
	} {
		k := &Known{files: map[string]*knownFile{
			"/written":  {shownBy: []string{""}},
			"/read":     {shownBy: []string{"c1", "c2"}},
			"/attached": {shownBy: []string{attachedBy("a.txt")}},
		}}
		if k.Forget(line[0], line[1]); len(k.files) != want {
			t.Errorf("%q: %d files are known, want %d", line, len(k.files), want)
		}
		if k.Forget("c1", ""); k.files["/written"] == nil {
			t.Errorf("%q: what the model wrote was forgotten", line)
		}
	}
	k := &Known{files: map[string]*knownFile{"/read": {shownBy: []string{"c1", "c2"}}}}
	k.Forget("c1", "")
	if k.Forget("c2", ""); len(k.files) != 0 {
		t.Error("a file that nothing shows any more is known")
	}
}
