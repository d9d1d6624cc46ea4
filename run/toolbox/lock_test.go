package toolbox

import (
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"toolpipe/run/config"
)

// TestLargestLock: a lock that is written can be read.
func TestLargestLock(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	for _, c := range []struct {
		room    int // for what the file has beside the description
		refused bool
	}{{300, false}, {0, true}} {
		body := `{"description":"` + strings.Repeat("x", config.MaxRuleFile-c.room) + `"}`
		_, err := WriteLock(t.Context(), path, []LockItem{{"tools", "fs__read", []byte(body)}}, nil)
		if refused := err != nil && strings.Contains(err.Error(), "is not written: it would be larger than the 16 MiB"); refused != c.refused {
			t.Errorf("%d: %v", c.room, err)
		}
		if _, _, err := readLock(&config.Config{}, path, func(string, string, string) {}); err != nil {
			t.Errorf("%d: %v", c.room, err)
		}
	}
}

// Runs that write the same lock at the same time all succeed.
func TestSameLockTogether(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	var writers sync.WaitGroup
	for range 60 {
		writers.Go(func() {
			if _, err := WriteLock(t.Context(), path, []LockItem{lockInstructions("fs", "Read first.")}, map[string]string{"fs": "2025-11-25"}); err != nil {
				t.Error(err)
			}
		})
	}
	writers.Wait()
	if items, revisions, err := readLock(&config.Config{}, path, func(string, string, string) {}); err != nil || len(items) != 1 || revisions["fs"] != "2025-11-25" {
		t.Errorf("%v %v %v", items, revisions, err)
	}
}
