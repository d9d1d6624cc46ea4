package lexis

// Spans of several languages.
var (
	slashes    = span{open: "//", flags: comment}
	slashStar  = span{open: "/*", close: "*/", flags: comment | lines}
	nestedStar = span{open: "/*", close: "*/", flags: comment | lines | nests}
	hash       = span{open: "#", flags: comment}
	dashes     = span{open: "--", flags: comment}
	double     = span{open: `"`, close: `"`, flags: escapes}
	single     = span{open: `'`, close: `'`, flags: escapes}
	threes     = span{open: `"""`, close: `"""`, flags: lines | escapes}
	threeRaw   = span{open: `"""`, close: `"""`, flags: lines}
	backtick   = span{open: "`", close: "`", flags: lines}
	template   = span{open: "`", close: "`", flags: lines | escapes, code: "${"}
	regexSlash = span{open: "/", close: "/", flags: escapes | regex, never: "<"} // </ closes an element in JSX

	cSpans = []span{
		slashes, slashStar,
		{open: `"…(`, close: `)…"`, fill: "w", flags: lines, prefix: "LuU8R", needs: "R"},
		{open: `"`, close: `"`, flags: escapes, prefix: "LuU8"},
		{open: `'`, close: `'`, flags: escapes | number, prefix: "LuU8"},
	}
	scriptSpans = []span{{open: "#!", flags: comment | lineStart}, slashes, slashStar, double, single, template, regexSlash}

	scriptRegexAfter = []string{"return", "typeof", "case", "in", "of", "delete",
		"void", "throw", "new", "instanceof", "do", "else", "yield", "await", "default"}
	rubyRegexAfter = []string{"if", "elsif", "unless", "while", "until", "when", "and", "or", "not", "return", "then", "do", "else", "in"}
)

const dollarBrace = "${"

var languages = []Language{
	{Name: "Go", files: "*.go", spans: []span{slashes, slashStar, double, single, backtick}},
	{Name: "C", files: "*.c *.h", spans: cSpans},
	{Name: "C++", files: "*.cc *.cpp *.cxx *.c++ *.hh *.hpp *.hxx *.h++ *.inl *.ipp *.tpp *.ino *.cu *.cuh", spans: cSpans},
	{Name: "Objective-C", files: "*.m *.mm", spans: cSpans},
	{Name: "Java", files: "*.java", spans: []span{slashes, slashStar, threes, double, single}},
	{Name: "JavaScript", files: "*.js *.mjs *.cjs *.jsx #!node #!nodejs #!deno #!bun", spans: scriptSpans, regexAfter: scriptRegexAfter},
	{Name: "TypeScript", files: "*.ts *.mts *.cts *.tsx", spans: scriptSpans, regexAfter: scriptRegexAfter},
	{Name: "Python", files: "*.py *.pyi *.pyw #!python #!pypy", spans: []span{
		hash,
		{open: `"""`, close: `"""`, flags: lines | escapes, code: "{", prefix: "rRfFtT", needs: "fFtT"},
		{open: `'''`, close: `'''`, flags: lines | escapes, code: "{", prefix: "rRfFtT", needs: "fFtT"},
		{open: `"`, close: `"`, flags: escapes, code: "{", prefix: "rRfFtT", needs: "fFtT"},
		{open: `'`, close: `'`, flags: escapes, code: "{", prefix: "rRfFtT", needs: "fFtT"},
		{open: `"""`, close: `"""`, flags: lines | escapes, prefix: "rRbBuU"},
		{open: `'''`, close: `'''`, flags: lines | escapes, prefix: "rRbBuU"},
		{open: `"`, close: `"`, flags: escapes, prefix: "rRbBuU"},
		{open: `'`, close: `'`, flags: escapes, prefix: "rRbBuU"},
	}},
	{Name: "Rust", files: "*.rs", spans: []span{
		slashes, nestedStar,
		{open: `…"`, close: `"…`, fill: "#", flags: lines, prefix: "bcr", needs: "r"},
		{open: `"`, close: `"`, flags: lines | escapes, prefix: "bc"},
		{open: `'`, close: `'`, flags: escapes | character, prefix: "b"},
	}},
	{Name: "Ruby", files: "*.rb *.rake *.gemspec *.ru rakefile gemfile guardfile vagrantfile #!ruby", spans: []span{
		{open: "=begin", close: "\n=end", flags: comment | lines | lineStart},
		{open: "__END__\n", flags: comment | lines | lineStart},
		hash,
		{open: `"`, close: `"`, flags: lines | escapes, code: "#{", never: "$"},
		{open: `'`, close: `'`, flags: lines | escapes, never: "$"},
		{open: "`", close: "`", flags: lines | escapes, code: "#{", never: "$"},
		{open: "/", close: "/", flags: escapes | regex | block, code: "#{"},
		{open: "%…(", close: ")", fill: "w", flags: lines | escapes | nests | operand, code: "#{"},
		{open: "%…[", close: "]", fill: "w", flags: lines | escapes | nests | operand, code: "#{"},
		{open: "%…{", close: "}", fill: "w", flags: lines | escapes | nests | operand, code: "#{"},
		{open: "%…<", close: ">", fill: "w", flags: lines | escapes | nests | operand, code: "#{"},
		{open: "%…|", close: "|", fill: "w", flags: lines | escapes | operand, code: "#{"},
		{open: "%…!", close: "!", fill: "w", flags: lines | escapes | operand, code: "#{"},
	}, hereDoc: hereDoc{open: "<<", marks: "-~"}, characters: true, regexAfter: rubyRegexAfter, regexSpaced: true},
	{Name: "Shell", files: "*.sh *.bash *.zsh *.ksh *.dash .bashrc .bash_profile .profile .zshrc .bash_aliases pkgbuild #!sh #!bash #!zsh #!ksh #!dash #!ash",
		escapes: true, spans: []span{
			{open: "#", flags: comment, after: ";&|()"},
			{open: `$'`, close: `'`, flags: lines | escapes},
			{open: `'`, close: `'`, flags: lines},
			{open: `"`, close: `"`, flags: lines | escapes | variables, code: "$("},
		}, hereDoc: hereDoc{open: "<<", marks: "-", spaces: true}},
	{Name: "PHP", files: "*.php *.phtml *.php5 *.inc #!php", outside: true, spans: []span{
		{open: "?>", close: "<?", flags: comment | lines},
		{open: "//", close: "?>", flags: comment | staying},
		{open: "#", close: "?>", flags: comment | staying, not: "["},
		slashStar,
		{open: `"`, close: `"`, flags: lines | escapes | variables},
		{open: `'`, close: `'`, flags: lines | escapes},
		{open: "`", close: "`", flags: lines | escapes | variables},
	}, hereDoc: hereDoc{open: "<<<", spaces: true, word: true}},
	{Name: "Kotlin", files: "*.kt *.kts", spans: []span{
		slashes, nestedStar,
		{open: `"""`, close: `"""`, flags: lines | variables, code: dollarBrace},
		{open: `"`, close: `"`, flags: escapes | variables, code: dollarBrace},
		single,
	}},
	{Name: "C#", files: "*.cs *.csx", spans: []span{
		slashes, slashStar,
		{open: `$"""`, close: `"""`, flags: lines, code: "{"}, threeRaw,
		{open: `$@"`, close: `"`, flags: lines | doubled, code: "{"}, {open: `@$"`, close: `"`, flags: lines | doubled, code: "{"},
		{open: `@"`, close: `"`, flags: lines | doubled}, {open: `$"`, close: `"`, flags: escapes, code: "{"},
		double, single,
	}},
	{Name: "Swift", files: "*.swift", spans: []span{
		slashes, nestedStar,
		{open: `#…"""`, close: `"""#…`, fill: "#", flags: lines}, {open: `#…"`, close: `"#…`, fill: "#"},
		{open: `"""`, close: `"""`, flags: lines | escapes, code: `\(`},
		{open: `"`, close: `"`, flags: escapes, code: `\(`},
	}},
	{Name: "Scala", files: "*.scala *.sc", spans: []span{
		slashes, nestedStar,
		{open: `"""`, close: `"""`, flags: lines, code: dollarBrace}, {open: `"`, close: `"`, flags: escapes, code: dollarBrace},
		{open: `'`, close: `'`, flags: escapes | character},
	}},
	{Name: "Dart", files: "*.dart", spans: []span{
		slashes, nestedStar,
		{open: `"""`, close: `"""`, flags: lines | escapes | variables, code: dollarBrace}, {open: `'''`, close: `'''`, flags: lines | escapes | variables, code: dollarBrace},
		{open: `"`, close: `"`, flags: escapes | variables, code: dollarBrace}, {open: `'`, close: `'`, flags: escapes | variables, code: dollarBrace},
	}},
	{Name: "Lua", files: "*.lua #!lua #!luajit", spans: []span{
		{open: "--[…[", close: "]…]", fill: "=", flags: comment | lines}, dashes,
		{open: "[…[", close: "]…]", fill: "=", flags: lines}, double, single,
	}},
	{Name: "SQL", files: "*.sql *.ddl *.psql", spans: []span{
		dashes, nestedStar,
		{open: "$…$", close: "$…$", fill: "w", flags: lines},
		{open: `'`, close: `'`, flags: lines | escapes, prefix: "eE", needs: "eE"}, {open: `'`, close: `'`, flags: lines | doubled, prefix: "nNxXbB"},
		{open: `"`, close: `"`, flags: lines | doubled}, backtick,
	}},
	{Name: "JSON", Data: true, files: "*.json *.jsonc *.json5 *.jsonl *.ndjson", spans: []span{slashes, slashStar, double}},
	{Name: "YAML", Data: true, files: "*.yaml *.yml", spans: []span{
		{open: "#", flags: comment, after: " "},
		{open: `"`, close: `"`, flags: escapes, after: "[{,:"}, {open: `'`, close: `'`, flags: doubled, after: "[{,:"},
	}},
	{Name: "TOML", Data: true, files: "*.toml cargo.lock poetry.lock", spans: []span{
		hash, threes, {open: `'''`, close: `'''`, flags: lines}, double, {open: `'`, close: `'`},
	}},
	{Name: "HTML", Data: true, files: "*.html *.htm *.xhtml *.xml *.svg *.vue *.svelte", spans: []span{{open: "<!--", close: "-->", flags: comment | lines}}},
	{Name: "CSS", Data: true, files: "*.css", spans: []span{slashStar, double, single}},
	{Name: "SCSS", Data: true, files: "*.scss *.less", spans: []span{slashes, slashStar, double, single}},
	{Name: "Protobuf", files: "*.proto", spans: []span{slashes, slashStar, double, single}},
	{Name: "Make", Data: true, files: "*.mk *.mak makefile gnumakefile", spans: []span{{open: "#", flags: comment, after: " "}}},
	{Name: "Dockerfile", Data: true, files: "*.dockerfile dockerfile containerfile", spans: []span{{open: "#", flags: comment | lineStart}}},
}
