package invocation

import (
	"os"
	"path/filepath"

	"toolpipe/mcp/oauth"
	"toolpipe/mcp/process"
	"toolpipe/run/config"
	"toolpipe/run/failure"
	"toolpipe/stream/text/secrets"
)

// loginDir is the directory of the logins, in the user's state directory by the XDG Base Directory
// specification; "" if there is none.
func loginDir(c *config.Config) string {
	return c.UserPath("XDG_STATE_HOME", func(home string) string { return filepath.Join(home, ".local", "state") }, "logins")
}

// LoginFiles are the directory of the logins and the files in it. Each file is listed separately,
// because it may have another name elsewhere.
func LoginFiles(c *config.Config) (files []string) {
	dir := loginDir(c)
	if dir == "" {
		return nil
	}
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		files = append(files, filepath.Join(dir, e.Name()))
	}
	return append(files, dir)
}

// loginStore is the store of the logins. It adds every secret that it reads to set.
func loginStore(c *config.Config, s *Settings, set *secrets.Set, warn func(code, server, message string)) (*oauth.Store, error) {
	store := &oauth.Store{Dir: loginDir(c), Secret: set.Add, Warn: warn}
	if s.credentialHelper != "" {
		store.Helper = &oauth.Helper{Name: s.credentialHelper, Environ: c.Environ, Processes: c.Processes}
	}
	if given := c.Getenv(process.LoginsVariable); given != "" {
		set.Add(given)
		if err := store.Give(given); err != nil {
			return nil, failure.UsageError([]string{"it contains the content of a file of " + config.ShellQuote(loginDir(c)) + ", or an array of such contents"}, "%s: %v", process.LoginsVariable, err)
		}
	}
	return store, nil
}
