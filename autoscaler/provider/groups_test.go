package provider

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func aNode(name, memory string) *corev1.Node {
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{
			"zone": "a", hostnameLabel: name, "storage/host": name, "wattle.dev/sleep": "auto"}},
		Spec: corev1.NodeSpec{ProviderID: "metal://" + name, Taints: []corev1.Taint{{Key: "gpu", Effect: corev1.TaintEffectNoSchedule}}},
		Status: corev1.NodeStatus{Allocatable: corev1.ResourceList{
			corev1.ResourceCPU: resource.MustParse("8"), corev1.ResourceMemory: resource.MustParse(memory),
			corev1.ResourcePods: resource.MustParse("110"), "nvidia.com/gpu": resource.MustParse("2"),
			corev1.ResourceEphemeralStorage: resource.MustParse(fmt.Sprintf("%dGi", 100+len(name)))}},
	}
}

// asleep adds all marks that a node has while it sleeps.
func asleep(node *corev1.Node) *corev1.Node {
	marked := node.DeepCopy()
	marked.Spec.Unschedulable = true
	marked.Labels[excludeLabel] = "wattle"
	for _, key := range []string{"wattle.dev/sleep", "ToBeDeletedByClusterAutoscaler", "node.kubernetes.io/unreachable"} {
		marked.Spec.Taints = append(marked.Spec.Taints, corev1.Taint{Key: key, Effect: corev1.TaintEffectNoSchedule})
	}
	return marked
}

// groupsOfStates returns the groups of these nodes, all in a state.
func groupsOfStates(state string, nodes ...*corev1.Node) []*group {
	sleep, byName := &sleepDocument{}, map[string]*corev1.Node{}
	for _, node := range nodes {
		byName[node.Name] = node
		sleep.Nodes = append(sleep.Nodes, powerRecord{Name: node.Name, State: state})
	}
	return groupsOf(byName, sleep)
}

func TestEqualMachinesAreOneGroupAwakeOrAsleep(t *testing.T) {
	first, second := aNode("n1", "32768000Ki"), aNode("node-22", "32766976Ki")
	awake := groupsOfStates("waking", first, second)
	if len(awake) != 1 || len(awake[0].members) != 2 {
		t.Fatalf("%+v", awake)
	}
	if again := groupsOfStates("asleep", asleep(second), asleep(first)); len(again) != 1 || again[0].id != awake[0].id {
		t.Errorf("%+v and %+v", again, awake)
	}
	differ := map[string]*corev1.Node{"memory": aNode("n3", "16Gi"), "label": aNode("n3", "32768000Ki"),
		"taint": aNode("n3", "32768000Ki"), "device": aNode("n3", "32768000Ki")}
	differ["label"].Labels["zone"] = "b"
	differ["taint"].Spec.Taints = nil
	delete(differ["device"].Status.Allocatable, "nvidia.com/gpu")
	for name, node := range differ {
		if groups := groupsOfStates("asleep", first, second, node); len(groups) != 2 {
			t.Errorf("a node with another %s: %d groups", name, len(groups))
		}
	}
	if groups := groupsOfStates("failed", first, second); len(groups) != 0 {
		t.Errorf("%+v", groups)
	}
}

func TestATemplateIsAReadyNodeWithoutMarks(t *testing.T) {
	node := groupsOfStates("asleep", asleep(aNode("n1", "32768000Ki")), asleep(aNode("n2", "32766976Ki")))[0].template
	if node.Spec.Unschedulable || len(node.Spec.Taints) != 1 || node.Spec.Taints[0].Key != "gpu" {
		t.Errorf("taints %v, cordon %v", node.Spec.Taints, node.Spec.Unschedulable)
	}
	if node.Labels["zone"] != "a" || node.Labels[hostnameLabel] != node.Name || len(node.Labels) != 2 {
		t.Errorf("labels %v", node.Labels)
	}
	if memory := node.Status.Allocatable.Memory().Value(); memory != 32766976<<10 {
		t.Errorf("memory %d is not the smallest", memory)
	}
	if node.Status.Conditions[0].Status != corev1.ConditionTrue {
		t.Errorf("conditions %v", node.Status.Conditions)
	}
}

func TestTheRoleFollowsStateAndPlan(t *testing.T) {
	for _, each := range []struct {
		state, cause string
		planned      bool
		want         role
	}{
		{"awake", "", true, running}, {"awake", "spare", true, running}, {"awake", "has_pods", true, running},
		{"awake", "", false, running}, {"awake", "unproven", true, outside}, {"awake", "mode_off", true, outside},
		{"awake", "control_plane", true, outside}, {"awake", "operator", true, outside},
		{"waking", "", false, coming}, {"probation", "", false, coming},
		{"idle", "", false, available}, {"draining", "", false, available}, {"suspending", "", false, available},
		{"asleep", "", false, available},
		{"blocked", "state", true, outside}, {"failed", "", false, outside}, {"unknown", "", false, outside},
		{"another", "", true, outside},
	} {
		if got := roleOf(powerRecord{State: each.state, Trips: 1, Needed: 1}, each.planned, each.cause); got != each.want {
			t.Errorf("%s, %q: role %d, want %d", each.state, each.cause, got, each.want)
		}
	}
	if got := roleOf(powerRecord{State: "awake", Needed: 1}, false, ""); got != outside {
		t.Errorf("unproven: role %d", got)
	}
}
