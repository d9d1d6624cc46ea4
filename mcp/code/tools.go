package code

import (
	"context"

	"toolpipe/mcp/toolserver"
)

// A tool is a definition and the function that does a call, which gives the text of
// the answer.
type tool struct {
	*toolserver.Builtin
	run func(context.Context, *call, toolserver.Arguments) ([]byte, error)
}

func tools() []tool {
	file := toolserver.Parameter{Name: "path", Kind: "string", About: "source file, relative to the root", Required: true}
	below := toolserver.Parameter{Name: "path", Kind: "string", About: "file or directory to search; the root when absent"}
	return []tool{
		{toolserver.Define("outline", "List the definitions of a source file, each in the one around it, with kinds and lines.", toolserver.ReadsOnly, file,
			toolserver.Parameter{Name: "detail", Kind: "string", About: "outline: a line for each, when absent; skeleton: the source with comments and signatures, and ... for bodies"},
		), outlineFile},
		{toolserver.Define("definition", "Show a definition of a source file by its name.", toolserver.ReadsOnly, file,
			toolserver.Parameter{Name: "name", Kind: "string", About: "name, such as parse, Parser.parse or Parser::parse; name:LINE where there are several", Required: true},
			toolserver.Parameter{Name: "part", Kind: "string", About: "whole, when absent; signature; docstring; or summary: signature, comment and what is inside"},
		), showDefinition},
		{toolserver.Define("check_syntax", "Parse a source file with the parser of its language, without running it: Go, JSON, and with the programs that are installed Python, shell, JavaScript, Ruby. Answers \"no syntax error\", or a line LINE:COLUMN: MESSAGE for each error.", toolserver.ReadsOnly, file), showSyntax},
		{toolserver.Define("edit_definition", "Edit one definition of a source file. The comment and decorators directly above belong to it. Indentation is adapted to the place. An edit is refused when the file would no longer parse.", toolserver.Destroys, file,
			toolserver.Parameter{Name: "name", Kind: "string", About: "name of the definition, such as parse or Parser.parse; name:LINE where there are several", Required: true},
			toolserver.Parameter{Name: "operation", Kind: "string", About: "replace (the whole definition by content), signature (all before the body by content), remove, insert_before or insert_after (content beside the definition), move (to another place in the file), wrap_region (put content around it)", Required: true},
			toolserver.Parameter{Name: "content", Kind: "string", About: "new source, whole lines; for wrap_region the lines around, with a line " + placeholder + " where the definition goes, such as \"#ifdef DEBUG\\n" + placeholder + "\\n#endif\""},
			toolserver.Parameter{Name: "to", Kind: "string", About: "for move: \"before NAME\" or \"after NAME\", another definition of the file"},
			toolserver.Parameter{Name: "force", Kind: "boolean", About: "write it though the file no longer parses"},
		), editDefinition},
		{toolserver.Define("usages", "Find the lines in which a name stands as a whole word, outside comments and strings where the language is known, grouped by file and by the definition they are in.", toolserver.ReadsOnly,
			toolserver.Parameter{Name: "name", Kind: "string", About: "name to find; of Class.method, the last part is matched", Required: true}, below,
		), showUsages},
		{toolserver.Define("imports", "List what a source file imports, includes or requires, with lines, and the file below the root that it is, where there is one.", toolserver.ReadsOnly, file), showImports},
		{toolserver.Define("hierarchy", "Show the superclasses and subclasses of a class, trait or interface below a directory, by their names. Of Go, embedded types.", toolserver.ReadsOnly,
			toolserver.Parameter{Name: "name", Kind: "string", About: "name of the class; of Outer.Inner, the last part is matched", Required: true}, below,
		), showHierarchy},
		{toolserver.Define("call_path", "Show which definitions the body of a function or type names, and which those name, as a tree. By names: of several definitions of a name, the nearest counts.", toolserver.ReadsOnly,
			toolserver.Parameter{Name: "target", Kind: "string", About: "name to start from, such as parse or Parser.parse", Required: true},
			toolserver.Parameter{Name: "path", Kind: "string", About: "file or directory with the definitions; the root when absent"},
			toolserver.Parameter{Name: "max_depth", Kind: "integer", About: "levels to show, from 1 to 20; 3 when absent"},
		), showCallPath},
	}
}
