package approve

import (
	"context"
	"flag"
	"os"
	"syscall"
	"testing"
)

// Tests start this test program again as another program. These environment
// variables select that program and hold its instructions. It ends by syscall.Exit, since
// os.Exit would look for a place for coverage data.
const (
	jobVariable      = "APPROVE_TEST_JOB"
	approverVariable = "APPROVE_TEST_APPROVER"
)

// The other programs; nil on a system for which there is none.
var (
	runAsker    func(job string)
	runApprover func(text string)
)

func TestMain(m *testing.M) {
	if text := os.Getenv(jobVariable); text != "" {
		runAsker(text)
		syscall.Exit(0)
	}
	if text := os.Getenv(approverVariable); text != "" {
		runApprover(text)
		syscall.Exit(0)
	}
	flag.Parse()
	// Tests at a terminal mostly wait for what is typed and drawn.
	if parallel := flag.Lookup("test.parallel"); parallel.Value.String() == parallel.DefValue {
		flag.Set("test.parallel", "8")
	}
	os.Exit(m.Run())
}

// decided is Decide with all questions asked.
func (g *Gate) decided(ctx context.Context, c Call) (Verdict, error) {
	v, q, err := g.Decide(ctx, c)
	return g.asked(ctx, c, v, q, err)
}

// rechecked is Recheck with all questions asked.
func (g *Gate) rechecked(ctx context.Context, c Call, before Verdict) (Verdict, error) {
	v, q, err := g.Recheck(ctx, c, before)
	return g.asked(ctx, c, v, q, err)
}

func (g *Gate) asked(ctx context.Context, c Call, v Verdict, q *Question, err error) (Verdict, error) {
	for q != nil && err == nil {
		if err = q.Ask(ctx); err == nil {
			v, q, err = g.Answer(ctx, c, q)
		}
	}
	return v, err
}
