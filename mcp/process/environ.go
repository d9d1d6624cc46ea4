package process

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// childName reports whether every child gets the variable of that name: enough to find
// programs, a home, a language, a proxy and the trusted certificates. Variables of
// loaders and interpreters are excluded, since they run code of whoever set them.
func childName(name string) bool {
	switch name {
	case "HOME", "LOGNAME", "PATH", "SHELL", "TERM", "USER", "LANG", "TMPDIR", "TZ",
		"LC_ALL", "LC_ADDRESS", "LC_COLLATE", "LC_CTYPE", "LC_IDENTIFICATION", "LC_MEASUREMENT", "LC_MESSAGES",
		"LC_MONETARY", "LC_NAME", "LC_NUMERIC", "LC_PAPER", "LC_TELEPHONE", "LC_TIME", // locale(7)
		"NO_PROXY", "no_proxy",
		"SSL_CERT_FILE", "SSL_CERT_DIR", "NODE_EXTRA_CA_CERTS", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE":
		return true
	}
	return slices.Contains(ProxyNames, name)
}

// ProxyNames are the variables with the URL of a proxy, including its user name and password.
var ProxyNames = []string{"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"}

// withoutUser removes the user name and password from a proxy's URL, which may lack the
// scheme. A password may contain an unescaped slash or @.
func withoutUser(proxy string) string {
	scheme := 0
	if i := strings.Index(proxy, "://"); i >= 0 && !strings.ContainsAny(proxy[:i], ":@") {
		scheme = i + len("://")
	}
	host := max(scheme, strings.LastIndexByte(proxy, '@')+1)
	return proxy[:scheme] + proxy[host:]
}

// LoginsVariable is the variable with logins at tool servers.
const LoginsVariable = "TOOLPIPE_LOGINS"

// OwnSecrets are the usual variables for a model's key, which no tool needs, and
// LoginsVariable. A child gets them only through set.
var OwnSecrets = []string{"TOOLPIPE_API_KEY", "OPENAI_API_KEY", "ANTHROPIC_API_KEY", LoginsVariable}

// ChildEnv is the environment of a child: the allow-listed variables of environ and those in
// inherit, except OwnSecrets, then set. PATH keeps only its absolute elements, and a proxy
// that is not in inherit loses its user name and password. A caller with another name for the
// model's key must not put that name into inherit.
func ChildEnv(environ []string, set map[string]string, inherit []string) []string {
	env := make([]string, 0, 16+len(set))
	for _, kv := range environ {
		name, value, ok := strings.Cut(kv, "=")
		if !ok || name == "" {
			continue
		}
		inherited := slices.Contains(inherit, name)
		if _, replaced := set[name]; replaced || slices.Contains(OwnSecrets, name) || !childName(name) && !inherited {
			continue
		}
		if slices.Contains(ProxyNames, name) && !inherited {
			kv = name + "=" + withoutUser(value)
		}
		if name == "PATH" {
			kv = "PATH=" + strings.Join(absolutePath(value), string(os.PathListSeparator))
		}
		env = append(env, kv)
	}
	for _, name := range slices.Sorted(maps.Keys(set)) {
		env = append(env, name+"="+set[name])
	}
	return env
}

// absolutePath splits PATH and drops its empty and relative elements, which would find
// programs in the working directory.
func absolutePath(path string) []string {
	return slices.DeleteFunc(filepath.SplitList(path), func(dir string) bool { return !filepath.IsAbs(dir) })
}

// LookPath finds a program in the last PATH of environ, as a shell would. But empty and
// relative elements are skipped, and a name with a slash must be absolute. The error names
// the program.
func LookPath(name string, environ []string) (string, error) {
	if name == "" {
		return "", errors.New("no program given")
	}
	if strings.ContainsRune(name, filepath.Separator) {
		if !filepath.IsAbs(name) {
			return "", fmt.Errorf("%q is relative: give the program's absolute path, or a name to be found in PATH", name)
		}
		return name, executable(name)
	}
	path := ""
	for _, kv := range environ {
		if v, ok := strings.CutPrefix(kv, "PATH="); ok {
			path = v
		}
	}
	failure := fmt.Errorf("%q: %w", name, exec.ErrNotFound)
	for _, dir := range absolutePath(path) {
		file := filepath.Join(dir, name)
		err := executable(file)
		if err == nil {
			return file, nil
		}
		if errors.Is(err, os.ErrPermission) {
			failure = err
		}
	}
	return "", failure
}

func executable(file string) error {
	info, err := os.Stat(file)
	switch {
	case err != nil:
		return err
	case info.IsDir():
		return fmt.Errorf("%q is a directory", file)
	case info.Mode()&0o111 == 0:
		return fmt.Errorf("%q is not executable: %w", file, os.ErrPermission)
	}
	return nil
}
