package link

import (
	"bytes"
	"encoding/hex"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"
)

// golden reads the messages that tests/unit/shim/plugin_wire_test.cpp reads, too.
func golden(t testing.TB) map[string][]byte {
	t.Helper()
	text, err := os.ReadFile("../../tests/fixtures/plugin/messages.txt")
	if err != nil {
		t.Fatal(err)
	}
	found := map[string][]byte{}
	for line := range strings.Lines(string(text)) {
		name, digits, ok := strings.Cut(strings.TrimSpace(line), " ")
		if !ok || name == "#" {
			continue
		}
		if found[name], err = hex.DecodeString(strings.ReplaceAll(digits, " ", "")); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
	}
	return found
}

const goldenPod = `{"metadata":{"name":"web","namespace":"shop","uid":"u-1"},"spec":{"containers":[],"schedulerName":"wattle"}}`

func TestRequestsAreTheGoldenBytes(t *testing.T) {
	want := golden(t)
	if got := nodesWanted(7, 0.25, 100); !bytes.Equal(got, want["nodes_wanted"]) {
		t.Errorf("nodes_wanted: %x", got)
	}
	if got := scoresWanted(300, []byte(goldenPod), []string{"a", "node-with-a-name-of-more-than-31-bytes"}); !bytes.Equal(got, want["scores_wanted"]) {
		t.Errorf("scores_wanted: %x", got)
	}
}

func TestGoldenAnswersAreRead(t *testing.T) {
	want := golden(t)
	if nodes, err := readNodes(want["nodes"][4:], 7, 100); err != nil || !slices.Equal(nodes, []string{"a", "b"}) {
		t.Errorf("nodes: %v, %v", nodes, err)
	}
	if scores, err := readScores(want["scores"][4:], 300, 3); err != nil || !slices.Equal(scores, []int64{10, 0, 4}) {
		t.Errorf("scores: %v, %v", scores, err)
	}
	_, err := readScores(want["refusal"][4:], 300, 3)
	var refusal *Refusal
	if !errors.As(err, &refusal) || !strings.Contains(refusal.Why, "version") {
		t.Errorf("refusal: %v", err)
	}
}

func TestAnswersThatDoNotFitAreRefused(t *testing.T) {
	scores := golden(t)["scores"][4:]
	for name, message := range map[string][]byte{
		"empty":              {},
		"cut":                scores[:len(scores)-1],
		"another version":    append([]byte{0x94, 9}, scores[2:]...),
		"a score of 11":      {0x94, 1, 4, 1, 0x91, 11},
		"a negative score":   {0x94, 1, 4, 1, 0x91, 0xff},
		"more than bytes":    {0x94, 1, 4, 1, 0xdd, 0xff, 0xff, 0xff, 0xff, 1},
		"not a list":         {0x94, 1, 4, 1, 0xa1, 'a'},
		"a number of 9 bits": {0x94, 1, 4, 1, 0x91, 0xd1, 0xff, 0xff},
	} {
		if found, err := readScores(message, 1, 1); err == nil {
			t.Errorf("%s: %v", name, found)
		}
	}
	if _, err := readScores(scores, 301, 3); err == nil {
		t.Error("the answer to another request was taken")
	}
	if _, err := readScores(scores, 300, 2); err == nil {
		t.Error("scores of another number of candidates were taken")
	}
	if _, err := readNodes(golden(t)["nodes"][4:], 7, 1); err == nil {
		t.Error("more nodes than wanted were taken")
	}
}

func TestFieldsOfANewerShimAreIgnored(t *testing.T) {
	message := append([]byte{0x95, 1, 4, 1, 0x91, 7}, 0xa3, 'n', 'e', 'w')
	if scores, err := readScores(message, 1, 1); err != nil || scores[0] != 7 {
		t.Errorf("%v, %v", scores, err)
	}
}

func FuzzAnswers(f *testing.F) {
	for _, message := range golden(f) {
		f.Add(message[4:])
	}
	f.Fuzz(func(t *testing.T, message []byte) {
		if scores, err := readScores(message, 300, 3); err == nil && (len(scores) != 3 || slices.Max(scores) > topScore || slices.Min(scores) < 0) {
			t.Errorf("%v", scores)
		}
		if nodes, err := readNodes(message, 7, 5); err == nil && (len(nodes) > 5 || slices.Contains(nodes, "")) {
			t.Errorf("%v", nodes)
		}
	})
}
