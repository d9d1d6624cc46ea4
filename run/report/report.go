// Package report is the mode --report: a filter that reads the logs, sessions and plans of runs and
// writes one document for people. It starts nothing and asks nobody. Package history reads the
// files; the packages markdown and page write the document.
package report

import (
	"bufio"
	"context"
	"os"
	"slices"

	"toolpipe/run/config"
	"toolpipe/run/failure"
	"toolpipe/run/invocation"
	"toolpipe/run/report/history"
	"toolpipe/run/report/markdown"
	"toolpipe/run/report/page"
	"toolpipe/stream/goroutine"
)

// kept is the default for --max-result-bytes: how many bytes of each text are shown.
const kept = 64 << 10

// Run reads the files named on the command line, or standard input without any or for "-", and
// writes the document. It writes nothing if one of them cannot be read.
func Run(ctx context.Context, v *invocation.Invocation) error {
	c, limit := v.Config, kept
	if c.MaxResultBytes > 0 {
		limit = int(c.MaxResultBytes)
	}
	reader := history.NewReader(limit)
	names := c.Args
	if len(names) == 0 {
		names = []string{"-"}
	}
	for _, name := range names {
		if err := read(ctx, v, reader, name); err != nil {
			return err
		}
	}
	r := reader.Report()
	for _, s := range r.Sources {
		for _, fault := range slices.Concat(s.Cut, s.Long) {
			v.Face.Say(s.Name + ": " + fault)
		}
	}
	write := markdown.Write
	if c.Target == "html" {
		write = page.Write
	}
	out := bufio.NewWriterSize(v.Streams.Out, 64<<10)
	err := write(out, r)
	if err == nil {
		err = out.Flush()
	}
	if err != nil {
		return failure.Output("standard output", err)
	}
	return nil
}

// read reads one file. If ctx ends, the read goes on in a goroutine.
func read(ctx context.Context, v *invocation.Invocation, to *history.Reader, name string) error {
	if name == "-" && v.Streams.InTerminal {
		v.SayWaiting()
	}
	_, err := goroutine.AwaitResult(ctx, func() (bool, error) {
		if name == "-" {
			return true, to.Read("standard input", v.Streams.In)
		}
		f, err := os.Open(name)
		if err != nil {
			return false, config.OpenError("--report", name, err)
		}
		defer f.Close()
		if err := config.PlainFile.Check(nil, f, "--report", name, nil); err != nil {
			return false, err
		}
		return true, to.Read(name, f)
	})
	return err
}
