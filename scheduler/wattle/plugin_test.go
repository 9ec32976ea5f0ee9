package wattle

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework"

	"wattle.dev/scheduler/link"
)

const long = 10 * time.Second

func pod(cpu string) *v1.Pod {
	one := &v1.Pod{}
	one.Name, one.Namespace, one.UID = "web", "shop", "u-1"
	one.Spec.Containers = []v1.Container{{Name: "main", Image: "web:1", Env: []v1.EnvVar{{Name: "SECRET", Value: "s"}},
		Resources: v1.ResourceRequirements{Requests: v1.ResourceList{v1.ResourceCPU: resource.MustParse(cpu)}}}}
	return one
}

func node(name, cpu string) *v1.Node {
	one := &v1.Node{}
	one.Name, one.Labels = name, map[string]string{"disk": "ssd"}
	one.Status.Allocatable = v1.ResourceList{v1.ResourceCPU: resource.MustParse(cpu), v1.ResourceMemory: resource.MustParse("8Gi"), v1.ResourcePods: resource.MustParse("10")}
	return one
}

func info(one *v1.Node, pods ...*v1.Pod) fwk.NodeInfo {
	found := framework.NewNodeInfo(pods...)
	found.SetNode(one)
	return found
}

// The answers of a shim: a msgpack array of one list after version, kind and request id.
func reply(kind byte, id byte, list []byte) []byte {
	message := append([]byte{0x94, 1, kind, id}, list...)
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(message))), message...)
}

func texts(names ...string) []byte {
	out := []byte{0xdc, byte(len(names) >> 8), byte(len(names))}
	for _, name := range names {
		out = append(append(out, 0xa0|byte(len(name))), name...)
	}
	return out
}

// plugged returns a plugin on these nodes, with a shim whose board has these nodes and that gives these scores.
func plugged(t *testing.T, nodes []fwk.NodeInfo, board []string, points []byte) (*Plugin, *atomic.Value) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "shim.sock")
	listener, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	var asked atomic.Value // the last request
	go func() {
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		for id := byte(1); ; id++ {
			var length [4]byte
			if _, err := io.ReadFull(conn, length[:]); err != nil {
				return
			}
			request := make([]byte, binary.BigEndian.Uint32(length[:]))
			if _, err := io.ReadFull(conn, request); err != nil {
				return
			}
			asked.Store(string(request))
			if request[2] == 1 {
				_, _ = conn.Write(reply(2, id, texts(board...)))
			} else {
				_, _ = conn.Write(reply(4, id, append([]byte{0xdc, byte(len(points) >> 8), byte(len(points))}, points...)))
			}
		}
	}()
	p := &Plugin{shim: link.New(path, long, func(error) {}), again: newAttempts(t.Context(), func(*v1.Pod) {}), now: time.Now}
	p.node = func(name string) (fwk.NodeInfo, error) {
		for _, one := range nodes {
			if one.Node().Name == name {
				return one, nil
			}
		}
		return nil, fmt.Errorf("no node %s", name)
	}
	return p, &asked
}

func cluster(count int) []fwk.NodeInfo {
	nodes := make([]fwk.NodeInfo, count)
	for i := range nodes {
		nodes[i] = info(node(fmt.Sprintf("n%d", i), "4"))
	}
	return nodes
}

func TestAtMostFiftyNodesThatFitAreNamedAndTheBoardsAreAmongThem(t *testing.T) {
	nodes := cluster(200)
	nodes[3].SetNode(node("n3", "100m")) // too small, and on the board
	p, _ := plugged(t, nodes, []string{"n3", "n150", "gone", "n7"}, nil)
	seen := map[string]bool{}
	for range 5 {
		state := framework.NewCycleState()
		result, status := p.PreFilter(context.Background(), state, pod("1"), nodes)
		if !status.IsSuccess() || len(result.NodeNames) != mostNodes || !result.NodeNames.HasAll("n150", "n7") || result.NodeNames.HasAny("n3", "gone") {
			t.Fatalf("%v: %v", status, result)
		}
		for name := range result.NodeNames {
			seen[name] = true
		}
		if _, status := p.PostFilter(context.Background(), state, pod("1"), nil); status.Code() != fwk.UnschedulableAndUnresolvable {
			t.Errorf("preemption may run although nodes were not examined: %v", status)
		}
		p.again = newAttempts(t.Context(), func(*v1.Pod) {})
	}
	if len(seen) < 190 {
		t.Errorf("only %d nodes had a turn", len(seen))
	}
}

func TestPodsOfOneSizeShareABoardForAMoment(t *testing.T) {
	nodes, now := cluster(200), time.Unix(1000, 0)
	p, asked := plugged(t, nodes, []string{"n1"}, nil)
	p.now = func() time.Time { return now }
	asks := func(cpu string) bool {
		asked.Store("")
		if _, status := p.PreFilter(context.Background(), framework.NewCycleState(), pod(cpu), nodes); !status.IsSuccess() {
			t.Fatal(status)
		}
		return asked.Load() != ""
	}
	if !asks("1") || asks("1") || !asks("2") || asks("2") || asks("1") {
		t.Error("a size is not asked for once")
	}
	now = now.Add(boardFor + time.Millisecond)
	if !asks("1") {
		t.Error("an old board is used")
	}
}

func TestAFailedCycleIsRepeatedWithAllNodes(t *testing.T) {
	nodes := cluster(200)
	p, _ := plugged(t, nodes, []string{"n1"}, nil)
	activated := make(chan *v1.Pod, 100)
	p.again = newAttempts(t.Context(), func(one *v1.Pod) { activated <- one })
	state := framework.NewCycleState()
	if _, status := p.PreFilter(context.Background(), state, pod("1"), nodes); !status.IsSuccess() {
		t.Fatal(status)
	}
	p.PostFilter(context.Background(), state, pod("1"), nil)
	for range 2 { // the first may be too early: the pod is not in the queue yet
		if one := <-activated; one.UID != "u-1" {
			t.Fatal(one.UID)
		}
	}
	again := framework.NewCycleState()
	if result, status := p.PreFilter(context.Background(), again, pod("1"), nodes); !status.IsSkip() || result != nil {
		t.Fatalf("%v %v", result, status)
	}
	if _, status := p.PostFilter(context.Background(), again, pod("1"), nil); status.Code() != fwk.Unschedulable {
		t.Errorf("preemption may not run although all nodes were examined: %v", status)
	}
	other := pod("1")
	other.UID = "u-2"
	if _, status := p.PreFilter(context.Background(), framework.NewCycleState(), other, nodes); !status.IsSuccess() {
		t.Error("another pod considers all nodes, too")
	}
}

func TestAllNodesCountWhereFewDoNotSuffice(t *testing.T) {
	small, nodes := cluster(mostNodes), cluster(200)
	for what, skips := range map[string]func() *fwk.Status{
		"a small cluster": func() *fwk.Status {
			p, _ := plugged(t, small, []string{"n1"}, nil)
			_, status := p.PreFilter(context.Background(), framework.NewCycleState(), pod("1"), small)
			return status
		},
		"an empty board": func() *fwk.Status {
			p, _ := plugged(t, nodes, nil, nil)
			_, status := p.PreFilter(context.Background(), framework.NewCycleState(), pod("1"), nodes)
			return status
		},
		"few nodes that fit": func() *fwk.Status {
			p, _ := plugged(t, nodes, []string{"n1"}, nil)
			_, status := p.PreFilter(context.Background(), framework.NewCycleState(), pod("5"), nodes)
			return status
		},
		"no shim": func() *fwk.Status {
			p := &Plugin{shim: link.New(filepath.Join(t.TempDir(), "none"), long, func(error) {}), again: newAttempts(t.Context(), func(*v1.Pod) {}), now: time.Now}
			_, status := p.PreFilter(context.Background(), framework.NewCycleState(), pod("1"), nodes)
			return status
		},
	} {
		if status := skips(); !status.IsSkip() {
			t.Errorf("%s: %v", what, status)
		}
	}
}

func TestPodsThatCompareNodesAreNotRestricted(t *testing.T) {
	controller, term := true, []v1.NodeSelectorTerm{{MatchFields: []v1.NodeSelectorRequirement{{Key: "metadata.name", Operator: v1.NodeSelectorOpIn, Values: []string{"n1"}}}}}
	for what, change := range map[string]func(*v1.Pod){
		"a nominated node": func(p *v1.Pod) { p.Status.NominatedNodeName = "n1" },
		"a daemon": func(p *v1.Pod) {
			p.OwnerReferences = []metav1.OwnerReference{{Kind: "DaemonSet", Controller: &controller}}
		},
		"a node by name": func(p *v1.Pod) {
			p.Spec.Affinity = &v1.Affinity{NodeAffinity: &v1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &v1.NodeSelector{NodeSelectorTerms: term}}}
		},
		"a preferred node": func(p *v1.Pod) {
			p.Spec.Affinity = &v1.Affinity{NodeAffinity: &v1.NodeAffinity{PreferredDuringSchedulingIgnoredDuringExecution: []v1.PreferredSchedulingTerm{{Weight: 1}}}}
		},
		"pod affinity":      func(p *v1.Pod) { p.Spec.Affinity = &v1.Affinity{PodAffinity: &v1.PodAffinity{}} },
		"pod anti-affinity": func(p *v1.Pod) { p.Spec.Affinity = &v1.Affinity{PodAntiAffinity: &v1.PodAntiAffinity{}} },
		"spread":            func(p *v1.Pod) { p.Spec.TopologySpreadConstraints = []v1.TopologySpreadConstraint{{MaxSkew: 1}} },
		"a claim":           func(p *v1.Pod) { p.Spec.ResourceClaims = []v1.PodResourceClaim{{Name: "gpu"}} },
		"a volume": func(p *v1.Pod) {
			p.Spec.Volumes = []v1.Volume{{VolumeSource: v1.VolumeSource{PersistentVolumeClaim: &v1.PersistentVolumeClaimVolumeSource{ClaimName: "data"}}}}
		},
		"a port of the host": func(p *v1.Pod) { p.Spec.Containers[0].Ports = []v1.ContainerPort{{HostPort: 80}} },
	} {
		one := pod("1")
		change(one)
		if mayRestrict(one) {
			t.Error(what)
		}
	}
	selects := pod("1")
	selects.Spec.NodeSelector = map[string]string{"disk": "ssd"}
	if !mayRestrict(pod("1")) || !mayRestrict(selects) {
		t.Error("a plain pod considers all nodes")
	}
}

func TestANodeFitsByRoomTaintsAndLabels(t *testing.T) {
	fits := func(one *v1.Pod, on *v1.Node, pods ...*v1.Pod) bool {
		return newCheck(one, requestOf(one)).fits(info(on, pods...))
	}
	if !fits(pod("4"), node("a", "4")) || fits(pod("4"), node("a", "4"), pod("1")) || fits(pod("5"), node("a", "4")) {
		t.Error("cores")
	}
	full := node("a", "4")
	full.Status.Allocatable[v1.ResourcePods] = resource.MustParse("1")
	if fits(pod("1"), full, pod("1")) {
		t.Error("pods")
	}
	gpu := pod("1")
	gpu.Spec.Containers[0].Resources.Requests["vendor/gpu"] = resource.MustParse("1")
	if fits(gpu, node("a", "4")) {
		t.Error("devices")
	}
	cordoned := node("a", "4")
	cordoned.Spec.Unschedulable = true
	if fits(pod("1"), cordoned) {
		t.Error("a cordoned node")
	}
	tainted, tolerant := node("a", "4"), pod("1")
	tainted.Spec.Taints = []v1.Taint{{Key: "k", Value: "v", Effect: v1.TaintEffectNoSchedule}, {Key: "soft", Effect: v1.TaintEffectPreferNoSchedule}}
	tolerant.Spec.Tolerations = []v1.Toleration{{Key: "k", Value: "v"}}
	if fits(pod("1"), tainted) || !fits(tolerant, tainted) {
		t.Error("taints")
	}
	selects := pod("1")
	selects.Spec.NodeSelector = map[string]string{"disk": "hdd"}
	if fits(selects, node("a", "4")) {
		t.Error("labels")
	}
}

func TestScoresAreTenTimesTheShims(t *testing.T) {
	nodes := cluster(3)
	p, asked := plugged(t, nodes, nil, []byte{10, 0, 4})
	state := framework.NewCycleState()
	if status := p.PreScore(context.Background(), state, pod("1"), nodes); !status.IsSuccess() {
		t.Fatal(status)
	}
	var got []int64
	for _, one := range nodes {
		score, status := p.Score(context.Background(), state, pod("1"), one)
		if !status.IsSuccess() {
			t.Fatal(status)
		}
		got = append(got, score)
	}
	if !slices.Equal(got, []int64{100, 0, 40}) || p.ScoreExtensions() != nil {
		t.Errorf("%v", got)
	}
	request, _ := asked.Load().(string)
	if !strings.Contains(request, `"uid":"u-1"`) || !strings.Contains(request, `"image":"web:1"`) || strings.Contains(request, "SECRET") {
		t.Errorf("the shim was sent %q", request)
	}
}

func TestNeutralAndMalformedAnswersAddNothing(t *testing.T) {
	nodes := cluster(3)
	for what, points := range map[string][]byte{"neutral": {0, 0, 0}, "too few": {10}, "a score of 11": {11, 0, 0}, "negative": {0xff, 0, 0}} {
		p, _ := plugged(t, nodes, nil, points)
		state := framework.NewCycleState()
		if status := p.PreScore(context.Background(), state, pod("1"), nodes); !status.IsSkip() {
			t.Errorf("%s: %v", what, status)
		}
		if score, status := p.Score(context.Background(), state, pod("1"), nodes[0]); score != 0 || !status.IsSuccess() {
			t.Errorf("%s: %d, %v", what, score, status)
		}
	}
}

func TestArgumentsAreStrict(t *testing.T) {
	read := func(text string) error {
		_, _, err := readArgs(&runtime.Unknown{Raw: []byte(text), ContentType: runtime.ContentTypeJSON})
		return err
	}
	if err := read(`{"socket":"/run/shim.sock","timeout":"20ms"}`); err != nil {
		t.Error(err)
	}
	for _, text := range []string{`{}`, `{"socket":"shim.sock"}`, `{"socket":"/s","timeout":"2s"}`, `{"socket":"/s","timeout":"soon"}`, `{"socket":"/s","sockets":1}`, `[]`} {
		if read(text) == nil {
			t.Errorf("%s is accepted", text)
		}
	}
	if _, _, err := readArgs(nil); err == nil || !strings.Contains(err.Error(), "socket") {
		t.Error(err)
	}
}

func TestRememberedPodsAreBounded(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel() // no activations
	a := newAttempts(ctx, func(*v1.Pod) {})
	for i := range mostAttempts + 10 {
		one := pod("1")
		one.UID = types.UID(fmt.Sprint(i))
		a.start(one)
	}
	if len(a.pods) > mostAttempts {
		t.Errorf("%d pods are remembered", len(a.pods))
	}
}

func TestSlimPodsEncodeAsPods(t *testing.T) {
	text, err := json.Marshal(slim(pod("250m")))
	if err != nil || !strings.Contains(string(text), `"requests":{"cpu":"250m"}`) {
		t.Errorf("%s %v", text, err)
	}
}
