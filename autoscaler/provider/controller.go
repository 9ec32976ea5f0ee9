package provider

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"
)

const askAgain = 250 * time.Millisecond

// sleepDocument is the part of the controller's document `sleep` that the provider uses.
type sleepDocument struct {
	Mode  string   `json:"mode"`
	Age   *float64 `json:"age_s"`
	Sleep []struct {
		Name string `json:"name"`
	} `json:"sleep"`
	Awake []struct {
		Name  string `json:"name"`
		Cause string `json:"cause"`
	} `json:"awake"`
	Nodes []powerRecord `json:"nodes"`
}

type powerRecord struct {
	Name      string  `json:"name"`
	State     string  `json:"state"`
	Since     float64 `json:"since_wall_s"`
	Operation uint64  `json:"operation"`
	Trips     int     `json:"round_trips"`
	Needed    int     `json:"round_trips_needed"`
}

var (
	errRefused = errors.New("refused")   // by a rule; the same order fails again
	errUnknown = errors.New("not found") // no such node
)

// controller is a client of Wattle's controller.
type controller struct {
	rest                     *rest
	tokenFile, operatorsFile string
}

// sleep returns the last plan and the power states.
func (c *controller) sleep(ctx context.Context) (*sleepDocument, error) {
	status, body, err := c.rest.do(ctx, http.MethodGet, "/api/v1/sleep?limit=1", "application/json", c.tokenFile, nil)
	if err != nil {
		return nil, fmt.Errorf("the controller does not answer: %w (check controller.server)", err)
	}
	if status == http.StatusUnauthorized {
		return nil, errors.New("the controller rejects the token (set controller.token to a file with the token of its http.token_file)")
	}
	if status != http.StatusOK {
		return nil, fmt.Errorf("the controller answers HTTP %d: %s", status, errorOf(body))
	}
	document := new(sleepDocument)
	if err := json.Unmarshal(body, document); err != nil {
		return nil, fmt.Errorf("the controller's document sleep is malformed: %w (check controller.server)", err)
	}
	if document.Mode != "auto" {
		return nil, fmt.Errorf("no node sleeps by itself in mode %q (set the controller's sleep.mode: auto)", document.Mode)
	}
	if document.Age == nil {
		return nil, errors.New("the controller has no sleep plan yet (it comes within a minute of its start)")
	}
	return document, nil
}

// order gives an order about a node. While the controller has not decided, the order is repeated until ctx ends.
func (c *controller) order(ctx context.Context, order, node string) error {
	body, err := json.Marshal(map[string]string{"order": order, "node": node})
	if err != nil {
		return err
	}
	for {
		status, answer, err := c.rest.do(ctx, http.MethodPost, "/api/v1/sleep/order", "application/json", c.operatorsFile, body)
		switch {
		case err != nil:
			return fmt.Errorf("the controller does not answer: %w (check controller.server)", err)
		case status == http.StatusOK:
			return nil
		case status == http.StatusNotFound:
			return fmt.Errorf("%w: %s", errUnknown, errorOf(answer))
		case status == http.StatusConflict:
			return fmt.Errorf("%w: %s", errRefused, errorOf(answer))
		case status != http.StatusServiceUnavailable:
			return fmt.Errorf("the controller answers HTTP %d: %s", status, errorOf(answer))
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%w: %s", ctx.Err(), errorOf(answer))
		case <-time.After(askAgain):
		}
	}
}

// errorOf returns the text of the controller's error.
func errorOf(body []byte) string {
	var failed struct {
		Error string `json:"error"`
	}
	if json.Unmarshal(body, &failed) == nil && failed.Error != "" {
		return failed.Error
	}
	return "the answer is not from Wattle's controller"
}
