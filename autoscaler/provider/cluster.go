package provider

import (
	"bytes"
	"context"
	"fmt"
	"net/http"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

const protobufType = "application/vnd.kubernetes.protobuf"

// protobufPrefix begins each answer of that type.
var protobufPrefix = []byte("k8s\x00")

// cluster reads Nodes from the API server.
type cluster struct {
	rest      *rest
	tokenFile string
}

// nodes returns all Nodes by name. The API server answers from its cache.
func (c *cluster) nodes(ctx context.Context) (map[string]*corev1.Node, error) {
	status, body, err := c.rest.do(ctx, http.MethodGet, "/api/v1/nodes?resourceVersion=0", protobufType, c.tokenFile, nil)
	if err != nil {
		return nil, fmt.Errorf("the API server does not answer: %w (check kubernetes.server)", err)
	}
	if status != http.StatusOK {
		return nil, fmt.Errorf("the API server answers HTTP %d to a list of nodes (give the service account the verb list on nodes)", status)
	}
	list, err := readNodes(body)
	if err != nil {
		return nil, fmt.Errorf("the API server's list of nodes is malformed: %w (check kubernetes.server)", err)
	}
	byName := make(map[string]*corev1.Node, len(list.Items))
	for i := range list.Items {
		byName[list.Items[i].Name] = &list.Items[i]
	}
	return byName, nil
}

func readNodes(body []byte) (*corev1.NodeList, error) {
	rest, found := bytes.CutPrefix(body, protobufPrefix)
	if !found {
		return nil, fmt.Errorf("it is not %s", protobufType)
	}
	var envelope runtime.Unknown
	if err := envelope.Unmarshal(rest); err != nil {
		return nil, err
	}
	list := new(corev1.NodeList)
	return list, list.Unmarshal(envelope.Raw)
}
