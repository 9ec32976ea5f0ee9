package link

import (
	"encoding/binary"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"
)

// A shim that answers each request with what `answer` returns; nil: it keeps silent.
func serve(t *testing.T, path string, answer func(request []byte) []byte) net.Listener {
	t.Helper()
	listener, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				for {
					var length [4]byte
					if _, err := io.ReadFull(conn, length[:]); err != nil {
						return
					}
					request := make([]byte, binary.BigEndian.Uint32(length[:]))
					if _, err := io.ReadFull(conn, request); err != nil {
						return
					}
					reply := answer(request)
					if reply == nil {
						continue
					}
					if _, err := conn.Write(reply); err != nil || len(reply) < 5 {
						return
					}
				}
			}()
		}
	}()
	t.Cleanup(func() { listener.Close() })
	return listener
}

// The answer of a shim that scores the only candidate 9 and names no node.
func nine(request []byte) []byte {
	r := &reader{left: request}
	_, _ = r.array()
	_, _ = r.uint()
	kind, _ := r.uint()
	id, _ := r.uint()
	if kind == kindNodesWanted {
		return frame(append(head(kindNodes, id, 4, 16), 0x90))
	}
	return frame(append(head(kindScores, id, 4, 16), 0x91, 9))
}

const long = 10 * time.Second // far more than an answer takes on a busy machine

type log struct{ lost, found atomic.Int32 }

func (l *log) changed(err error) {
	if err != nil {
		l.lost.Add(1)
	} else {
		l.found.Add(1)
	}
}

func nineScored(c *Client) error {
	scores, err := c.Scores([]byte("{}"), []string{"a"})
	if err == nil && scores[0] != 9 {
		return errors.New("another score")
	}
	return err
}

// eventually repeats until the shim's scores arrive again.
func eventually(t *testing.T, c *Client) {
	t.Helper()
	for end := time.Now().Add(long); ; time.Sleep(5 * time.Millisecond) {
		err := nineScored(c)
		if err == nil {
			return
		}
		if time.Now().After(end) {
			t.Fatal(err)
		}
	}
}

func TestARestartedShimIsAskedOverANewConnection(t *testing.T) {
	path := filepath.Join(t.TempDir(), "shim.sock")
	var seen log
	c := New(path, long, seen.changed)
	defer c.Close()
	for range 2 {
		listener := serve(t, path, func(request []byte) []byte { return nine(request) })
		eventually(t, c)
		listener.Close()
		c.mutex.Lock()
		c.conn.Close() // as the shim's end does
		c.mutex.Unlock()
	}
}

func TestAMissingShimOpensTheBreakerAndIsFoundByAProbe(t *testing.T) {
	path := filepath.Join(t.TempDir(), "shim.sock")
	var seen log
	c := New(path, long, seen.changed)
	defer c.Close()
	for range missesToOpen {
		if err := nineScored(c); !errors.Is(err, os.ErrNotExist) {
			t.Fatal(err)
		}
	}
	if err := nineScored(c); !errors.Is(err, ErrOpen) {
		t.Fatal(err)
	}
	serve(t, path, nine)
	eventually(t, c)
	if seen.lost.Load() != 1 || seen.found.Load() != 1 {
		t.Errorf("logged %d losses and %d recoveries", seen.lost.Load(), seen.found.Load())
	}
}

func TestAHungShimCostsThreeTimeouts(t *testing.T) {
	path := filepath.Join(t.TempDir(), "shim.sock")
	var hung atomic.Bool
	var asked atomic.Int32
	serve(t, path, func(request []byte) []byte {
		asked.Add(1)
		if hung.Load() {
			return nil
		}
		return nine(request)
	})
	c := New(path, 100*time.Millisecond, func(error) {})
	defer c.Close()
	hung.Store(true)
	timeouts := 0
	for range 1000 {
		if err := nineScored(c); errors.Is(err, os.ErrDeadlineExceeded) {
			timeouts++
		} else if !errors.Is(err, ErrOpen) {
			t.Fatal(err)
		}
	}
	if timeouts != missesToOpen {
		t.Errorf("%d requests waited", timeouts)
	}
	hung.Store(false)
	eventually(t, c)
}

func TestGarbageIsAMissAndNeverAnAnswer(t *testing.T) {
	for name, reply := range map[string][]byte{
		"a length of 0":    {0, 0, 0, 0, 0},
		"an endless frame": {0xff, 0xff, 0xff, 0xff, 0},
		"half a length":    {0, 0},
		"no message":       {0, 0, 0, 1, 0xc1},
	} {
		path := filepath.Join(t.TempDir(), "shim.sock")
		serve(t, path, func([]byte) []byte { return reply })
		c := New(path, long, func(error) {})
		for range missesToOpen {
			if err := nineScored(c); err == nil || errors.Is(err, ErrOpen) {
				t.Errorf("%s: %v", name, err)
			}
		}
		c.Close()
	}
}

func TestARefusalLeavesTheBreakerClosed(t *testing.T) {
	path := filepath.Join(t.TempDir(), "shim.sock")
	serve(t, path, func([]byte) []byte { return frame(appendText(head(kindRefusal, 0, 4, 64), "version: is 9")) })
	c := New(path, long, func(error) {})
	defer c.Close()
	for range 2 * missesToOpen {
		var refusal *Refusal
		if err := nineScored(c); !errors.As(err, &refusal) {
			t.Fatal(err)
		}
	}
}

func TestARequestBeyondTheLimitIsNotSent(t *testing.T) {
	path := filepath.Join(t.TempDir(), "shim.sock")
	serve(t, path, func(request []byte) []byte { t.Error("it was sent"); return nil })
	c := New(path, long, func(error) {})
	defer c.Close()
	if _, err := c.Scores(make([]byte, maxFrame), []string{"a"}); err == nil {
		t.Error("no error")
	}
}
