package imports

import (
	"slices"
	"strings"

	"toolpipe/mcp/builtin/code/lexis"
)

func pythonGrammar() *grammar {
	return &grammar{
		parse: parsePython, header: pythonHeader, rank: pythonRank, merge: mergePython, has: hasPython, apart: true, form: "import os or from a import b",
		keys: []func(*Statement) string{
			func(st *Statement) string { return pythonForm(st) + strings.ToLower(st.Module) }, // as isort does
			func(st *Statement) string { return strings.ToLower(st.Module) + " " + pythonForm(st) },
			func(st *Statement) string { return pythonForm(st) + st.Module },
			func(st *Statement) string { return st.Module },
		},
		write: func(_ *source, st *Statement, _ string) string {
			if st.form == plain {
				return "import " + written(st.Names, " as ")
			}
			if st.Star {
				return "from " + st.Module + " import *"
			}
			return "from " + st.Module + " import " + written(st.Names, " as ")
		},
	}
}

func pythonForm(st *Statement) string {
	if st.form == plain {
		return "0"
	}
	return "1"
}

// written are names as a statement lists them.
func written(names []Name, as string) string {
	var all []string
	for _, n := range names {
		if n.Alias != "" {
			n.Name += as + n.Alias
		}
		all = append(all, n.Name)
	}
	return strings.Join(all, ", ")
}

// parsePython reads the import statements of a text. A statement inside of a function, a
// class or a condition is not at the top.
func parsePython(s *source) (all []Statement) {
	for n := 0; n < s.lines(); n++ {
		line := s.line(s.mask, n)
		indent := len(line) - len(strings.TrimLeft(line, " \t"))
		word, _, _ := strings.Cut(strings.ReplaceAll(strings.TrimLeft(line, " \t\ufeff"), "\t", " "), " ")
		if s.states[n].Part != lexis.Code || s.depths[n] > 0 || word != "import" && word != "from" {
			continue
		}
		last := s.joined(n)
		from := s.starts[n] + indent
		if strings.HasPrefix(line[indent:], "\ufeff") {
			from += len("\ufeff")
		}
		code := string(s.mask[from:s.lineEnd(last)])
		semicolon := strings.IndexByte(code, ';')
		if semicolon >= 0 {
			code = code[:semicolon]
		}
		st := Statement{From: from, To: from + len(strings.TrimRight(code, " \t\r\n")), Top: indent == 0, shape: shape{alone: semicolon < 0}}
		if st.readPython(code[len(word):], from+len(word), word == "from") {
			all = append(all, st)
		}
		n = last
	}
	return all
}

// readPython reads a statement behind its first word.
func (st *Statement) readPython(code string, at int, isFrom bool) bool {
	if isFrom {
		module, list, found := strings.Cut(code, " import")
		if !found || strings.TrimSpace(module) == "" || list != "" && lexis.IsWord(list[0]) {
			return false
		}
		st.form, st.Module = ofNames, strings.Join(strings.Fields(module), "")
		at += len(module) + len(" import")
		code = list
	}
	if open := strings.IndexByte(code, '('); isFrom && open >= 0 {
		at, code = at+open+1, code[open+1:]
		shut := strings.IndexByte(code, ')')
		if shut < 0 {
			return false
		}
		code = code[:shut]
	}
	st.list = [2]int{at, at + len(code)}
	st.Names = listed(code, at, " as ")
	if isFrom && len(st.Names) == 1 && st.Names[0].Name == "*" {
		st.Star, st.Names = true, nil
		return true
	}
	for i := range st.Names {
		st.Names[i].Name = strings.Trim(st.Names[i].Name, `\`)
	}
	if !isFrom && len(st.Names) > 0 {
		st.Module = st.Names[0].Name
	}
	return len(st.Names) > 0
}

// listed are the names of a list with commas, where it stands at an offset.
func listed(code string, at int, as string) (names []Name) {
	for part := range strings.SplitSeq(code, ",") {
		text := strings.TrimLeft(part, " \t\r\n\\")
		n := Name{At: at + len(part) - len(text)}
		n.Name, n.Alias, _ = strings.Cut(strings.Join(strings.Fields(text), " "), as)
		n.Name = strings.TrimSpace(n.Name)
		if at += len(part) + 1; n.Name != "" {
			names = append(names, n)
		}
	}
	return names
}

func hasPython(there, new *Statement) bool {
	if there.form != new.form || there.form == ofNames && there.Module != new.Module {
		return false
	}
	if new.Star {
		return there.Star
	}
	return !there.Star && containsAll(there.Names, new.Names)
}

func containsAll(there, new []Name) bool {
	for _, n := range new {
		if !slices.ContainsFunc(there, func(o Name) bool { return o.Name == n.Name && o.Local() == n.Local() }) {
			return false
		}
	}
	return true
}

// longestLine is how long a line may become to which a name is added, as Black has it.
const longestLine = 88

// mergePython adds names to a statement of the same module.
func mergePython(s *source, into, new *Statement) ([]byte, bool) {
	if into.form != ofNames || new.form != ofNames || into.Module != new.Module || into.Star || new.Star || !into.alone {
		return nil, false
	}
	first, last := s.lineOf(into.From), s.lineOf(into.To-1)
	if first == last {
		if len(s.line(s.text, first))+len(", "+written(new.Names, " as ")) > longestLine {
			return nil, false
		}
	} else if !strings.Contains(string(s.mask[into.From:into.To]), "(") {
		return nil, false
	}
	return s.listedWith(into, new.Names, " as "), true
}

// listedWith is the text with more names in the list of a statement, in its order if it is
// sorted. A list that has each name in a line of its own gets lines.
func (s *source) listedWith(into *Statement, names []Name, as string) []byte {
	text, list := s.text, into.list
	known := slices.Clone(into.Names)
	less := func(a, b Name) int { return strings.Compare(strings.ToLower(a.Name), strings.ToLower(b.Name)) }
	for _, n := range names {
		shown := written([]Name{n}, as)
		at := len(known)
		if slices.IsSortedFunc(known, less) {
			at, _ = slices.BinarySearchFunc(known, n, less)
		}
		var add string
		var offset int
		lines := s.lineOf(into.list[0]) != s.lineOf(into.list[1]-1) && len(known) > 0 && strings.TrimSpace(string(text[lineStart(text, known[0].At):known[0].At])) == ""
		switch {
		case len(known) == 0:
			offset, add = list[0], " "+shown+" "
		case at < len(known) && lines:
			offset = known[at].At
			add = shown + "," + s.ending + indentAt(text, offset)
		case at < len(known):
			offset, add = known[at].At, shown+", "
		default:
			offset = list[0] + len(strings.TrimRight(string(s.codeOf(text, list)), " \t\r\n\\,"))
			add = ", " + shown
			if lines {
				add = "," + s.ending + indentAt(text, known[len(known)-1].At) + shown
			}
		}
		text = slices.Concat(text[:offset], []byte(add), text[offset:])
		list[1] += len(add)
		for i := range known {
			if known[i].At >= offset {
				known[i].At += len(add)
			}
		}
		n.At = offset + strings.Index(add, shown)
		known = slices.Insert(known, at, n)
	}
	return text
}

// codeOf is a part of a text without comments.
func (s *source) codeOf(text []byte, part [2]int) []byte {
	mask, _ := s.language.Scan(text)
	return mask[part[0]:part[1]]
}

func lineStart(text []byte, at int) int { return strings.LastIndexByte(string(text[:at]), '\n') + 1 }

// indentAt is the white space that the line begins with in which an offset is.
func indentAt(text []byte, at int) string {
	line := string(text[lineStart(text, at):at])
	return line[:len(line)-len(strings.TrimLeft(line, " \t"))]
}

func pythonRank(st *Statement) int {
	top, _, _ := strings.Cut(st.Module, ".")
	switch {
	case st.form == ofNames && st.Module == "__future__":
		return 0
	case strings.HasPrefix(st.Module, "."):
		return 3
	case slices.Contains(strings.Fields(pythonLibrary), top):
		return 1
	}
	return 2
}

// pythonLibrary are the packages of the standard library, sys.stdlib_module_names without
// those that begin with an underscore, and those of versions before.
const pythonLibrary = `abc aifc antigravity argparse array ast asynchat asyncio asyncore atexit audioop base64 bdb binascii
binhex bisect builtins bz2 cProfile calendar cgi cgitb chunk cmath cmd code codecs codeop collections colorsys compileall
compression concurrent configparser contextlib contextvars copy copyreg crypt csv ctypes curses dataclasses datetime dbm
decimal difflib dis distutils doctest email encodings ensurepip enum errno faulthandler fcntl filecmp fileinput fnmatch
formatter fractions ftplib functools gc genericpath getopt getpass gettext glob graphlib grp gzip hashlib heapq hmac html
http idlelib imaplib imghdr imp importlib inspect io ipaddress itertools json keyword lib2to3 linecache locale logging lzma
mailbox mailcap marshal math mimetypes mmap modulefinder msilib msvcrt multiprocessing netrc nis nntplib nt ntpath
nturl2path numbers opcode operator optparse os ossaudiodev parser pathlib pdb pickle pickletools pipes pkgutil platform
plistlib poplib posix posixpath pprint profile pstats pty pwd py_compile pyclbr pydoc pydoc_data pyexpat queue quopri random
re readline reprlib resource rlcompleter runpy sched secrets select selectors shelve shlex shutil signal site smtpd smtplib
sndhdr socket socketserver spwd sqlite3 sre_compile sre_constants sre_parse ssl stat statistics string stringprep struct
subprocess sunau symbol symtable sys sysconfig syslog tabnanny tarfile telnetlib tempfile termios test textwrap this
threading time timeit tkinter token tokenize tomllib trace traceback tracemalloc tty turtle turtledemo types typing
unicodedata unittest urllib uu uuid venv warnings wave weakref webbrowser winreg winsound wsgiref xdrlib xml xmlrpc
zipapp zipfile zipimport zlib zoneinfo`

// pythonHeader is the line behind comments and the docstring.
func pythonHeader(s *source) int {
	n := s.comments(0)
	if n >= s.lines() {
		return n
	}
	code := strings.TrimSpace(s.line(s.mask, n))
	code = strings.TrimLeft(code, "rRbBuU\ufeff")
	if strings.HasPrefix(code, `"`) || strings.HasPrefix(code, "'") {
		for n++; n < s.lines() && s.states[n].Part == lexis.String; n++ {
		}
		for n < s.lines() && s.isBlank(n) {
			n++
		}
	}
	return n
}
