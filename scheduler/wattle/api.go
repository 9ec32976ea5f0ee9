//go:build !kube134

package wattle

import fwk "k8s.io/kube-scheduler/framework"

// Names that Kubernetes 1.35 moved.
type (
	handle              = fwk.Handle
	plugin              = fwk.Plugin
	preFilterResult     = fwk.PreFilterResult
	preFilterExtensions = fwk.PreFilterExtensions
	postFilterResult    = fwk.PostFilterResult
	statuses            = fwk.NodeToStatusReader
	scoreExtensions     = fwk.ScoreExtensions
)
