// Package wire has the messages and the service of Cluster Autoscaler's external gRPC provider.
//
// The struct tags are the numbers of cluster-autoscaler/cloudprovider/externalgrpc/protos/externalgrpc.proto. They
// replace generated code, and with it a compiler of protocol buffers. Fields that this provider neither reads nor sets
// are absent.
package wire

import (
	"google.golang.org/protobuf/types/known/anypb"
)

// message makes a struct a message of protocol buffers. Each call decodes into a new struct, so Reset has no effect.
type message struct{}

func (message) Reset()         {}
func (message) String() string { return "" }
func (message) ProtoMessage()  {}

// Empty is a request or an answer without fields that the provider uses.
type Empty struct{ message }

// NodeGroup describes a group. An empty Id in an answer means that Cluster Autoscaler ignores the node.
type NodeGroup struct {
	message
	ID      string `protobuf:"bytes,1,opt,name=id,proto3"`
	MinSize int32  `protobuf:"varint,2,opt,name=minSize,proto3"`
	MaxSize int32  `protobuf:"varint,3,opt,name=maxSize,proto3"`
	Debug   string `protobuf:"bytes,4,opt,name=debug,proto3"`
}

// Node names a node.
type Node struct {
	message
	ProviderID string `protobuf:"bytes,1,opt,name=providerID,proto3"`
	Name       string `protobuf:"bytes,2,opt,name=name,proto3"`
}

// NodeGroups lists all groups.
type NodeGroups struct {
	message
	NodeGroups []*NodeGroup `protobuf:"bytes,1,rep,name=nodeGroups,proto3"`
}

// NodeRequest asks for the group of a node.
type NodeRequest struct {
	message
	Node *Node `protobuf:"bytes,1,opt,name=node,proto3"`
}

// NodeGroupAnswer is the group of a node.
type NodeGroupAnswer struct {
	message
	NodeGroup *NodeGroup `protobuf:"bytes,1,opt,name=nodeGroup,proto3"`
}

// GPULabel is the label of nodes with a GPU.
type GPULabel struct {
	message
	Label string `protobuf:"bytes,1,opt,name=label,proto3"`
}

// GPUTypes has the values of that label as keys.
type GPUTypes struct {
	message
	GPUTypes map[string]*anypb.Any `protobuf:"bytes,1,rep,name=gpuTypes,proto3" protobuf_key:"bytes,1,opt,name=key,proto3" protobuf_val:"bytes,2,opt,name=value,proto3"`
}

// GroupRequest names a group.
type GroupRequest struct {
	message
	ID string `protobuf:"bytes,1,opt,name=id,proto3"`
}

// TargetSize is the number of nodes that run or are waking.
type TargetSize struct {
	message
	TargetSize int32 `protobuf:"varint,1,opt,name=targetSize,proto3"`
}

// SizeRequest changes the size of a group.
type SizeRequest struct {
	message
	Delta int32  `protobuf:"varint,1,opt,name=delta,proto3"`
	ID    string `protobuf:"bytes,2,opt,name=id,proto3"`
}

// DeleteRequest names nodes that Cluster Autoscaler has drained.
type DeleteRequest struct {
	message
	Nodes []*Node `protobuf:"bytes,1,rep,name=nodes,proto3"`
	ID    string  `protobuf:"bytes,2,opt,name=id,proto3"`
}

// Values of InstanceStatus.State.
const (
	InstanceRunning  = 1
	InstanceCreating = 2
)

// InstanceStatus is an enumeration on the wire.
type InstanceStatus struct {
	message
	State int32 `protobuf:"varint,1,opt,name=instanceState,proto3"`
}

// Instance is a node by its spec.providerID.
type Instance struct {
	message
	ID     string          `protobuf:"bytes,1,opt,name=id,proto3"`
	Status *InstanceStatus `protobuf:"bytes,2,opt,name=status,proto3"`
}

// Instances lists the instances of a group.
type Instances struct {
	message
	Instances []*Instance `protobuf:"bytes,1,rep,name=instances,proto3"`
}

// Template is a v1.Node in protocol buffers. Before version 1.33, Cluster Autoscaler reads it as a message of number 1;
// since then as bytes of number 2. Both look the same on the wire.
type Template struct {
	message
	Node      []byte `protobuf:"bytes,1,opt,name=nodeInfo,proto3"`
	NodeBytes []byte `protobuf:"bytes,2,opt,name=nodeBytes,proto3"`
}

// GetName returns the name, also of an absent node.
func (n *Node) GetName() string {
	if n == nil {
		return ""
	}
	return n.Name
}
