package wire

import (
	"bytes"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/protoadapt"
	"google.golang.org/protobuf/types/known/anypb"
)

func text(number protowire.Number, value string) []byte {
	return protowire.AppendString(protowire.AppendTag(nil, number, protowire.BytesType), value)
}

func number(number protowire.Number, value int64) []byte {
	return protowire.AppendVarint(protowire.AppendTag(nil, number, protowire.VarintType), uint64(value))
}

func join(parts ...[]byte) []byte { return bytes.Join(parts, nil) }

// The numbers are those of externalgrpc.proto, written down once more.
func TestMessagesHaveTheNumbersOfTheProtocol(t *testing.T) {
	group := &NodeGroup{ID: "g", MinSize: 1, MaxSize: 3, Debug: "d"}
	groupBytes := join(text(1, "g"), number(2, 1), number(3, 3), text(4, "d"))
	node := &Node{ProviderID: "p://n", Name: "n"}
	nodeBytes := join(text(1, "p://n"), text(2, "n"))
	for _, each := range []struct {
		message protoadapt.MessageV1
		want    []byte
	}{
		{&Empty{}, nil},
		{&NodeGroups{NodeGroups: []*NodeGroup{group, group}}, join(text(1, string(groupBytes)), text(1, string(groupBytes)))},
		{&NodeRequest{Node: node}, text(1, string(nodeBytes))},
		{&NodeGroupAnswer{NodeGroup: group}, text(1, string(groupBytes))},
		{&NodeGroupAnswer{NodeGroup: &NodeGroup{}}, text(1, "")},
		{&GPULabel{Label: "l"}, text(1, "l")},
		{&GPUTypes{GPUTypes: map[string]*anypb.Any{"t": {}}}, text(1, string(join(text(1, "t"), text(2, ""))))},
		{&GroupRequest{ID: "g"}, text(1, "g")},
		{&TargetSize{TargetSize: 7}, number(1, 7)},
		{&SizeRequest{Delta: -2, ID: "g"}, join(number(1, -2), text(2, "g"))},
		{&DeleteRequest{Nodes: []*Node{node}, ID: "g"}, join(text(1, string(nodeBytes)), text(2, "g"))},
		{&Instances{Instances: []*Instance{{ID: "p://n", Status: &InstanceStatus{State: InstanceCreating}}}},
			text(1, string(join(text(1, "p://n"), text(2, string(number(1, 2))))))},
		{&Template{Node: []byte("a"), NodeBytes: []byte("b")}, join(text(1, "a"), text(2, "b"))},
	} {
		got, err := proto.MarshalOptions{Deterministic: true}.Marshal(protoadapt.MessageV2Of(each.message))
		if err != nil || !bytes.Equal(got, each.want) {
			t.Errorf("%T: %x, want %x (%v)", each.message, got, each.want, err)
		}
	}
}

func TestARequestOfCallersMayHaveMoreFields(t *testing.T) {
	labels := text(3, string(join(text(1, "zone"), text(2, "a"))))
	bytes := text(1, string(join(text(2, "n1"), labels)))
	request := &NodeRequest{}
	if err := proto.Unmarshal(bytes, protoadapt.MessageV2Of(request)); err != nil || request.Node.GetName() != "n1" {
		t.Errorf("%+v: %v", request, err)
	}
	if err := proto.Unmarshal([]byte{0x0a, 0x7f}, protoadapt.MessageV2Of(&NodeRequest{})); err == nil {
		t.Error("a message that ends early is accepted")
	}
}
