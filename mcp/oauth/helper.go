package oauth

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"toolpipe/mcp/process"
	"toolpipe/mcp/wire"
	"toolpipe/stream/text/jsontext"
)

// Helper is a program that keeps secrets, such as docker-credential-osxkeychain,
// -secretservice, -pass and -wincred. It gets the word "get", "store", "erase" or "list" as
// its argument, and a URL or JSON on standard input.
type Helper struct {
	Name      string   // NAME of docker-credential-NAME, or the path of a program
	Environ   []string // our own environment
	Processes *process.Processes
}

// helperNames are the environment variables that a helper needs to find its keychain.
var helperNames = []string{"DBUS_SESSION_BUS_ADDRESS", "XDG_RUNTIME_DIR", "DISPLAY", "WAYLAND_DISPLAY", "GNUPGHOME", "GPG_TTY", "PASSWORD_STORE_DIR"}

const (
	helperTime = 10 * time.Second
	// helperPrefix plus a login's id is the login's name for a helper. Helpers parse names as
	// URLs: the one for the macOS keychain keeps host and path, refuses any scheme but https
	// and http, and lists only paths. So the host of a login is one that no registry has; its id
	// is in the path.
	helperPrefix = "https://toolpipe.invalid/login/"
	// notFound is the text that a helper prints if it has no such login. Helpers have no
	// other sign for it (docker/docker-credential-helpers, credentials/error.go).
	notFound = "credentials not found in native keychain"
)

var errNotJSON = errors.New("its output is not the JSON of a credential helper")

type helperEntry struct{ ServerURL, Username, Secret string }

// get gets the login with an id; nil if there is none.
func (h *Helper) get(ctx context.Context, id string) ([]byte, error) {
	out, err := h.run(ctx, "get", []byte(helperPrefix+id))
	if out == nil || err != nil {
		return nil, err
	}
	var e helperEntry
	if jsontext.CheckObject(out, jsontext.Peer, nil) != nil || json.Unmarshal(out, &e) != nil {
		return nil, h.failed("get", errNotJSON)
	}
	return []byte(e.Secret), nil
}

func (h *Helper) store(ctx context.Context, k Key, doc []byte) error {
	shown := strings.TrimPrefix(k.Account+" at "+k.Server, " at ")                   // shown next to the login in a keychain
	entry, _ := json.Marshal(helperEntry{helperPrefix + k.id(), shown, string(doc)}) // cannot fail
	_, err := h.run(ctx, "store", entry)
	return err
}

func (h *Helper) erase(ctx context.Context, k Key) error {
	_, err := h.run(ctx, "erase", []byte(helperPrefix+k.id()))
	return err
}

// list returns the ids of the logins among all secrets of the helper.
func (h *Helper) list(ctx context.Context) (ids []string, err error) {
	out, err := h.run(ctx, "list", nil)
	if err != nil {
		return nil, err
	}
	if jsontext.CheckObject(out, jsontext.Peer, nil) != nil {
		return nil, h.failed("list", errNotJSON)
	}
	for name := range jsontext.Members(bytes.TrimSpace(out)) {
		place := jsontext.Text(name)
		if at := strings.LastIndexByte(place, '/') + 1; strings.HasSuffix(place[:at], "/login/") && len(place)-at == len(Key{}.id()) {
			ids = append(ids, place[at:])
		}
	}
	slices.Sort(ids)
	return slices.Compact(ids), nil
}

func (h *Helper) failed(action string, why error) error {
	return fmt.Errorf("credential helper %q, %s: %w", h.program(), action, why)
}

func (h *Helper) program() string {
	if strings.ContainsRune(h.Name, filepath.Separator) {
		return h.Name
	}
	return "docker-credential-" + h.Name
}

// run runs the helper once, for at most helperTime. The result is nil if the helper has no
// such login. The output is quoted only after a failure; otherwise it is a login.
func (h *Helper) run(ctx context.Context, action string, input []byte) ([]byte, error) {
	env := process.ChildEnv(h.Environ, nil, helperNames)
	path, err := process.LookPath(h.program(), env)
	if err != nil {
		return nil, fmt.Errorf("credential helper: %w", err)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, helperTime, fmt.Errorf("no answer within %v", helperTime))
	defer cancel()
	cmd := &exec.Cmd{Path: path, Args: []string{path, action}, Env: env, Dir: "/", Stdin: bytes.NewReader(input)}
	printed, errs, err := h.Processes.Capture(ctx, cmd, maxLogin+1)
	switch said := string(printed) + errs; {
	case ctx.Err() != nil:
		return nil, h.failed(action, context.Cause(ctx))
	case err != nil && action != "store" && strings.Contains(said, notFound):
		return nil, nil
	case err != nil:
		return nil, h.failed(action, fmt.Errorf("%w: %s", err, wire.Snippet([]byte(said))))
	case len(printed) > maxLogin:
		return nil, h.failed(action, errors.New("its output is longer than any login"))
	}
	return append([]byte{}, printed...), nil
}
