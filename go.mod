module toolpipe

go 1.26.8

require (
	github.com/mattn/go-isatty v0.0.24
	github.com/spf13/pflag v1.1.0
	github.com/tidwall/gjson v1.20.1
)

require (
	github.com/tidwall/match v1.2.0 // indirect
	github.com/tidwall/pretty v1.2.2 // indirect
	golang.org/x/sys v0.49.0 // indirect
)
