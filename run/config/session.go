package config

import "toolpipe/run/failure"

// GivesPrompt tells whether the command line alone gives something to answer.
func (c *Config) GivesPrompt() bool {
	return len(c.Args)+len(c.Files)+len(c.Resources) > 0 || c.Prompt != ""
}

// checkSession refuses what contradicts --session.
func (c *Config) checkSession() error {
	switch {
	case c.Mode != Answer && c.Mode != Check:
		return failure.Usage("--session: goes with a prompt; there is no conversation without a model")
	case c.Input == "messages":
		return failure.UsageError([]string{"-o messages beside --session prints the conversation, and -i messages goes on with a copy of it"},
			"--session and --input messages: the conversation is in the session file")
	case c.DryRun:
		return failure.UsageError([]string{"toolpipe --session FILE -o messages | toolpipe -i messages --dry-run, with no prompt, leaves the file as it is"},
			"--session and --dry-run: the session would keep results of calls that never ran")
	case c.CmdLines:
		return failure.Usage("--session and --cmd-lines: a command line has no id by which a later run could tell that it was run")
	}
	return nil
}
