package modes

import (
	"slices"
	"strings"
	"testing"

	"toolpipe/run/config"
)

func TestBrowser(t *testing.T) {
	for _, tt := range []struct{ system, environ, want string }{
		{"linux", "", ""},
		{"linux", "DISPLAY=:0", "xdg-open"},
		{"linux", "WAYLAND_DISPLAY=w", "xdg-open"},
		{"freebsd", "DISPLAY=:0", "xdg-open"},
		{"darwin", "", "open"},
		{"linux", "WSL_DISTRO_NAME=Ubuntu", "/mnt/c/Windows/System32/rundll32.exe url.dll,FileProtocolHandler"},
		{"linux", "BROWSER=", ""},
		{"darwin", "BROWSER=", ""},
		{"linux", "BROWSER=curl DISPLAY=:0", "curl"},
		{"linux", "BROWSER=w3m CI=true", ""},
		{"darwin", "CI=1", ""},
		{"darwin", "CI=", "open"},
		{"darwin", "CI=false", "open"},
		{"darwin", "SSH_CONNECTION=a", ""},
		{"linux", "SSH_CONNECTION=a BROWSER=w3m", ""},
		{"linux", "SSH_CONNECTION=a DISPLAY=localhost:10.0", "xdg-open"},
	} {
		got := browser(tt.system, &config.Config{Environ: strings.Fields(tt.environ)})
		if want := strings.Fields(tt.want); !slices.Equal(got, want) {
			t.Errorf("%s, %s: %q, want %q", tt.system, tt.environ, got, want)
		}
	}
	if got := browser("linux", &config.Config{Environ: []string{"BROWSER=curl -s  -L"}}); !slices.Equal(got, []string{"curl", "-s", "-L"}) {
		t.Errorf("words of BROWSER: %q", got)
	}
}
