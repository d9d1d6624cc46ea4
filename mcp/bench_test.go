package mcp

import (
	"context"
	"encoding/json"
	"testing"

	"toolpipe/mcp/process"
)

// benchSession is a session with the plain double.
func benchSession(b *testing.B, spec Spec) *Session {
	b.Helper()
	spec.Name = "peer"
	s, err := Connect(context.Background(), spec, Hooks{}, &process.Processes{})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { s.Close() })
	return s
}

// BenchmarkCall is one call in a row over each transport.
func BenchmarkCall(b *testing.B) {
	args := json.RawMessage(`{"text":"hello"}`)
	run := func(name string, spec func(b *testing.B) Spec) {
		b.Run(name, func(b *testing.B) {
			s := benchSession(b, spec(b))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := s.Call(context.Background(), "t", args, nil); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	run("stdio", func(b *testing.B) Spec { return stdio() })
	run("http", func(b *testing.B) Spec { return Spec{URL: serveWeb(b, legacyWeb).URL} })
}

// BenchmarkParallelCalls has eight calls in flight on one pipe.
func BenchmarkParallelCalls(b *testing.B) {
	s := benchSession(b, stdio())
	b.SetParallelism(8)
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if _, err := s.Call(context.Background(), "t", json.RawMessage(`{}`), nil); err != nil {
				b.Error(err)
			}
		}
	})
}

// BenchmarkConnect is start, negotiation and end of a stdio server.
func BenchmarkConnect(b *testing.B) {
	for b.Loop() {
		s, err := Connect(context.Background(), Spec{Name: "peer", Command: stdio("-modern").Command}, Hooks{}, &process.Processes{})
		if err != nil {
			b.Fatal(err)
		}
		s.Close()
	}
}
