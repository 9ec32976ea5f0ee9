// Replays usage histories to the Vertical Pod Autoscaler's own recommender and updater rule (imported, not rewritten),
// as wattle-lab requests --histories replays them to Wattle's rule.
//
// Usage    vpa_recommender MINUTES-BETWEEN-SAMPLES <histories (line format: lab/docs/provisioning-commands.md, Requests)
// Does     each minute, passes on the mean CPU or the maximum memory, as the feeder would; the recommendation, made
//          with
//
//	default settings, applies from the next minute on
//
// Applied  `tenth`: whenever the target differs from the request by a tenth or more. `updater`: when the updater would
//
//	evict (request outside of the bounds; a pod of 12 hours and a difference of a tenth; or two kills within ten
//	minutes of the start); the replacement pod starts with age 0
//
// Killed   memory: a minute that needs more than the request (its limit) is a kill, reported as an OOM event; the next
//
//	minute needs the same amount
//
// Gives    a line of JSON: the same figures per history as wattle-sim, for `tenth` and `updater`
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	vpa_types "k8s.io/autoscaler/vertical-pod-autoscaler/pkg/apis/autoscaling.k8s.io/v1"
	"k8s.io/autoscaler/vertical-pod-autoscaler/pkg/recommender/config"
	"k8s.io/autoscaler/vertical-pod-autoscaler/pkg/recommender/logic"
	"k8s.io/autoscaler/vertical-pod-autoscaler/pkg/recommender/model"
	"k8s.io/autoscaler/vertical-pod-autoscaler/pkg/updater/priority"
)

const (
	minutesPerSample = 5
	mib              = 1 << 20
	minutesPerDay    = 1440
	name             = "main"
)

type history struct {
	memory  bool
	name    string
	from    int
	request float64
	samples []float64
}

func (h history) need(minute int) float64 { return h.samples[minute/minutesPerSample] }

// Figures over the evaluated minutes.
type figures struct {
	Requested float64 `json:"requested"`
	Slack     float64 `json:"slack"`
	Short     float64 `json:"short"`
	Under     float64 `json:"under_ratio"`
	Changes   float64 `json:"changes_per_day"`
	Kills     float64 `json:"kills_per_day"`
}

type played struct {
	History string  `json:"history"`
	Used    float64 `json:"used"`
	Tenth   figures `json:"tenth"`
	Updater figures `json:"updater"`
}

func (f *figures) add(h history, request, need float64, changed bool) {
	f.Requested += request
	f.Slack += math.Max(0, request-need)
	f.Short += math.Max(0, need-request)
	if need > request {
		f.Under++
		if h.memory {
			f.Kills++
		}
	}
	if changed {
		f.Changes++
	}
}

func (f *figures) close(minutes float64) {
	for _, sum := range []*float64{&f.Requested, &f.Slack, &f.Short, &f.Under, &f.Changes, &f.Kills} {
		*sum /= minutes
	}
	f.Changes *= minutesPerDay
	f.Kills *= minutesPerDay
}

// Autoscaler state of one workload with one pod.
type autoscaler struct {
	cluster     model.ClusterState
	recommender logic.PodResourceRecommender
	container   model.ContainerID
	vpa         model.VpaID
	object      *vpa_types.VerticalPodAutoscaler
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "vpa_recommender:", err)
		os.Exit(1)
	}
}

func newAutoscaler(recommender logic.PodResourceRecommender) *autoscaler {
	set := labels.Set{"app": "it"}
	a := &autoscaler{
		cluster: model.NewClusterState(time.Hour), recommender: recommender,
		container: model.ContainerID{PodID: model.PodID{Namespace: "n", PodName: "it-1"}, ContainerName: name},
		vpa:       model.VpaID{Namespace: "n", VpaName: "it"},
		object:    &vpa_types.VerticalPodAutoscaler{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "it"}},
	}
	check(a.cluster.AddOrUpdateVpa(a.object, labels.SelectorFromSet(set)))
	a.cluster.AddOrUpdatePod(a.container.PodID, set, corev1.PodRunning)
	return a
}

// Recommendation for one resource: target, lower bound, upper bound.
func (a *autoscaler) says(kind model.ResourceName) (float64, float64, float64) {
	said := a.recommender.GetRecommendedPodResources(a.cluster.VPAs()[a.vpa].AggregateStateByContainerName())[name]
	return amount(said.Target[kind], kind), amount(said.LowerBound[kind], kind), amount(said.UpperBound[kind], kind)
}

func amount(of model.ResourceAmount, kind model.ResourceName) float64 {
	if kind == model.ResourceMemory {
		return model.BytesFromMemoryAmount(of)
	}
	return model.CoresFromCPUAmount(of)
}

type given struct {
	recommendation *vpa_types.RecommendedPodResources
}

func (g given) Apply(*vpa_types.VerticalPodAutoscaler, *corev1.Pod) (*vpa_types.RecommendedPodResources, map[string][]string, error) {
	return g.recommendation, nil, nil
}

func quantity(value float64, memory bool) resource.Quantity {
	if memory {
		return *resource.NewQuantity(int64(value), resource.BinarySI)
	}
	return *resource.NewMilliQuantity(int64(math.Round(value*1000)), resource.DecimalSI)
}

// Reports whether the updater would replace the pod.
func updates(object *vpa_types.VerticalPodAutoscaler, memory bool, request float64, started, containerStarted, killed, now time.Time, killedStart time.Time, target, lower, upper float64) bool {
	kind := corev1.ResourceCPU
	if memory {
		kind = corev1.ResourceMemory
	}
	list := func(value float64) corev1.ResourceList { return corev1.ResourceList{kind: quantity(value, memory)} }
	status := corev1.ContainerStatus{Name: name, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.NewTime(containerStarted)}}}
	if !killed.IsZero() {
		status.LastTerminationState.Terminated = &corev1.ContainerStateTerminated{Reason: "OOMKilled", StartedAt: metav1.NewTime(killedStart), FinishedAt: metav1.NewTime(killed)}
	}
	start := metav1.NewTime(started)
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "it-1"},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: name, Resources: corev1.ResourceRequirements{Requests: list(request)}}}},
		Status:     corev1.PodStatus{StartTime: &start, ContainerStatuses: []corev1.ContainerStatus{status}},
	}
	said := &vpa_types.RecommendedPodResources{ContainerRecommendations: []vpa_types.RecommendedContainerResources{
		{ContainerName: name, Target: list(target), LowerBound: list(lower), UpperBound: list(upper)}}}
	// Defaults of the updater (pkg/updater/config)
	calculator := priority.NewUpdatePriorityCalculator(object, priority.UpdateConfig{MinChangePriority: 0.1, PodLifetimeUpdateThreshold: 12 * time.Hour,
		EvictAfterOOMThreshold: 10 * time.Minute}, given{said}, priority.NewProcessor())
	calculator.AddPod(pod, now, nil)
	return len(calculator.GetSortedPods(priority.NewDefaultPodEvictionAdmission())) > 0
}

// State of a pod under one way of applying recommendations.
type applied struct {
	updater                   bool
	request                   float64
	started, containerStarted time.Time
	killed, killedStart       time.Time
	told                      figures
}

func (p *applied) next(a *autoscaler, h history, now time.Time, target, lower, upper float64) float64 {
	if p.updater {
		if updates(a.object, h.memory, p.request, p.started, p.containerStarted, p.killed, now, p.killedStart, target, lower, upper) {
			return target
		}
	} else if math.Abs(target-p.request) >= 0.1*p.request {
		return target
	}
	return p.request
}

// All ways share one recommender if it does not see the requests. For memory it does, through kills.
func play(h history, recommender logic.PodResourceRecommender, every int, ways ...*applied) float64 {
	a := newAutoscaler(recommender)
	kind := model.ResourceCPU
	unit := 1.0
	if h.memory {
		kind, unit = model.ResourceMemory, mib
	}
	begun := time.Unix(1_700_000_000, 0)
	for _, way := range ways {
		way.request, way.started, way.containerStarted = h.request*unit, begun, begun
	}
	first := ways[0]
	used := 0.0
	minutes := len(h.samples) * minutesPerSample
	for minute := 0; minute < minutes; minute++ {
		need := h.need(minute) * unit
		at := begun.Add(time.Duration(minute) * time.Minute)
		now := at.Add(time.Minute)
		amounts := model.Resources{model.ResourceCPU: model.CPUAmountFromCores(1), model.ResourceMemory: model.MemoryAmountFromBytes(first.request)}
		if !h.memory {
			amounts = model.Resources{model.ResourceCPU: model.CPUAmountFromCores(first.request), model.ResourceMemory: model.MemoryAmountFromBytes(mib)}
		}
		check(a.cluster.AddOrUpdateContainer(a.container, amounts))
		sample := func(resourceName model.ResourceName, value model.ResourceAmount) {
			check(a.cluster.AddSample(&model.ContainerUsageSampleWithKey{Container: a.container,
				ContainerUsageSample: model.ContainerUsageSample{MeasureStart: at, Usage: value, Resource: resourceName}}))
		}
		if minute%every == 0 {
			if h.memory {
				// The recommender derives the age from CPU samples
				sample(model.ResourceCPU, model.CPUAmountFromCores(0.1))
				sample(model.ResourceMemory, model.MemoryAmountFromBytes(math.Min(need, first.request)))
			} else {
				sample(model.ResourceCPU, model.CPUAmountFromCores(need))
			}
		}
		if h.memory && need > first.request {
			check(a.cluster.RecordOOM(a.container, now, model.MemoryAmountFromBytes(first.request)))
			first.killedStart, first.killed, first.containerStarted = first.containerStarted, now, now
		}
		target, lower, upper := a.says(kind)
		for _, way := range ways {
			next := way.next(a, h, now, target, lower, upper)
			if minute >= h.from {
				way.told.add(h, way.request/unit, need/unit, next != way.request)
			}
			if way.updater && next != way.request { // the updater replaces the pod
				way.started, way.containerStarted, way.killed, way.killedStart = now, now, time.Time{}, time.Time{}
			}
			way.request = next
		}
		if minute >= h.from {
			used += need / unit
		}
	}
	for _, way := range ways {
		way.told.close(float64(minutes - h.from))
	}
	return used / float64(minutes-h.from)
}

func read(line string) (history, error) {
	words := strings.Fields(line)
	if len(words) < 5 || (words[0] != "cpu" && words[0] != "memory") {
		return history{}, fmt.Errorf("no history: %.60s", line)
	}
	h := history{memory: words[0] == "memory", name: words[1]}
	var err error
	if h.from, err = strconv.Atoi(words[2]); err != nil {
		return h, err
	}
	if h.request, err = strconv.ParseFloat(words[3], 64); err != nil {
		return h, err
	}
	for _, word := range words[4:] {
		value, err := strconv.ParseFloat(word, 64)
		if err != nil {
			return h, err
		}
		h.samples = append(h.samples, value)
	}
	return h, nil
}

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: vpa_recommender MINUTES-BETWEEN-SAMPLES <histories")
		os.Exit(2)
	}
	every, err := strconv.Atoi(os.Args[1])
	check(err)
	c := config.DefaultRecommenderConfig()
	recommender := logic.CreatePodResourceRecommender(logic.RecommendationConfig{
		SafetyMarginFraction: c.SafetyMarginFraction, PodMinCPUMillicores: c.PodMinCPUMillicores, PodMinMemoryMb: c.PodMinMemoryMb,
		TargetCPUPercentile: c.TargetCPUPercentile, LowerBoundCPUPercentile: c.LowerBoundCPUPercentile, UpperBoundCPUPercentile: c.UpperBoundCPUPercentile,
		ConfidenceIntervalCPU: c.ConfidenceIntervalCPU, TargetMemoryPercentile: c.TargetMemoryPercentile,
		LowerBoundMemoryPercentile: c.LowerBoundMemoryPercentile, UpperBoundMemoryPercentile: c.UpperBoundMemoryPercentile,
		ConfidenceIntervalMemory: c.ConfidenceIntervalMemory})
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(make([]byte, 1<<20), 1<<24)
	out := json.NewEncoder(os.Stdout)
	for lines.Scan() {
		h, err := read(lines.Text())
		check(err)
		tenth, updater := &applied{}, &applied{updater: true}
		one := played{History: h.name}
		if h.memory {
			one.Used = play(h, recommender, every, tenth)
			play(h, recommender, every, updater)
		} else {
			one.Used = play(h, recommender, every, tenth, updater)
		}
		one.Tenth, one.Updater = tenth.told, updater.told
		check(out.Encode(one))
	}
	check(lines.Err())
}
