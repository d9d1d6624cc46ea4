package approve

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"syscall"
)

// AskURL makes an Approver.Ask that asks a web service: it POSTs the question and
// reads the answer from a response with status 200. It does not follow redirects.
func AskURL(address string) func(context.Context, []byte) ([]byte, string) {
	return func(ctx context.Context, question []byte) (answer []byte, problem string) {
		request, err := http.NewRequestWithContext(ctx, http.MethodPost, address, bytes.NewReader(question))
		if err != nil {
			return nil, "failed: " + requestProblem(err)
		}
		request.Header.Set("Content-Type", "application/json")
		request.Header.Set("Accept", "application/json")
		transport := &http.Transport{} // without the environment's proxies
		defer transport.CloseIdleConnections()
		client := http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
		response, err := client.Do(request)
		if err != nil {
			return nil, "failed: " + requestProblem(err)
		}
		defer response.Body.Close()
		if response.StatusCode != http.StatusOK {
			return nil, "failed: HTTP status " + strconv.Itoa(response.StatusCode)
		}
		answer, err = io.ReadAll(io.LimitReader(response.Body, maxApproverAnswer+1))
		if err != nil {
			return nil, "failed: " + requestProblem(err)
		}
		return answer, ""
	}
}

// requestProblem describes the error of a request to a person, without the
// names of library calls and without the URL, which may hold a secret.
func requestProblem(err error) string {
	if dns, ok := errors.AsType[*net.DNSError](err); ok {
		return fmt.Sprintf("the host %q: %s", dns.Name, dns.Err)
	}
	if op, ok := errors.AsType[*net.OpError](err); ok && op.Addr != nil {
		if number, ok := errors.AsType[syscall.Errno](op); ok {
			return "cannot reach " + op.Addr.String() + ": " + number.Error()
		}
	}
	if e, ok := errors.AsType[*url.Error](err); ok {
		return e.Err.Error()
	}
	return err.Error()
}
