package wattle

import (
	"context"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

const (
	wantsAllFor     = 10 * time.Minute
	mostAttempts    = 10000 // pods that are remembered
	firstActivation = time.Millisecond
	lastActivation  = time.Second
)

// attempts remembers the pods that no named node could take. Their next attempts consider all nodes, and the first of
// them starts at once.
type attempts struct {
	ctx      context.Context
	activate func(*v1.Pod)

	mutex sync.Mutex // guards pods
	pods  map[types.UID]*attempt
}

type attempt struct {
	until time.Time
	begun bool // the attempt with all nodes has started
}

func newAttempts(ctx context.Context, activate func(*v1.Pod)) *attempts {
	return &attempts{ctx: ctx, activate: activate, pods: map[types.UID]*attempt{}}
}

// wantsAll returns whether this attempt considers all nodes.
func (a *attempts) wantsAll(uid types.UID) bool {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	one, found := a.pods[uid]
	if !found {
		return false
	}
	one.begun = true
	if time.Now().After(one.until) {
		delete(a.pods, uid)
		return false
	}
	return true
}

// start begins the next attempt of a pod whose cycle is about to fail. kube-scheduler puts the pod back into its queue
// only after the cycle, and reports neither that nor whether an activation had an effect: so it is repeated until the
// attempt begins.
func (a *attempts) start(pod *v1.Pod) {
	now := time.Now()
	a.mutex.Lock()
	defer a.mutex.Unlock()
	if len(a.pods) >= mostAttempts {
		for uid, one := range a.pods {
			if now.After(one.until) || len(a.pods) >= mostAttempts {
				delete(a.pods, uid)
			}
		}
	}
	one := &attempt{until: now.Add(wantsAllFor)}
	a.pods[pod.UID] = one
	go a.repeat(pod, one)
}

func (a *attempts) repeat(pod *v1.Pod, one *attempt) {
	for pause := firstActivation; pause <= lastActivation; pause *= 2 {
		select {
		case <-a.ctx.Done():
			return
		case <-time.After(pause):
		}
		a.mutex.Lock()
		begun := one.begun
		a.mutex.Unlock()
		if begun {
			return
		}
		a.activate(pod)
	}
}
