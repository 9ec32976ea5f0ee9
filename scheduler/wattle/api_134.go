//go:build kube134

package wattle

import "k8s.io/kubernetes/pkg/scheduler/framework"

type (
	handle              = framework.Handle
	plugin              = framework.Plugin
	preFilterResult     = framework.PreFilterResult
	preFilterExtensions = framework.PreFilterExtensions
	postFilterResult    = framework.PostFilterResult
	statuses            = framework.NodeToStatusReader
	scoreExtensions     = framework.ScoreExtensions
)
