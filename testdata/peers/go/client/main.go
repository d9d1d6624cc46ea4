// Command client talks to an MCP server over stdio with the client of the Go SDK, and
// prints what it saw as one JSON object:
//
//	client REVISION COMMAND [ARGUMENT...]
//
// The server is toolpipe --serve before the SDK's conformance server, named go, and a
// server fs with a tool that never answers.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func main() {
	report, err := talk(context.Background(), os.Args[1], exec.Command(os.Args[2], os.Args[3:]...))
	if err != nil {
		fmt.Fprintln(os.Stderr, "client:", err)
		os.Exit(1)
	}
	json.NewEncoder(os.Stdout).Encode(report)
}

func talk(ctx context.Context, revision string, command *exec.Cmd) (map[string]any, error) {
	command.Stderr = os.Stderr
	var progress atomic.Int32
	client := mcp.NewClient(&mcp.Implementation{Name: "client", Version: "1"}, &mcp.ClientOptions{
		Capabilities:                &mcp.ClientCapabilities{},
		ProgressNotificationHandler: func(context.Context, *mcp.ProgressNotificationClientRequest) { progress.Add(1) },
	})
	s, err := client.Connect(ctx, &mcp.CommandTransport{Command: command}, &mcp.ClientSessionOptions{ProtocolVersion: revision})
	if err != nil {
		return nil, err
	}
	report := map[string]any{"protocol": s.InitializeResult().ProtocolVersion, "server": s.InitializeResult().ServerInfo.Name}
	var failed error
	keep := func(name string, value any, err error) {
		report[name] = value
		if err != nil && failed == nil {
			failed = fmt.Errorf("%s: %w", name, err)
		}
	}
	call := func(name string) *mcp.CallToolResult {
		params := &mcp.CallToolParams{Name: name, Arguments: map[string]any{}}
		params.SetProgressToken("token")
		r, err := s.CallTool(ctx, params)
		if err != nil {
			keep(name, "", err)
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{}}}
		}
		return r
	}
	tools := 0
	for _, err := range s.Tools(ctx, nil) {
		tools++
		keep("tools", tools, err)
	}
	// The calls behind it wait for this one: they are answered only if it is cancelled.
	short, cancel := context.WithTimeout(ctx, 500*time.Millisecond)
	_, err = s.CallTool(short, &mcp.CallToolParams{Name: "fs__hang", Arguments: map[string]any{}})
	report["cancelled"] = err != nil && short.Err() != nil
	cancel()
	report["text"] = call("go__test_simple_text").Content[0].(*mcp.TextContent).Text
	report["blocks"] = len(call("go__test_multiple_content_types").Content)
	report["isError"] = call("go__test_error_handling").IsError
	call("go__test_tool_with_progress")
	for end := time.Now().Add(2 * time.Second); progress.Load() < 3 && time.Now().Before(end); { // the SDK handles notifications beside results
		time.Sleep(10 * time.Millisecond)
	}
	report["progress"] = progress.Load()
	prompt, err := s.GetPrompt(ctx, &mcp.GetPromptParams{Name: "go__test_simple_prompt"})
	keep("prompt", prompt != nil && len(prompt.Messages) == 1, err)
	resource, err := s.ReadResource(ctx, &mcp.ReadResourceParams{URI: "test://static-text"})
	keep("resource", resource != nil && len(resource.Contents) == 1, err)
	templates, err := s.ListResourceTemplates(ctx, nil)
	keep("templates", templates != nil && len(templates.ResourceTemplates) > 0, err)
	report["denied"] = call("fs__write").IsError
	keep("closed", true, s.Close())
	return report, failed
}
