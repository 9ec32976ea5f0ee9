package link

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"time"
)

const (
	missesToOpen = 3
	firstPause   = 100 * time.Millisecond
	longestPause = time.Second
)

// ErrOpen means that the breaker is open: the shim was not asked.
var ErrOpen = errors.New("the shim has not answered three times in a row, and is not asked until a probe succeeds")

// Client asks the shim at one path. Each request returns within the timeout. After three misses in a row no request is
// sent until a probe in the background is answered. Its methods may be called from any goroutine, one after another.
type Client struct {
	path    string
	timeout time.Duration
	changed func(error) // called once when the shim stops answering, and with nil when it answers again

	mutex  sync.Mutex // guards everything below
	conn   net.Conn
	id     uint64
	misses int
	open   bool
	lost   bool
	closed bool
}

// New returns a client that connects at its first request.
func New(path string, timeout time.Duration, changed func(error)) *Client {
	return &Client{path: path, timeout: timeout, changed: changed}
}

// Close ends the connection and the probes.
func (c *Client) Close() {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.closed = true
	c.hangUp()
}

// Nodes returns the nodes that the shim's board names for a pod of this size, best first; none: the board is not fresh.
func (c *Client) Nodes(cores float64, most int) ([]string, error) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	var nodes []string
	err := c.request(func(id uint64) []byte { return nodesWanted(id, cores, uint64(most)) }, func(message []byte, id uint64) (err error) {
		nodes, err = readNodes(message, id, most)
		return err
	})
	return nodes, err
}

// Scores returns a score from 0 to 10 for each candidate. The pod is a v1.Pod as JSON.
func (c *Client) Scores(pod []byte, candidates []string) ([]int64, error) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	var scores []int64
	err := c.request(func(id uint64) []byte { return scoresWanted(id, pod, candidates) }, func(message []byte, id uint64) (err error) {
		scores, err = readScores(message, id, len(candidates))
		return err
	})
	return scores, err
}

type (
	writer func(id uint64) []byte
	taker  func(message []byte, id uint64) error
)

func (c *Client) request(write writer, take taker) error {
	if c.open {
		return ErrOpen
	}
	err := c.ask(write, take)
	c.note(err)
	return err
}

// ask sends one request. A connection that the shim has closed since the last request is replaced once.
func (c *Client) ask(write writer, take taker) error {
	until := time.Now().Add(c.timeout)
	used := c.conn != nil
	err := c.exchange(write, take, until)
	var refusal *Refusal
	if err != nil && used && !errors.Is(err, os.ErrDeadlineExceeded) && !errors.As(err, &refusal) {
		err = c.exchange(write, take, until)
	}
	return err
}

func (c *Client) exchange(write writer, take taker, until time.Time) error {
	if c.conn == nil {
		conn, err := (&net.Dialer{Deadline: until}).Dial("unix", c.path)
		if err != nil {
			return err
		}
		c.conn = conn
	}
	c.id++
	message, err := swap(c.conn, write(c.id), until)
	if err == nil {
		err = take(message, c.id)
	}
	if err != nil {
		c.hangUp() // an answer that is still on its way must not be read as that of the next request
	}
	return err
}

func swap(conn net.Conn, request []byte, until time.Time) ([]byte, error) {
	if len(request) > maxFrame+4 {
		return nil, fmt.Errorf("a request of %d bytes is too long", len(request))
	}
	if err := conn.SetDeadline(until); err != nil {
		return nil, err
	}
	if _, err := conn.Write(request); err != nil {
		return nil, err
	}
	var length [4]byte
	if _, err := io.ReadFull(conn, length[:]); err != nil {
		return nil, err
	}
	size := binary.BigEndian.Uint32(length[:])
	if size == 0 || size > maxFrame {
		return nil, fmt.Errorf("an answer of %d bytes", size)
	}
	message := make([]byte, size)
	_, err := io.ReadFull(conn, message)
	return message, err
}

func (c *Client) hangUp() {
	if c.conn != nil {
		c.conn.Close()
		c.conn = nil
	}
}

// note counts misses in a row. A refusal is an answer of a shim that runs.
func (c *Client) note(err error) {
	var refusal *Refusal
	if lost := err != nil; lost != c.lost {
		c.lost = lost
		c.changed(err)
	}
	if err == nil || errors.As(err, &refusal) {
		c.misses = 0
		return
	}
	c.misses++
	if c.misses >= missesToOpen && !c.open {
		c.open = true
		go c.probe()
	}
}

// probe asks for no node until it is answered. Its pauses double.
func (c *Client) probe() {
	for pause := firstPause; ; pause = min(2*pause, longestPause) {
		time.Sleep(pause)
		probe := New(c.path, c.timeout, func(error) {})
		_, err := probe.Nodes(0, 0)
		c.mutex.Lock()
		var refusal *Refusal
		if c.closed || err == nil || errors.As(err, &refusal) {
			if c.closed {
				probe.Close()
			} else {
				c.conn, c.id = probe.conn, probe.id
			}
			c.open, c.misses = false, 0
			c.mutex.Unlock()
			return
		}
		c.mutex.Unlock()
	}
}
