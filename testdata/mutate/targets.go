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
		{endToEnd, "", "^(approv|arguments|auto_approve|check|config_approvals|config_policy|destinations|dry_run|effects|egress|elicit|explain|fault_policy|files_read_only|labels|misread|policy|resume)"},
	}},
	{"stream/text/jsontext/*.go", []step{
		{"./stream/text/jsontext", all, ""},
		{"./approve", "Static|Policy|Canonical|Vectors|Suite", ""},
		{endToEnd, "", "^(arguments|input|config|fault_arguments|policy)"},
	}},
	{"run/invocation/rules.go", runSteps},
	{"run/invocation/approver_flag.go", runSteps},
	{"run/toolbox/lock.go", runSteps},
	{"run/turn/calls.go", runSteps},
	{"run/turn/answers.go", runSteps},
	{"run/turn/verdicts.go", runSteps},
	{"run/toolbox/toolbox.go", runSteps},
	{"run/turn/loop.go", runSteps},
	{"stream/retry.go", []step{
		{"./stream", all, ""},
		{endToEnd, "^TestFaultModel", "^(retry|request_repairs|faults_model|tool_role|images)"},
	}},
	{"mcp/call.go", mcpSteps},
	{"mcp/input_requests.go", mcpSteps},
}

var runSteps = []step{
	{"./run/turn", all, ""},
	{"./run/toolbox", all, ""},
	{"./run/invocation", all, ""},
	{endToEnd, "^TestFault", all},
}

var mcpSteps = []step{
	{"./mcp", all, ""},
	{endToEnd, "^TestFaultStdio", "^(elicit|login|reader_sleeps|tools)"},
}
