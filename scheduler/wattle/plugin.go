// Package wattle is a plugin of kube-scheduler. It replaces Wattle's scheduler extender:
//
//	PreFilter   names at most 50 nodes to examine: the best of the shim's board that fit the pod, and others that do
//	PostFilter  if none of them is feasible: prevents preemption, and starts the next attempt at once, with all nodes
//	PreScore    asks the shim for scores, as the extender's verb prioritize does
//	Score       gives ten times the shim's score, so that a weight has the same effect as the extender's
//
// Without an answer of the shim, all nodes are examined and no score is added.
package wattle

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"

	"wattle.dev/scheduler/link"
)

// Name of the plugin in a KubeSchedulerConfiguration.
const Name = "Wattle"

const (
	restrictedKey fwk.StateKey = Name + "/restricted"
	scoresKey     fwk.StateKey = Name + "/scores"
	// kube-scheduler's scores end at 100, and the shim's at 10.
	scorePerPoint = 10
	// The controller publishes one board per second. Pods of one size share the answer for this long.
	boardFor = 200 * time.Millisecond
)

// Args is the plugin's entry in pluginConfig.
type Args struct {
	Socket  string `json:"socket"`  // of wattle-shim: listen.plugin_socket
	Timeout string `json:"timeout"` // for each answer; default 50ms
}

// Plugin keeps the connection to the shim and the pods whose next attempt considers all nodes.
type Plugin struct {
	node  func(name string) (fwk.NodeInfo, error) // of the cycle's snapshot
	shim  *link.Client
	again *attempts
	turn  int // where the next scan over the nodes begins; scheduling cycles follow one another

	now    func() time.Time
	boards map[float64][]string // by requested cores
	until  time.Time            // when they are dropped
}

// New makes the plugin for a profile.
func New(ctx context.Context, raw runtime.Object, h handle) (plugin, error) {
	args, timeout, err := readArgs(raw)
	if err != nil {
		return nil, fmt.Errorf("pluginConfig of %s: %w", Name, err)
	}
	logger := klog.FromContext(ctx).WithName(Name)
	changed := func(err error) {
		if err != nil {
			logger.Info("The shim does not answer: pods are scheduled without Wattle", "socket", args.Socket, "why", err.Error())
		} else {
			logger.Info("The shim answers again", "socket", args.Socket)
		}
	}
	p := &Plugin{shim: link.New(args.Socket, timeout, changed), now: time.Now}
	p.node = func(name string) (fwk.NodeInfo, error) { return h.SnapshotSharedLister().NodeInfos().Get(name) }
	p.again = newAttempts(ctx, func(pod *v1.Pod) { h.Activate(logger, map[string]*v1.Pod{pod.Namespace + "/" + pod.Name: pod}) })
	return p, nil
}

func readArgs(raw runtime.Object) (Args, time.Duration, error) {
	args := Args{Timeout: "50ms"}
	unknown, ok := raw.(*runtime.Unknown)
	if !ok {
		return args, 0, fmt.Errorf("is missing (set args: {socket: /run/wattle-plugin/shim.sock})")
	}
	decoder := json.NewDecoder(bytes.NewReader(unknown.Raw))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&args); err != nil {
		return args, 0, fmt.Errorf("args: %w (known: socket, timeout)", err)
	}
	if args.Socket == "" || args.Socket[0] != '/' {
		return args, 0, fmt.Errorf("args.socket: %q is not an absolute path (set it to the shim's listen.plugin_socket)", args.Socket)
	}
	timeout, err := time.ParseDuration(args.Timeout)
	if err != nil || timeout < time.Millisecond || timeout > time.Second {
		return args, 0, fmt.Errorf("args.timeout: %q is not a duration from 1ms to 1s", args.Timeout)
	}
	return args, timeout, nil
}

// Name implements framework.Plugin.
func (p *Plugin) Name() string { return Name }

// ---- filtering

// restricted marks a cycle whose nodes this plugin named.
type restricted struct{}

func (r restricted) Clone() fwk.StateData { return r }

// PreFilter implements framework.PreFilterPlugin.
func (p *Plugin) PreFilter(_ context.Context, state fwk.CycleState, pod *v1.Pod, nodes []fwk.NodeInfo) (*preFilterResult, *fwk.Status) {
	skip := fwk.NewStatus(fwk.Skip)
	if p.again.wantsAll(pod.UID) || len(nodes) <= mostNodes || !mayRestrict(pod) {
		return nil, skip
	}
	wanted := requestOf(pod)
	board, err := p.board(float64(wanted.Cpu().MilliValue()) / 1000)
	if err != nil || len(board) == 0 {
		return nil, skip
	}
	names := p.choose(pod, wanted, board, nodes)
	if names == nil {
		return nil, skip
	}
	state.Write(restrictedKey, restricted{})
	return &preFilterResult{NodeNames: names}, nil
}

// board returns the nodes that the shim's board names for a pod of this size, best first.
func (p *Plugin) board(cores float64) ([]string, error) {
	if now := p.now(); now.After(p.until) {
		p.boards, p.until = map[float64][]string{}, now.Add(boardFor)
	}
	if nodes, found := p.boards[cores]; found {
		return nodes, nil
	}
	nodes, err := p.shim.Nodes(cores, ranked)
	if err == nil {
		p.boards[cores] = nodes
	}
	return nodes, err
}

// PreFilterExtensions implements framework.PreFilterPlugin.
func (p *Plugin) PreFilterExtensions() preFilterExtensions { return nil }

// PostFilter implements framework.PostFilterPlugin. It must run before DefaultPreemption, which would otherwise evict
// pods although a node that was not examined may be free: the profile names it in multiPoint and in postFilter.
func (p *Plugin) PostFilter(_ context.Context, state fwk.CycleState, pod *v1.Pod, _ statuses) (*postFilterResult, *fwk.Status) {
	if _, err := state.Read(restrictedKey); err != nil {
		return nil, fwk.NewStatus(fwk.Unschedulable)
	}
	p.again.start(pod)
	return nil, fwk.NewStatus(fwk.UnschedulableAndUnresolvable, "Wattle named the examined nodes; the next attempt examines all")
}

// choose returns the best nodes of the board that fit the pod, and others that do, from an offset that advances with
// each pod. kube-scheduler lists nodes with their zones in turn, so the others are of all zones. nil: too few fit.
func (p *Plugin) choose(pod *v1.Pod, wanted v1.ResourceList, board []string, nodes []fwk.NodeInfo) sets.Set[string] {
	check := newCheck(pod, wanted)
	chosen := make(sets.Set[string], mostNodes)
	for _, name := range board {
		if len(chosen) == fromBoard {
			break
		}
		if node, err := p.node(name); err == nil && check.fits(node) {
			chosen.Insert(name)
		}
	}
	begin := p.turn % len(nodes)
	for i := 0; i < len(nodes) && len(chosen) < mostNodes; i++ {
		node := nodes[(begin+i)%len(nodes)]
		p.turn = begin + i + 1
		if node.Node() != nil && !chosen.Has(node.Node().Name) && check.fits(node) {
			chosen.Insert(node.Node().Name)
		}
	}
	if len(chosen) < enough {
		return nil
	}
	return chosen
}

// ---- scoring

type scores map[string]int64

func (s scores) Clone() fwk.StateData { return s }

// PreScore implements framework.PreScorePlugin.
func (p *Plugin) PreScore(_ context.Context, state fwk.CycleState, pod *v1.Pod, nodes []fwk.NodeInfo) *fwk.Status {
	names := make([]string, 0, len(nodes))
	for _, node := range nodes {
		names = append(names, node.Node().Name)
	}
	text, err := json.Marshal(slim(pod))
	if err != nil {
		return fwk.NewStatus(fwk.Skip)
	}
	points, err := p.shim.Scores(text, names)
	if err != nil {
		return fwk.NewStatus(fwk.Skip)
	}
	found := make(scores)
	for i, one := range points {
		if one > 0 {
			found[names[i]] = one * scorePerPoint
		}
	}
	if len(found) == 0 {
		return fwk.NewStatus(fwk.Skip)
	}
	state.Write(scoresKey, found)
	return nil
}

// Score implements framework.ScorePlugin.
func (p *Plugin) Score(_ context.Context, state fwk.CycleState, _ *v1.Pod, node fwk.NodeInfo) (int64, *fwk.Status) {
	data, err := state.Read(scoresKey)
	if err != nil {
		return 0, nil
	}
	found, ok := data.(scores)
	if !ok {
		return 0, nil
	}
	return found[node.Node().Name], nil
}

// ScoreExtensions implements framework.ScorePlugin. The shim's scores are not changed.
func (p *Plugin) ScoreExtensions() scoreExtensions { return nil }

// slim keeps what the shim reads of a pod (shim/extender.cpp).
func slim(pod *v1.Pod) *v1.Pod {
	out := &v1.Pod{Spec: pod.Spec}
	out.Name, out.Namespace, out.UID = pod.Name, pod.Namespace, pod.UID
	out.Labels, out.Annotations, out.OwnerReferences = pod.Labels, pod.Annotations, pod.OwnerReferences
	out.Spec.Containers, out.Spec.InitContainers = slimmed(pod.Spec.Containers), slimmed(pod.Spec.InitContainers)
	return out
}

func slimmed(containers []v1.Container) []v1.Container {
	out := make([]v1.Container, len(containers))
	for i, one := range containers {
		out[i] = v1.Container{Name: one.Name, Image: one.Image, Resources: one.Resources, RestartPolicy: one.RestartPolicy}
	}
	return out
}
