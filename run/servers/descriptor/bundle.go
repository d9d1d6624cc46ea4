package descriptor

import (
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"toolpipe/run/document"
)

// isBundle reports whether a document is the manifest.json of a bundle. inner is its server.
func isBundle(v, inner document.Value) bool {
	if inner.Doc == nil || inner.Kind() != '{' {
		return false
	}
	for _, key := range []string{"manifest_version", "dxt_version"} {
		if _, ok := v.Get(key); ok {
			return true
		}
	}
	_, configured := inner.Get("mcp_config")
	return configured
}

// bundle reads a manifest.json of version 0.1 to 0.4. The server starts in the directory of the bundle.
func (r *reader) bundle() error {
	inner, _ := r.at.Get("server")
	server, err := r.fields(inner, "type entryPoint mcpConfig")
	if err != nil {
		return err
	}
	entry := server.text("entryPoint")
	r.Command = literals(filepath.Join(r.Machine.Dir, entry))
	if r.Machine.Dir == "" {
		return r.at.Errorf("a bundle is read from its directory, and not from standard input")
	}
	r.Server.Dir = r.Machine.Dir
	r.note(Detail, "the bundle %s %s", text(r.at, "name"), text(r.at, "version"))
	if err := r.checkPlatform(); err != nil {
		return err
	}
	config, configured := server["mcpConfig"]
	if configured {
		return r.configured(config)
	}
	if server.text("type") != "uv" || entry == "" {
		return inner.Errorf("mcp_config is missing, which says how the server is started")
	}
	if _, asks := r.at.Get("user_config"); asks {
		r.note("unknown_key", "user_config is ignored: without mcp_config nothing says how its values reach the server")
	}
	r.Command = literals("uv", "run", "--directory", r.Server.Dir, entry)
	return nil
}

// checkPlatform refuses a bundle for other systems.
func (r *reader) checkPlatform() error {
	compatibility, ok := r.at.Get("compatibility")
	if !ok {
		return nil
	}
	list, ok := compatibility.Get("platforms")
	if !ok {
		return nil
	}
	platforms, err := list.Words()
	if err == nil && !slices.Contains(platforms, r.platform()) {
		err = list.Errorf("the bundle is for %s, and this system is %s", strings.Join(platforms, ", "), r.platform())
	}
	return err
}

// platform is this system as Node calls it.
func (r *reader) platform() string {
	if r.System == "windows" {
		return "win32"
	}
	return r.System
}

// configured reads mcp_config. What platform_overrides has for this system replaces command, args and env,
// each as a whole.
func (r *reader) configured(v document.Value) error {
	all, err := r.fields(v, "command args env platformOverrides")
	if err != nil {
		return err
	}
	if overrides, ok := all["platformOverrides"]; ok {
		if mine, ok := overrides.Get(r.platform()); ok {
			own, err := r.fields(mine, "command args env")
			if err != nil {
				return err
			}
			for key, value := range own {
				all[key] = value
			}
		}
	}
	command, ok := all["command"]
	if !ok {
		return v.Errorf("command is missing")
	}
	program, _, err := r.expanded(command)
	if err != nil {
		return err
	}
	if program.Shown == "" {
		return command.Errorf("command is empty")
	}
	if strings.Contains(program.Value, "/") && !filepath.IsAbs(program.Value) {
		program.Value = filepath.Join(r.Server.Dir, program.Value)
	}
	r.Command = []Text{program}
	if list, ok := all["args"]; ok {
		if err := r.words(list); err != nil {
			return err
		}
	}
	r.Env = map[string]string{}
	env, ok := all["env"]
	if !ok {
		return nil
	}
	if env.Kind() != '{' {
		return env.Errorf("%s is not an object of strings", env.Short())
	}
	for _, m := range env.Members() {
		if t, ok, err := r.expanded(m.Value); err != nil {
			return err
		} else if ok {
			r.Env[m.Key] = t.Value
		}
	}
	return nil
}

// words adds args to the command. A word that is a key of user_config and nothing else becomes as many as
// the key has values. Without a value it is left out, and the option before it too, of which it would be the value:
// else the next word would be that.
func (r *reader) words(list document.Value) error {
	if list.Kind() != '[' {
		return list.Errorf("%s is not a list of strings", list.Short())
	}
	option := false // the word before may be an option that the next is the value of
	for _, v := range list.Elements() {
		s, err := scalar(v)
		if err != nil {
			return err
		}
		if key, ok := soleKey(s); ok {
			given, err := r.config(v, key)
			if err != nil {
				return err
			}
			if last := len(r.Command) - 1; len(given) == 0 && option {
				r.note("argument_left_out", "%s is left out, since its value, the variable %s, is not set", strconv.Quote(r.Command[last].Shown), r.variableOf(key))
				r.Command = r.Command[:last]
			}
			r.Command, option = append(r.Command, given...), false
			continue
		}
		t, ok, err := r.expanded(v)
		if err != nil {
			return err
		}
		if ok {
			r.Command = append(r.Command, t)
		}
		option = ok && strings.HasPrefix(s, "-") && !strings.Contains(s, "=")
	}
	return nil
}

// soleKey is the key of user_config that a word is, and nothing else.
func soleKey(s string) (key string, ok bool) {
	key, ok = strings.CutPrefix(s, "${user_config.")
	key, closed := strings.CutSuffix(key, "}")
	return key, ok && closed && !strings.ContainsAny(key, "{}")
}

// expanded is a string with its variables expanded, once: no value is looked through. ok is false if a
// key of user_config has no value, so that the string is left out.
func (r *reader) expanded(v document.Value) (t Text, ok bool, err error) {
	s, err := scalar(v)
	if err != nil {
		return t, false, err
	}
	return r.expand(v, s, func(key string) (Text, bool, error) {
		given, err := r.config(v, key)
		switch {
		case err != nil || len(given) == 0:
			return Text{}, false, err
		case len(given) > 1: // the reference implementation leaves the variable unexpanded
			return Text{}, false, v.Errorf("%s has several values here, which only a word of its own in args can take", r.variableOf(key))
		}
		return given[0], true, nil
	})
}

// expand replaces ${NAME} in a text. There are no variables of the environment; what is unknown stays as
// it is, as with the reference implementation.
func (r *reader) expand(at document.Value, s string, config func(key string) (Text, bool, error)) (t Text, ok bool, err error) {
	var parts []Text
	for {
		size := strings.IndexByte(s, '}') + 1
		open := strings.LastIndex(s[:size], "${")
		if size == 0 {
			return joined(append(parts, literal(s))), true, nil
		}
		if open < 0 {
			parts, s = append(parts, literal(s[:size])), s[size:]
			continue
		}
		reference := s[open:size]
		value, known := r.place(reference[2 : len(reference)-1])
		key, isKey := soleKey(reference)
		switch {
		case isKey:
			if value, ok, err = config(key); err != nil || !ok {
				return Text{}, false, err
			}
		case known && value.Value == "":
			return t, false, at.Errorf("%s has no value: there is no home directory", reference)
		case !known:
			r.note("unknown_variable", "%s is no variable of a bundle, and stays as it is", strconv.Quote(reference))
			value = literal(reference)
		}
		parts = append(parts, literal(s[:open]), value)
		s = s[size:]
	}
}

// place is a variable that says where something is on this machine.
func (r *reader) place(name string) (t Text, known bool) {
	below := map[string]string{"HOME": "", "DESKTOP": "Desktop", "DOCUMENTS": "Documents", "DOWNLOADS": "Downloads"}
	switch dir, isBelow := below[name]; {
	case name == "__dirname":
		return literal(r.Server.Dir), true
	case name == "/" || name == "pathSeparator":
		return literal(string(filepath.Separator)), true
	case isBelow && r.Home == "":
		return t, true
	case isBelow:
		return literal(filepath.Join(r.Home, dir)), true
	}
	return t, false
}

// config is the values of a key of user_config: what the user gives, one on each line where there may be several, or
// the default.
func (r *reader) config(at document.Value, key string) (all []Text, err error) {
	var option fields
	if keys, ok := r.at.Get("user_config"); ok {
		if v, ok := keys.Get(key); ok {
			if option, err = r.fields(v, "type title description required default multiple sensitive min max"); err != nil {
				return nil, err
			}
			at = v
		}
	}
	var required, multiple, sensitive bool
	if err := option.fill(map[string]any{"required": &required, "multiple": &multiple, "sensitive": &sensitive}); err != nil {
		return nil, err
	}
	variable := r.variableOf(key)
	given, err := r.given(at, variable, sensitive, multiple)
	if err != nil {
		return nil, err
	}
	if len(given) == 0 {
		all, err = r.standard(option["default"])
		switch {
		case err != nil:
			return nil, err
		case len(all) > 0 && (!required || all[0].Value != ""):
			return all, nil
		case required:
			return r.lack(variable), nil
		}
		r.leaveOut("user_config."+key, variable)
		return nil, nil
	}
	for _, value := range given {
		if value, err = r.checked(at, variable, value, option.text("type")); err != nil {
			return nil, err
		}
		if err := inRange(option, variable, value); err != nil {
			return nil, err
		}
		all = append(all, Text{value, "${" + variable + "}"})
	}
	return all, nil
}

// standard is a default: a text, in which the places of this machine may stand, or a list of them.
func (r *reader) standard(v document.Value) (all []Text, err error) {
	if v.Doc == nil {
		return nil, nil
	}
	list := []document.Value{v}
	if v.Kind() == '[' {
		list = v.Elements()
	}
	for _, e := range list {
		s, err := scalar(e)
		if err != nil {
			return nil, err
		}
		t, _, err := r.expand(e, s, func(key string) (Text, bool, error) {
			return literal("${user_config." + key + "}"), true, nil
		})
		if err != nil {
			return nil, err
		}
		all = append(all, t)
	}
	return all, nil
}

// inRange refuses a number that is less than min or more than max.
func inRange(option fields, variable, value string) error {
	n, err := strconv.ParseFloat(value, 64)
	if err != nil || option.text("type") != "number" {
		return nil
	}
	for key, outside := range map[string]func(limit float64) bool{"min": func(l float64) bool { return n < l }, "max": func(l float64) bool { return n > l }} {
		if v, ok := option[key]; ok {
			if limit, err := strconv.ParseFloat(string(v.Raw()), 64); err == nil && outside(limit) {
				return v.Errorf("the variable %s holds a number that is not within it: %s is %s", variable, key, v.Short())
			}
		}
	}
	return nil
}
