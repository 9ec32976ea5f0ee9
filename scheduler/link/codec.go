// Package link asks wattle-shim over its unix socket: which nodes its board names for a pod, and how it scores a pod's
// candidates. It uses the standard library only.
package link

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
)

// The limits and kinds of shim/plugin_wire.hpp. README.md of scheduler has the fields.
const (
	version  = 1
	maxFrame = 4 << 20
	maxName  = 253
	topScore = 10

	kindNodesWanted  = 1
	kindNodes        = 2
	kindScoresWanted = 3
	kindScores       = 4
	kindRefusal      = 5
)

var errTooShort = errors.New("the message ends too early")

// ---- requests: whole frames

func nodesWanted(id uint64, cores float64, most uint64) []byte {
	b := head(kindNodesWanted, id, 5, 64)
	b = append(b, 0xcb)
	b = binary.BigEndian.AppendUint64(b, math.Float64bits(cores))
	return frame(appendUint(b, most))
}

func scoresWanted(id uint64, pod []byte, candidates []string) []byte {
	size := len(pod) + 64
	for _, name := range candidates {
		size += len(name) + 3
	}
	b := appendText(head(kindScoresWanted, id, 5, size), pod)
	b = appendArray(b, len(candidates))
	for _, name := range candidates {
		b = appendText(b, name)
	}
	return frame(b)
}

func head(kind byte, id uint64, fields byte, size int) []byte {
	b := make([]byte, 4, size) // the length, which frame() writes
	return appendUint(append(b, 0x90|fields, version, kind), id)
}

func frame(b []byte) []byte {
	binary.BigEndian.PutUint32(b, uint32(len(b)-4))
	return b
}

func appendUint(b []byte, value uint64) []byte {
	if value < 0x80 {
		return append(b, byte(value))
	}
	return binary.BigEndian.AppendUint64(append(b, 0xcf), value)
}

func appendArray(b []byte, size int) []byte {
	if size < 16 {
		return append(b, 0x90|byte(size))
	}
	return binary.BigEndian.AppendUint32(append(b, 0xdd), uint32(size))
}

func appendText[T string | []byte](b []byte, text T) []byte {
	if len(text) < 32 {
		return append(append(b, 0xa0|byte(len(text))), text...)
	}
	return append(binary.BigEndian.AppendUint32(append(b, 0xdb), uint32(len(text))), text...)
}

// ---- answers: messages without their length

// Refusal is the shim's answer to a request that it does not accept.
type Refusal struct{ Why string }

func (r *Refusal) Error() string { return "the shim refuses the request: " + r.Why }

func readNodes(message []byte, id uint64, most int) ([]string, error) {
	r, err := answer(message, kindNodes, id)
	if err != nil {
		return nil, err
	}
	count, err := r.array()
	if err != nil {
		return nil, err
	}
	if count > most {
		return nil, fmt.Errorf("nodes: %d, and at most %d were wanted", count, most)
	}
	nodes := make([]string, 0, count)
	for range count {
		name, err := r.text()
		if err != nil {
			return nil, err
		}
		if len(name) == 0 || len(name) > maxName {
			return nil, fmt.Errorf("nodes[%d]: a name of %d bytes", len(nodes), len(name))
		}
		nodes = append(nodes, name)
	}
	return nodes, nil
}

func readScores(message []byte, id uint64, candidates int) ([]int64, error) {
	r, err := answer(message, kindScores, id)
	if err != nil {
		return nil, err
	}
	count, err := r.array()
	if err != nil {
		return nil, err
	}
	if count != candidates {
		return nil, fmt.Errorf("scores: %d for %d candidates", count, candidates)
	}
	scores := make([]int64, 0, count)
	for range count {
		score, err := r.uint()
		if err != nil {
			return nil, err
		}
		if score > topScore {
			return nil, fmt.Errorf("scores[%d]: %d is beyond 0 to 10", len(scores), score)
		}
		scores = append(scores, int64(score))
	}
	return scores, nil
}

// answer reads the head of a message of this kind, up to its first own field. Fields that a newer shim appends stay
// unread.
func answer(message []byte, kind, id uint64) (*reader, error) {
	r := &reader{left: message}
	fields, err := r.array()
	if err != nil {
		return nil, err
	}
	if fields < 4 {
		return nil, fmt.Errorf("a message of %d fields", fields)
	}
	var found [3]uint64
	for i := range found {
		if found[i], err = r.uint(); err != nil {
			return nil, err
		}
	}
	switch {
	case found[0] != version:
		return nil, fmt.Errorf("version %d, and this plugin speaks %d (use the shim of the scheduler's release)", found[0], version)
	case found[1] == kindRefusal:
		why, err := r.text()
		if err != nil {
			return nil, err
		}
		return nil, &Refusal{why}
	case found[1] != kind || found[2] != id:
		return nil, fmt.Errorf("kind %d to request %d in place of kind %d to request %d", found[1], found[2], kind, id)
	}
	return r, nil
}

// reader reads msgpack values one after another.
type reader struct{ left []byte }

func (r *reader) take(n int) ([]byte, error) {
	if n < 0 || n > len(r.left) {
		return nil, errTooShort
	}
	taken := r.left[:n]
	r.left = r.left[n:]
	return taken, nil
}

func (r *reader) number(width int) (uint64, error) {
	bytes, err := r.take(width)
	if err != nil {
		return 0, err
	}
	var value uint64
	for _, one := range bytes {
		value = value<<8 | uint64(one)
	}
	return value, nil
}

func (r *reader) first() (byte, error) {
	one, err := r.take(1)
	if err != nil {
		return 0, err
	}
	return one[0], nil
}

func (r *reader) uint() (uint64, error) {
	first, err := r.first()
	switch {
	case err != nil:
		return 0, err
	case first < 0x80:
		return uint64(first), nil
	case first >= 0xcc && first <= 0xcf:
		return r.number(1 << (first - 0xcc))
	case first >= 0xd0 && first <= 0xd3: // signed
		width := 1 << (first - 0xd0)
		value, err := r.number(width)
		if err == nil && value>>(8*width-1) != 0 {
			return 0, errors.New("a negative number")
		}
		return value, err
	}
	return 0, fmt.Errorf("byte %#x in place of a number", first)
}

// array returns a count that its bytes can hold.
func (r *reader) array() (int, error) {
	first, err := r.first()
	if err != nil {
		return 0, err
	}
	var count uint64
	switch {
	case first&0xf0 == 0x90:
		count = uint64(first & 0x0f)
	case first == 0xdc || first == 0xdd:
		count, err = r.number(2 << (first - 0xdc))
	default:
		return 0, fmt.Errorf("byte %#x in place of a list", first)
	}
	if err == nil && count > uint64(len(r.left)) {
		err = errTooShort
	}
	return int(count), err
}

func (r *reader) text() (string, error) {
	first, err := r.first()
	if err != nil {
		return "", err
	}
	var size uint64
	switch {
	case first&0xe0 == 0xa0:
		size = uint64(first & 0x1f)
	case first >= 0xd9 && first <= 0xdb:
		size, err = r.number(1 << (first - 0xd9))
	default:
		return "", fmt.Errorf("byte %#x in place of a text", first)
	}
	if err != nil {
		return "", err
	}
	bytes, err := r.take(int(size))
	return string(bytes), err
}
