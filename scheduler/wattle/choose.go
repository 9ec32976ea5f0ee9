package wattle

import (
	"reflect"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	resourcehelper "k8s.io/component-helpers/resource"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
	fwk "k8s.io/kube-scheduler/framework"
)

const (
	mostNodes = 50  // that a restricted cycle examines
	ranked    = 100 // that the shim's board ranks at most
	fromBoard = 40  // the rest are other nodes that fit
	enough    = 8   // a restricted cycle has at least as many nodes that fit
)

// mayRestrict returns whether the pod's node can be chosen among few nodes. All nodes count if a rule or a preference
// of the pod compares nodes, or if it has a claim to some nodes already.
func mayRestrict(pod *v1.Pod) bool {
	spec := &pod.Spec
	if pod.Status.NominatedNodeName != "" || len(spec.TopologySpreadConstraints) > 0 || len(spec.ResourceClaims) > 0 || inGroup(spec) {
		return false
	}
	if owner := metav1.GetControllerOf(pod); owner != nil && owner.Kind == "DaemonSet" {
		return false
	}
	for _, volume := range spec.Volumes {
		if volume.PersistentVolumeClaim != nil || volume.Ephemeral != nil {
			return false
		}
	}
	for _, container := range spec.Containers {
		for _, port := range container.Ports {
			if port.HostPort != 0 {
				return false
			}
		}
	}
	return spec.Affinity == nil || comparesNoNodes(spec.Affinity)
}

func comparesNoNodes(affinity *v1.Affinity) bool {
	if affinity.PodAffinity != nil || affinity.PodAntiAffinity != nil {
		return false
	}
	if affinity.NodeAffinity == nil {
		return true
	}
	if len(affinity.NodeAffinity.PreferredDuringSchedulingIgnoredDuringExecution) > 0 {
		return false
	}
	required := affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution
	if required == nil {
		return true
	}
	for _, term := range required.NodeSelectorTerms {
		if len(term.MatchFields) > 0 {
			return false // names nodes itself
		}
	}
	return true
}

// inGroup returns whether the pod is scheduled together with others; the field has a different name in each version.
func inGroup(spec *v1.PodSpec) bool {
	value := reflect.ValueOf(spec).Elem()
	for _, name := range []string{"WorkloadRef", "SchedulingGroup"} {
		if field := value.FieldByName(name); field.IsValid() && !field.IsZero() {
			return true
		}
	}
	return false
}

func requestOf(pod *v1.Pod) v1.ResourceList {
	return resourcehelper.PodRequests(pod, resourcehelper.PodResourcesOptions{})
}

// check decides cheaply whether a node can take a pod. kube-scheduler's own filters decide in the end: where they refuse
// all nodes that pass here, the next attempt examines every node.
type check struct {
	tolerations []v1.Toleration
	affinity    nodeaffinity.RequiredNodeAffinity
	cpu, memory int64
	disk        int64
	others      map[v1.ResourceName]int64
}

func newCheck(pod *v1.Pod, wanted v1.ResourceList) *check {
	c := &check{tolerations: pod.Spec.Tolerations, affinity: nodeaffinity.GetRequiredNodeAffinity(pod)}
	for name, quantity := range wanted {
		switch name {
		case v1.ResourceCPU:
			c.cpu = quantity.MilliValue()
		case v1.ResourceMemory:
			c.memory = quantity.Value()
		case v1.ResourceEphemeralStorage:
			c.disk = quantity.Value()
		default:
			if c.others == nil {
				c.others = map[v1.ResourceName]int64{}
			}
			c.others[name] = quantity.Value()
		}
	}
	return c
}

func (c *check) fits(info fwk.NodeInfo) bool {
	node, has, used := info.Node(), info.GetAllocatable(), info.GetRequested()
	if node == nil || node.Spec.Unschedulable || len(info.GetPods())+1 > has.GetAllowedPodNumber() {
		return false
	}
	if c.cpu > has.GetMilliCPU()-used.GetMilliCPU() || c.memory > has.GetMemory()-used.GetMemory() ||
		c.disk > has.GetEphemeralStorage()-used.GetEphemeralStorage() {
		return false
	}
	for name, wanted := range c.others {
		if wanted > has.GetScalarResources()[name]-used.GetScalarResources()[name] {
			return false
		}
	}
	for i := range node.Spec.Taints {
		if !c.tolerates(&node.Spec.Taints[i]) {
			return false
		}
	}
	match, err := c.affinity.Match(node)
	return err == nil && match
}

func (c *check) tolerates(taint *v1.Taint) bool {
	if taint.Effect == v1.TaintEffectPreferNoSchedule {
		return true
	}
	for _, one := range c.tolerations {
		compares := one.Operator == "" || one.Operator == v1.TolerationOpEqual
		if (one.Effect == "" || one.Effect == taint.Effect) && (one.Key == "" || one.Key == taint.Key) && (!compares || one.Value == taint.Value) {
			return true
		}
	}
	return false
}
