package provider

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"sort"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	mostApart     = 0.05 // largest difference in memory within a group, as a share
	hostnameLabel = "kubernetes.io/hostname"
	excludeLabel  = "node.kubernetes.io/exclude-disruption"
)

// Roles that a node has in its group.
type role int

const (
	running   role = iota // takes pods
	coming                // wakes, or waits until it is ready
	available             // sleeps, or is about to
	outside               // neither in the group nor counted
)

// member is a node that Wattle may put to sleep.
type member struct {
	name, providerID, state string
	role                    role
	since                   float64
	operation               uint64
}

// group is a class of similar nodes: equal labels, taints and resources.
type group struct {
	id       string
	members  []member
	template *corev1.Node
}

func (g *group) count(which role) int {
	count := 0
	for _, each := range g.members {
		if each.role == which {
			count++
		}
	}
	return count
}

func (g *group) words() string {
	return fmt.Sprintf("%d running, %d waking, %d asleep", g.count(running), g.count(coming), g.count(available))
}

// Causes of the sleep plan for which a node never sleeps by itself. Such a node is in no group, so that Cluster
// Autoscaler does not drain it in vain.
var neverSleeps = []string{"mode_off", "only_recommended", "unproven", "no_driver", "no_wake", "operator",
	"control_plane", "controller", "scheduler"}

// roleOf returns the role of a node. `planned`: whether the last plan lists it among the awake ones, with `cause`. A node
// that woke after that plan runs, if it may sleep by itself.
func roleOf(record powerRecord, planned bool, cause string) role {
	switch record.State {
	case "awake":
		if record.Trips >= record.Needed && !(planned && slices.Contains(neverSleeps, cause)) {
			return running
		}
		return outside
	case "waking", "probation":
		return coming
	case "idle", "draining", "suspending", "asleep":
		return available
	}
	return outside
}

// groupsOf puts the nodes that Wattle may put to sleep into groups, sorted by id.
func groupsOf(nodes map[string]*corev1.Node, sleep *sleepDocument) []*group {
	causes := map[string]string{}
	for _, each := range sleep.Sleep {
		causes[each.Name] = ""
	}
	for _, each := range sleep.Awake {
		causes[each.Name] = each.Cause
	}
	classes := map[string][]member{}
	for _, record := range sleep.Nodes {
		node := nodes[record.Name]
		if node == nil {
			continue
		}
		cause, planned := causes[record.Name]
		one := member{record.Name, node.Spec.ProviderID, record.State, roleOf(record, planned, cause),
			record.Since, record.Operation}
		if one.role == outside {
			continue
		}
		class := classOf(node)
		classes[class] = append(classes[class], one)
	}
	groups := []*group{}
	for class, members := range classes {
		for _, alike := range byMemory(nodes, members) {
			largest := nodes[alike[0].name].Status.Allocatable
			id := fmt.Sprintf("%scpu-%dmi-%s", largest.Cpu().String(), largest.Memory().Value()>>20, class)
			template := templateOf(id, nodes[alike[len(alike)-1].name])
			sort.Slice(alike, func(a, b int) bool { return alike[a].name < alike[b].name })
			groups = append(groups, &group{id: id, members: alike, template: template})
		}
	}
	sort.Slice(groups, func(a, b int) bool { return groups[a].id < groups[b].id })
	return groups
}

// byMemory divides members where memory differs by more than mostApart: equal machines report slightly different memory.
// The largest member of each part comes first.
func byMemory(nodes map[string]*corev1.Node, members []member) [][]member {
	memory := func(each member) float64 { return nodes[each.name].Status.Allocatable.Memory().AsApproximateFloat64() }
	sort.Slice(members, func(a, b int) bool { return memory(members[a]) > memory(members[b]) })
	parts := [][]member{}
	for _, each := range members {
		if last := len(parts) - 1; last >= 0 && memory(each) >= (1-mostApart)*memory(parts[last][0]) {
			parts[last] = append(parts[last], each)
		} else {
			parts = append(parts, []member{each})
		}
	}
	return parts
}

// classOf returns a hash of all that the scheduler compares, but for memory.
func classOf(node *corev1.Node) string {
	lines := []string{}
	for key, value := range stableLabels(node) {
		lines = append(lines, "label "+key+"="+value)
	}
	for _, taint := range stableTaints(node) {
		lines = append(lines, "taint "+taint.Key+"="+taint.Value+":"+string(taint.Effect))
	}
	for name, amount := range node.Status.Allocatable {
		if name != corev1.ResourceMemory && name != corev1.ResourceEphemeralStorage { // differ between equal machines
			lines = append(lines, "resource "+string(name)+"="+amount.String())
		}
	}
	sort.Strings(lines)
	hash := sha256.Sum256([]byte(strings.Join(lines, "\n")))
	return hex.EncodeToString(hash[:4])
}

// stableLabels returns the labels that neither name the node nor change when it sleeps.
func stableLabels(node *corev1.Node) map[string]string {
	labels := map[string]string{}
	for key, value := range node.Labels {
		if key == hostnameLabel || key == excludeLabel || value == node.Name || strings.HasPrefix(key, "wattle.dev/") {
			continue
		}
		labels[key] = value
	}
	return labels
}

// stableTaints returns the taints that neither Wattle, Cluster Autoscaler nor a condition of the node adds.
func stableTaints(node *corev1.Node) []corev1.Taint {
	taints := []corev1.Taint{}
	for _, taint := range node.Spec.Taints {
		if strings.HasPrefix(taint.Key, "wattle.dev/") || strings.HasPrefix(taint.Key, "node.kubernetes.io/") ||
			strings.HasSuffix(taint.Key, "ClusterAutoscaler") {
			continue
		}
		taints = append(taints, taint)
	}
	return taints
}

// templateOf returns `node` as it is just after its wake.
func templateOf(id string, node *corev1.Node) *corev1.Node {
	name := "template-" + id
	labels := stableLabels(node)
	labels[hostnameLabel] = name
	status := corev1.NodeStatus{Capacity: node.Status.Capacity, Allocatable: node.Status.Allocatable, NodeInfo: node.Status.NodeInfo,
		Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}}
	if status.Capacity == nil {
		status.Capacity = map[corev1.ResourceName]resource.Quantity{}
	}
	return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels},
		Spec: corev1.NodeSpec{ProviderID: "wattle://" + name, Taints: stableTaints(node)}, Status: status}
}
