package approve

import (
	"flag"
	"os"
	"testing"
)

// Tests run this test program again as another program; these variables say
// which one and hold what it is to do.
const (
	jobVariable      = "APPROVE_TEST_JOB"
	approverVariable = "APPROVE_TEST_APPROVER"
)

// Set where the system has what they need.
var (
	beAsker    func(job string)
	beApprover func(how string)
)

func TestMain(m *testing.M) {
	if text := os.Getenv(jobVariable); text != "" {
		beAsker(text)
		os.Exit(0)
	}
	if text := os.Getenv(approverVariable); text != "" {
		beApprover(text)
		os.Exit(0)
	}
	flag.Parse()
	// Tests at a terminal mostly wait for what is typed and drawn.
	if parallel := flag.Lookup("test.parallel"); parallel.Value.String() == parallel.DefValue {
		flag.Set("test.parallel", "8")
	}
	os.Exit(m.Run())
}
