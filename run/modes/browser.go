package modes

import (
	"errors"
	"os/exec"
	"runtime"
	"strings"

	"toolpipe/mcp/process"
	"toolpipe/run/config"
)

// startBrowser opens an address in the user's browser. started is false if there is no browser to
// start; the user then opens the address elsewhere. The address is a single argument, and no shell
// reads it. The browser keeps running after this process ends, since it is the user's window.
func startBrowser(cfg *config.Config, address string) (started bool, err error) {
	argv := browser(runtime.GOOS, cfg)
	if len(argv) == 0 {
		return false, nil
	}
	env := process.ChildEnv(cfg.Environ, nil, desktopNames)
	path, err := process.LookPath(argv[0], env)
	if errors.Is(err, exec.ErrNotFound) && cfg.Getenv("BROWSER") == "" {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	err = cfg.Processes.StartDetached(&exec.Cmd{Path: path, Args: append(argv, address), Env: env, Dir: "/"})
	return err == nil, err
}

// browser is the command that gets the address: BROWSER, or the opener of the system. There is none
// if BROWSER is empty, in CI, and on a machine without the user's screen.
func browser(system string, cfg *config.Config) []string {
	isSet := func(name string) bool { return cfg.Getenv(name) != "" }
	display := isSet("DISPLAY") || isSet("WAYLAND_DISPLAY")
	switch chosen, given := cfg.LookupEnv("BROWSER"); {
	case cfg.InCI(), isSet("SSH_CONNECTION") && !display:
		return nil
	case given:
		return strings.Fields(chosen)
	case system == "darwin":
		return []string{"open"}
	case isSet("WSL_DISTRO_NAME"):
		return []string{"/mnt/c/Windows/System32/rundll32.exe", "url.dll,FileProtocolHandler"}
	case display:
		return []string{"xdg-open"}
	}
	return nil
}

// desktopNames are the variables with which a browser finds the user's screen and a browser that is
// already running. Besides these it gets only the variables of every child, without tokens.
var desktopNames = []string{
	"DISPLAY", "WAYLAND_DISPLAY", "XAUTHORITY", "DBUS_SESSION_BUS_ADDRESS", "DESKTOP_SESSION", "KDE_FULL_SESSION", "KDE_SESSION_VERSION",
	"XDG_RUNTIME_DIR", "XDG_SESSION_TYPE", "XDG_CURRENT_DESKTOP", "XDG_CONFIG_HOME", "XDG_CONFIG_DIRS", "XDG_DATA_HOME", "XDG_DATA_DIRS",
	"BROWSER", "WSL_DISTRO_NAME", "WSL_INTEROP", "VSCODE_IPC_HOOK_CLI",
}
