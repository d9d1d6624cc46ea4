package main

import "time"

// A target names files, by a glob from the top, and the tests that must notice a
// mistake in them: the steps run until one fails.
type target struct {
	files string
	steps []step
}

// A step is the tests of a package that a pattern selects, and the time limit for
// all of them.
type step struct {
	pack, run string
	limit     time.Duration
}

const (
	all      = "." // every test of a package
	endToEnd = "./run/endtoend"
)

var targets = []target{
	{"approve/*.go", []step{
		{"./approve", "Static|Policy|Explain|Hint|Patterns|Check|Glob|Vectors|Suite|Canonical$|Under|Decimal", time.Minute}, // the fast ones
		{"./approve", all, 3 * time.Minute},
		{endToEnd, "^TestScripts$/^(approv|arguments|auto_approve|config_approvals|config_policy|dry_run|elicit|explain|fault_policy|files_read_only|policy|resume)", 4 * time.Minute},
	}},
	{"stream/jsontext/*.go", []step{
		{"./stream/jsontext", all, time.Minute},
		{"./approve", "Static|Policy|Canonical|Vectors|Suite", time.Minute},
		{endToEnd, "^TestScripts$/^(arguments|input|config|fault_arguments|policy)", 3 * time.Minute},
	}},
	{"run/gate.go", gateSteps},
	{"run/approver.go", gateSteps},
	{"run/lock.go", []step{
		{"./run", all, time.Minute},
		{endToEnd, "^TestScripts$/^(tools_lock|describe|fault_trust|names|instructions)", 3 * time.Minute},
	}},
	{"run/calls.go", callSteps},
	{"run/answers.go", callSteps},
	{"run/verdicts.go", callSteps},
	{"run/toolbox.go", callSteps},
	{"run/loop.go", []step{
		{"./run", all, time.Minute},
		{endToEnd, "^TestScripts$/^(cut|cmd_lines|events|exit_status|finish|limits|output|resume|results|retry|schema|stopped|text_)|^TestFaultModel", 4 * time.Minute},
	}},
	{"stream/retry.go", []step{
		{"./stream", all, 2 * time.Minute},
		{endToEnd, "^TestScripts$/^(retry|request_repairs|faults_model|tool_role|images)|^TestFaultModel", 4 * time.Minute},
	}},
	{"mcp/call.go", mcpSteps},
	{"mcp/input_requests.go", mcpSteps},
}

var gateSteps = []step{
	{"./run", all, time.Minute},
	{endToEnd, "^TestScripts$/^(approv|arguments|auto_approve|config_approvals|config_policy|dry_run|explain|fault_policy|policy|resume|tools_trust|usage)", 4 * time.Minute},
}

var callSteps = []step{
	{"./run", all, time.Minute},
	{endToEnd, "^TestScripts$/^(approvals|call|cmd_lines|dry_run|events|exit_status|files|images|names|parallel|reader_sleeps|results|resume|scarce|stopped|tools)|^TestFaultStdio", 4 * time.Minute},
}

var mcpSteps = []step{
	{"./mcp", "Call|Elicit|Input|Output|Progress|Rounds|Session|Stdio|Timeout|Tool|HTTP", 3 * time.Minute},
	{endToEnd, "^TestScripts$/^(elicit|reader_sleeps|tools)|^TestFaultStdio", 4 * time.Minute},
}
