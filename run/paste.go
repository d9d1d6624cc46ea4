package run

import "context"

func (r *runner) paste() func(context.Context, error) (string, error) { return nil }
