// Package provider answers Cluster Autoscaler with groups of nodes that Wattle puts to sleep and wakes.
//
// Wattle's controller decides and acts: a call becomes at most an order to it, under its rules. Refresh reads nodes and
// power states; the other calls answer from what it read. If it fails, they fail too, until the next one succeeds.
package provider

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sort"
	"sync"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/anypb"
	corev1 "k8s.io/api/core/v1"

	"wattle.dev/autoscaler/wire"
)

// Labels of GPUs, as in the sleep rules.
const gpuLabel = "nvidia.com/gpu.product"

// Provider implements wire.Provider.
type Provider struct {
	controller *controller
	cluster    *cluster
	log        *slog.Logger

	mutex   sync.Mutex
	nodes   map[string]*corev1.Node
	groups  []*group          // nil: the last Refresh failed
	targets map[string]int    // target sizes at the last Refresh
	givenUp map[string]uint64 // wakes that Cluster Autoscaler does not wait for: operation by node
	ordered map[string]uint64 // wakes that begin once the node has fallen asleep: operation of that sleep by node
}

// New returns a provider. It connects with the first call.
func New(config *Config, log *slog.Logger) (*Provider, error) {
	ours, err := newRest(config.Controller.Server, config.Controller.CA)
	if err != nil {
		return nil, fmt.Errorf("controller.ca: %w", err)
	}
	api, err := newRest(config.Kubernetes.Server, config.Kubernetes.CA)
	if err != nil {
		return nil, fmt.Errorf("kubernetes.ca: %w", err)
	}
	return &Provider{controller: &controller{ours, config.Controller.Token, config.Controller.OperatorToken},
		cluster: &cluster{api, config.Kubernetes.Token}, log: log, givenUp: map[string]uint64{}, ordered: map[string]uint64{}}, nil
}

// Refresh reads all Nodes and power states.
func (p *Provider) Refresh(ctx context.Context, _ *wire.Empty) (*wire.Empty, error) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	p.groups = nil
	nodes, err := p.cluster.nodes(ctx)
	if err != nil {
		return nil, p.failed("Refresh", codes.Unavailable, err)
	}
	p.nodes = nodes
	if err := p.readStates(ctx); err != nil {
		return nil, p.failed("Refresh", codes.Unavailable, err)
	}
	p.targets = map[string]int{}
	for _, each := range p.groups {
		p.targets[each.id] = p.target(each)
	}
	return &wire.Empty{}, nil
}

func (p *Provider) readStates(ctx context.Context) error {
	sleep, err := p.controller.sleep(ctx)
	if err != nil {
		p.groups = nil
		return err
	}
	p.groups = groupsOf(p.nodes, sleep)
	waking, ordered := map[string]uint64{}, map[string]uint64{}
	for _, group := range p.groups {
		for i := range group.members {
			each := &group.members[i]
			if operation, is := p.ordered[each.name]; is && each.role == available && operation == each.operation {
				each.role = coming
				ordered[each.name] = operation
			}
			if operation, given := p.givenUp[each.name]; given && each.role == coming && operation == each.operation {
				waking[each.name] = operation
			}
		}
	}
	p.givenUp, p.ordered = waking, ordered
	return nil
}

// target counts the nodes that run or are waking, without wakes that Cluster Autoscaler has given up.
func (p *Provider) target(group *group) int {
	return group.count(running) + len(p.comingOf(group))
}

func (p *Provider) comingOf(group *group) []member {
	waking := []member{}
	for _, each := range group.members {
		if _, given := p.givenUp[each.name]; each.role == coming && !given {
			waking = append(waking, each)
		}
	}
	return waking
}

func (p *Provider) find(id string) (*group, error) {
	if p.groups == nil {
		return nil, status.Error(codes.Unavailable, "the last Refresh failed (see its error)")
	}
	for _, each := range p.groups {
		if each.id == id {
			return each, nil
		}
	}
	return nil, status.Errorf(codes.NotFound, "group %q: no node is in it (see NodeGroups)", id)
}

func (p *Provider) failed(call string, code codes.Code, err error) error {
	p.log.Error("a call of Cluster Autoscaler failed", "call", call, "error", err.Error())
	return status.Error(code, err.Error())
}

func (p *Provider) wireGroup(group *group) *wire.NodeGroup {
	most := p.target(group) + group.count(available)
	return &wire.NodeGroup{ID: group.id, MaxSize: int32(most), Debug: group.words()}
}

// Cleanup has no resources to release.
func (p *Provider) Cleanup(context.Context, *wire.Empty) (*wire.Empty, error) {
	return &wire.Empty{}, nil
}

// NodeGroups lists the groups.
func (p *Provider) NodeGroups(context.Context, *wire.Empty) (*wire.NodeGroups, error) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if p.groups == nil {
		return nil, status.Error(codes.Unavailable, "the last Refresh failed (see its error)")
	}
	answer := &wire.NodeGroups{}
	for _, each := range p.groups {
		answer.NodeGroups = append(answer.NodeGroups, p.wireGroup(each))
	}
	return answer, nil
}

// NodeGroupForNode returns the group of a node that runs. A node that sleeps or wakes has none: Cluster Autoscaler would
// count it as broken, and would not see that the group lacks it.
func (p *Provider) NodeGroupForNode(_ context.Context, request *wire.NodeRequest) (*wire.NodeGroupAnswer, error) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if p.groups == nil {
		return nil, status.Error(codes.Unavailable, "the last Refresh failed (see its error)")
	}
	for _, group := range p.groups {
		for _, each := range group.members {
			if each.name == request.Node.GetName() && each.role == running {
				return &wire.NodeGroupAnswer{NodeGroup: p.wireGroup(group)}, nil
			}
		}
	}
	return &wire.NodeGroupAnswer{NodeGroup: &wire.NodeGroup{}}, nil
}

// NodeGroupTargetSize counts the nodes that run or are waking.
func (p *Provider) NodeGroupTargetSize(_ context.Context, request *wire.GroupRequest) (*wire.TargetSize, error) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	group, err := p.find(request.ID)
	if err != nil {
		return nil, err
	}
	return &wire.TargetSize{TargetSize: int32(p.target(group))}, nil
}

// NodeGroupNodes lists the nodes that run or wake, and have a spec.providerID: Cluster Autoscaler would take any other
// id for a machine that never registers.
func (p *Provider) NodeGroupNodes(_ context.Context, request *wire.GroupRequest) (*wire.Instances, error) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	group, err := p.find(request.ID)
	if err != nil {
		return nil, err
	}
	answer := &wire.Instances{}
	for _, each := range group.members {
		state := map[role]int32{running: wire.InstanceRunning, coming: wire.InstanceCreating}[each.role]
		if each.providerID != "" && state != 0 {
			answer.Instances = append(answer.Instances, &wire.Instance{ID: each.providerID, Status: &wire.InstanceStatus{State: state}})
		}
	}
	return answer, nil
}

// NodeGroupTemplateNodeInfo returns a node as it is after its wake.
func (p *Provider) NodeGroupTemplateNodeInfo(_ context.Context, request *wire.GroupRequest) (*wire.Template, error) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	group, err := p.find(request.ID)
	if err != nil {
		return nil, err
	}
	node, err := group.template.Marshal()
	if err != nil {
		return nil, p.failed("NodeGroupTemplateNodeInfo", codes.Internal, err)
	}
	return &wire.Template{Node: node, NodeBytes: node}, nil
}

// NodeGroupGetOptions leaves all options to the flags of Cluster Autoscaler.
func (p *Provider) NodeGroupGetOptions(_ context.Context, request *wire.GroupRequest) (*wire.Empty, error) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	_, err := p.find(request.ID)
	return &wire.Empty{}, err
}

// GPULabel returns the label of nodes with a GPU, on which Cluster Autoscaler waits for the GPU's driver.
func (p *Provider) GPULabel(context.Context, *wire.Empty) (*wire.GPULabel, error) {
	return &wire.GPULabel{Label: gpuLabel}, nil
}

// GetAvailableGPUTypes returns the values of that label.
func (p *Provider) GetAvailableGPUTypes(context.Context, *wire.Empty) (*wire.GPUTypes, error) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	types := map[string]*anypb.Any{}
	for _, each := range p.groups {
		if model := each.template.Labels[gpuLabel]; model != "" {
			types[model] = &anypb.Any{}
		}
	}
	return &wire.GPUTypes{GPUTypes: types}, nil
}

// NodeGroupIncreaseSize wakes as many sleepers as the group lacks to `delta` more than at the last Refresh. Thus a
// repeated call wakes no more, and a node that Wattle has woken meanwhile counts.
func (p *Provider) NodeGroupIncreaseSize(ctx context.Context, request *wire.SizeRequest) (*wire.Empty, error) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if request.Delta <= 0 {
		return nil, status.Errorf(codes.InvalidArgument, "delta %d: an increase is positive", request.Delta)
	}
	if _, err := p.find(request.ID); err != nil {
		return nil, err
	}
	if err := p.readStates(ctx); err != nil {
		return nil, p.failed("NodeGroupIncreaseSize", codes.Unavailable, err)
	}
	group, err := p.find(request.ID)
	if err != nil {
		return nil, err
	}
	wanted := p.targets[group.id] + int(request.Delta) - p.target(group)
	sleepers := sleepersOf(group)
	if wanted > len(sleepers) {
		return nil, p.failed("NodeGroupIncreaseSize", codes.ResourceExhausted,
			fmt.Errorf("group %s: %d nodes are to wake, and %d sleep (%s)", group.id, wanted, len(sleepers), group.words()))
	}
	for _, each := range sleepers[:max(wanted, 0)] {
		if err := p.controller.order(ctx, "sleep-wake", each.name); err != nil {
			return nil, p.failed("NodeGroupIncreaseSize", codeOf(err), fmt.Errorf("node %s: %w", each.name, err))
		}
		p.ordered[each.name] = each.operation
		p.log.Info("a node wakes for Cluster Autoscaler", "node", each.name, "group", group.id)
	}
	if err := p.readStates(ctx); err != nil {
		return nil, p.failed("NodeGroupIncreaseSize", codes.Unavailable, err)
	}
	return &wire.Empty{}, nil
}

// sleepersOf returns the nodes to wake, in order: those that still run, then those that sleep longest, then those that
// are falling asleep.
func sleepersOf(group *group) []member {
	rank := map[string]int{"idle": 0, "draining": 0, "asleep": 1, "suspending": 2}
	sleepers := []member{}
	for _, each := range group.members {
		if each.role == available {
			sleepers = append(sleepers, each)
		}
	}
	sort.SliceStable(sleepers, func(a, b int) bool {
		if left, right := rank[sleepers[a].state], rank[sleepers[b].state]; left != right {
			return left < right
		}
		return sleepers[a].since < sleepers[b].since
	})
	return sleepers
}

// NodeGroupDeleteNodes lets drained nodes sleep, if the controller's next plan agrees. A node that already sleeps is no
// error, so that the call may be repeated.
func (p *Provider) NodeGroupDeleteNodes(ctx context.Context, request *wire.DeleteRequest) (*wire.Empty, error) {
	names, err := p.namesIn(request)
	if err != nil {
		return nil, err
	}
	// Without the lock: Cluster Autoscaler continues meanwhile, and orders for several nodes arrive at once.
	for _, name := range names {
		if err := p.controller.order(ctx, "sleep-empty", name); err != nil {
			return nil, p.failed("NodeGroupDeleteNodes", codeOf(err), fmt.Errorf("node %s: %w", name, err))
		}
		p.log.Info("a node sleeps for Cluster Autoscaler", "node", name, "group", request.ID)
	}
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if err := p.readStates(ctx); err != nil {
		return nil, p.failed("NodeGroupDeleteNodes", codes.Unavailable, err)
	}
	return &wire.Empty{}, nil
}

// namesIn returns the names of nodes that are all in the group.
func (p *Provider) namesIn(request *wire.DeleteRequest) ([]string, error) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	group, err := p.find(request.ID)
	if err != nil {
		return nil, err
	}
	names := []string{}
	for _, node := range request.Nodes {
		name := node.GetName()
		if !slices.ContainsFunc(group.members, func(each member) bool { return each.name == name }) {
			return nil, status.Errorf(codes.InvalidArgument, "node %q is not in group %s (see NodeGroupForNode)", name, group.id)
		}
		names = append(names, name)
	}
	return names, nil
}

// NodeGroupDecreaseTargetSize gives up wakes: the nodes do not count until they run. The controller cancels no wake.
func (p *Provider) NodeGroupDecreaseTargetSize(_ context.Context, request *wire.SizeRequest) (*wire.Empty, error) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if request.Delta >= 0 {
		return nil, status.Errorf(codes.InvalidArgument, "delta %d: a decrease is negative", request.Delta)
	}
	group, err := p.find(request.ID)
	if err != nil {
		return nil, err
	}
	waking := p.comingOf(group)
	fewer := -int(request.Delta)
	if fewer > len(waking) {
		return nil, status.Errorf(codes.FailedPrecondition, "group %s: %d fewer, but only %d wake; nodes that run need NodeGroupDeleteNodes",
			group.id, fewer, len(waking))
	}
	sort.SliceStable(waking, func(a, b int) bool { return waking[a].since < waking[b].since })
	for _, each := range waking[:fewer] {
		p.givenUp[each.name] = each.operation
		delete(p.ordered, each.name)
	}
	return &wire.Empty{}, nil
}

func codeOf(err error) codes.Code {
	switch {
	case errors.Is(err, errRefused):
		return codes.FailedPrecondition
	case errors.Is(err, errUnknown):
		return codes.NotFound
	case errors.Is(err, context.DeadlineExceeded):
		return codes.DeadlineExceeded
	}
	return codes.Unavailable
}
