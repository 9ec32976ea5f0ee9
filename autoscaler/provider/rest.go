package provider

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"time"
)

const (
	restTimeout = 10 * time.Second
	mostBytes   = 256 << 20 // of an answer: thousands of Nodes
)

// rest talks to an HTTP server. It follows no redirect, so that a token reaches no other server.
type rest struct {
	server string
	client *http.Client
}

func newRest(server, caFile string) (*rest, error) {
	transport := &http.Transport{TLSClientConfig: &tls.Config{MinVersion: tls.VersionTLS12}, IdleConnTimeout: time.Minute}
	if caFile != "" {
		pem, err := os.ReadFile(caFile)
		if err != nil {
			return nil, err
		}
		pool := x509.NewCertPool()
		if !pool.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("%s: has no certificate in PEM", caFile)
		}
		transport.TLSClientConfig.RootCAs = pool
	}
	refuse := func(*http.Request, []*http.Request) error { return errors.New("redirects are not followed") }
	return &rest{strings.TrimSuffix(server, "/"), &http.Client{Transport: transport, CheckRedirect: refuse}}, nil
}

// do sends a request with the token of a file, and returns status and body. An empty file name: no token. The token is
// read for each request, so that a new one needs no restart.
func (r *rest) do(ctx context.Context, method, path, accept, tokenFile string, body []byte) (int, []byte, error) {
	ctx, cancel := context.WithTimeout(ctx, restTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, method, r.server+path, bytes.NewReader(body))
	if err != nil {
		return 0, nil, err
	}
	request.Header.Set("Accept", accept)
	if body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	if tokenFile != "" {
		token, err := os.ReadFile(tokenFile)
		if err != nil {
			return 0, nil, err
		}
		request.Header.Set("Authorization", "Bearer "+strings.TrimSpace(string(token)))
	}
	response, err := r.client.Do(request)
	if err != nil {
		return 0, nil, err
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(response.Body, mostBytes+1))
	if err == nil && len(answer) > mostBytes {
		err = fmt.Errorf("%s%s: the answer has more than %d bytes", r.server, path, mostBytes)
	}
	return response.StatusCode, answer, err
}
