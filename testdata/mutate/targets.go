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
	{"stream/jsontext/*.go", []step{
		{"./stream/jsontext", all, ""},
		{"./approve", "Static|Policy|Canonical|Vectors|Suite", ""},
		{endToEnd, "", "^(arguments|input|config|fault_arguments|policy)"},
	}},
	{"run/gate.go", gateSteps},
	{"run/approver.go", gateSteps},
	{"run/lock.go", []step{
		{"./run", all, ""},
		{endToEnd, "", "^(tools_lock|describe|fault_trust|names|instructions)"},
	}},
	{"run/calls.go", callSteps},
	{"run/answers.go", callSteps},
	{"run/verdicts.go", callSteps},
	{"run/toolbox.go", callSteps},
	{"run/loop.go", []step{
		{"./run", all, ""},
		{endToEnd, "^TestFaultModel", "^(cut|cmd_lines|events|exit_status|finish|limits|output|resume|results|retry|schema|stopped|text_)"},
	}},
	{"stream/retry.go", []step{
		{"./stream", all, ""},
		{endToEnd, "^TestFaultModel", "^(retry|request_repairs|faults_model|tool_role|images)"},
	}},
	{"mcp/call.go", mcpSteps},
	{"mcp/input_requests.go", mcpSteps},
}

var gateSteps = []step{
	{"./run", all, ""},
	{endToEnd, "", "^(approv|arguments|auto_approve|config_approvals|config_policy|dry_run|explain|fault_policy|policy|resume|tools_trust|usage)"},
}

var callSteps = []step{
	{"./run", all, ""},
	{endToEnd, "^TestFaultStdio", "^(approvals|call|cmd_lines|dry_run|events|exit_status|files|images|names|parallel|reader_sleeps|results|resume|scarce|stopped|tools)"},
}

var mcpSteps = []step{
	{"./mcp", "Call|Elicit|Input|Output|Progress|Rounds|Session|Stdio|Timeout|Tool|HTTP", ""},
	{endToEnd, "^TestFaultStdio", "^(elicit|reader_sleeps|tools)"},
}
