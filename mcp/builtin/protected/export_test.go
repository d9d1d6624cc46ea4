package protected

import "strings"

// exampleOf is a path that fits the text of a rule.
func exampleOf(text string) string {
	return strings.NewReplacer("*", "x", "?", " ").Replace(strings.TrimPrefix(text, "/"))
}

// Secrets are examples of each secret below a home directory.
func Secrets() (paths []string) {
	secrets.once.Do(secrets.fill)
	for _, r := range secrets.rules {
		if r.scope != inSystem && !r.toolsOnly {
			paths = append(paths, exampleOf(r.text))
		}
	}
	return paths
}
