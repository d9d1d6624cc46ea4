package jsontext

import "strings"

// Glance returns the arguments of a call as a person reads them in a list: first the files, the
// addresses and the command that they name, as plain text, and then the beginning of an object with
// the other members. Tools have no common way to mark such arguments, so their usual names count.
func Glance(arguments []byte) (named, rest string) {
	const most = 1000 // bytes of each; a line shows fewer
	for literal, value := range Members(arguments) {
		text := ""
		switch Unquote(literal) {
		case "path", "paths", "file", "file_path", "url", "uri", "argv", "command", "cmd", "script":
			if text = FirstLine(value); Kind(value) == '[' {
				text = commandLine(value)
			}
		}
		if text != "" {
			named += " " + text
		} else if len(rest) < most {
			rest += "," + string(literal) + ":" + string(value[:min(len(value), most)])
		}
	}
	if rest != "" {
		rest = "{" + rest[1:] + "}"
	}
	return shortest(strings.TrimPrefix(named, " "), most), shortest(rest, most)
}

// commandLine joins words. A word that is not clear in a line is written as JSON.
func commandLine(words []byte) string {
	var line []string
	for _, word := range Strings(words) {
		if word == "" || strings.ContainsAny(word, " \t\r\n\"'\\") {
			word = string(Quoted(word))
		}
		line = append(line, word)
	}
	return strings.Join(line, " ")
}

// Exit returns the exit code in the structured result of a command, and the first line that the
// command wrote to its standard error. code is "" for any other result.
func Exit(structured []byte) (code, complaint string) {
	if _, ok := Integer(Member(structured, "exit_code")); !ok {
		return "", ""
	}
	return string(Member(structured, "exit_code")), FirstLine(Member(structured, "stderr"))
}

// FirstLine returns the first line of a string that is not empty, of at most 300 bytes, with "…" if
// more follows; "" for any other value.
func FirstLine(value []byte) string {
	line, _, more := strings.Cut(strings.TrimSpace(Text(value)), "\n")
	line = strings.TrimRight(line, "\r")
	short := shortest(line, 300)
	if more || short != line {
		short += "…"
	}
	return short
}

// shortest returns the first bytes of a text, in whole characters.
func shortest(text string, most int) string {
	if len(text) > most {
		text = strings.ToValidUTF8(text[:most], "")
	}
	return text
}
