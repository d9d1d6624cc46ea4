package main

// A target names files, by a glob from the top, and the tests that must notice a
// mistake in them: the steps are tried in order until a test fails.
type target struct {
	files string
	steps []step
}

// A step is tests of a package: the functions and the scripts that two regular
// expressions select; an empty one selects nothing.
type step struct {
	pack, functions, scripts string
}

const (
	all      = "." // every test of a package
	endToEnd = "./run/endtoend"
)

var targets = []target{
	{"approve/*.go", []step{
		{"./approve", all, ""},
		{endToEnd, "", "^(approv|arguments|auto_approve|config_approvals|config_policy|dry_run|elicit|explain|fault_policy|files_read_only|policy|resume)"},
	}},
	{"stream/text/jsontext/*.go", []step{
		{"./stream/text/jsontext", all, ""},
		{"./approve", "Static|Policy|Canonical|Vectors|Suite", ""},
		{endToEnd, "", "^(arguments|input|config|fault_arguments|policy)"},
	}},
	{"run/gate.go", runSteps},
	{"run/approver.go", runSteps},
	{"run/lock.go", runSteps},
	{"run/calls.go", runSteps},
	{"run/answers.go", runSteps},
	{"run/verdicts.go", runSteps},
	{"run/toolbox.go", runSteps},
	{"run/loop.go", runSteps},
	{"stream/retry.go", []step{
		{"./stream", all, ""},
		{endToEnd, "^TestFaultModel", "^(retry|request_repairs|faults_model|tool_role|images)"},
	}},
	{"mcp/call.go", mcpSteps},
	{"mcp/input_requests.go", mcpSteps},
}

var runSteps = []step{
	{"./run", all, ""},
	{endToEnd, "^TestFault", all},
}

var mcpSteps = []step{
	{"./mcp", all, ""},
	{endToEnd, "^TestFaultStdio", "^(elicit|login|reader_sleeps|tools)"},
}
