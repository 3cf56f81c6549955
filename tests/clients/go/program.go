// Compiled, never run: what a program in Go would call.
package client

import (
	"context"
	"net/http"
)

func Program(ctx context.Context) (*http.Response, error) {
	web, err := NewClientWithResponses("https://push.example.com")
	if err != nil {
		return nil, err
	}
	state := AutomationStatePaused
	kind := AlertKindPaused
	if string(state) != string(kind) {
		return nil, nil
	}
	answer, err := web.RunsRetrieveWithResponse(ctx, 7)
	if err != nil {
		return nil, err
	}
	return answer.HTTPResponse, nil
}
