package wire

import (
	"context"

	"google.golang.org/grpc"
)

// Service is the full name of the service.
const Service = "clusterautoscaler.cloudprovider.v1.externalgrpc.CloudProvider"

// Provider answers the calls of Cluster Autoscaler. Prices and new groups are not supported.
type Provider interface {
	Refresh(context.Context, *Empty) (*Empty, error)
	Cleanup(context.Context, *Empty) (*Empty, error)
	NodeGroups(context.Context, *Empty) (*NodeGroups, error)
	NodeGroupForNode(context.Context, *NodeRequest) (*NodeGroupAnswer, error)
	GPULabel(context.Context, *Empty) (*GPULabel, error)
	GetAvailableGPUTypes(context.Context, *Empty) (*GPUTypes, error)
	NodeGroupTargetSize(context.Context, *GroupRequest) (*TargetSize, error)
	NodeGroupIncreaseSize(context.Context, *SizeRequest) (*Empty, error)
	NodeGroupDeleteNodes(context.Context, *DeleteRequest) (*Empty, error)
	NodeGroupDecreaseTargetSize(context.Context, *SizeRequest) (*Empty, error)
	NodeGroupNodes(context.Context, *GroupRequest) (*Instances, error)
	NodeGroupTemplateNodeInfo(context.Context, *GroupRequest) (*Template, error)
	NodeGroupGetOptions(context.Context, *GroupRequest) (*Empty, error)
}

// Register adds the service to a server.
func Register(server *grpc.Server, provider Provider) {
	server.RegisterService(&grpc.ServiceDesc{
		ServiceName: Service,
		HandlerType: (*Provider)(nil),
		Methods: []grpc.MethodDesc{
			method("Refresh", provider.Refresh),
			method("Cleanup", provider.Cleanup),
			method("NodeGroups", provider.NodeGroups),
			method("NodeGroupForNode", provider.NodeGroupForNode),
			method("GPULabel", provider.GPULabel),
			method("GetAvailableGPUTypes", provider.GetAvailableGPUTypes),
			method("NodeGroupTargetSize", provider.NodeGroupTargetSize),
			method("NodeGroupIncreaseSize", provider.NodeGroupIncreaseSize),
			method("NodeGroupDeleteNodes", provider.NodeGroupDeleteNodes),
			method("NodeGroupDecreaseTargetSize", provider.NodeGroupDecreaseTargetSize),
			method("NodeGroupNodes", provider.NodeGroupNodes),
			method("NodeGroupTemplateNodeInfo", provider.NodeGroupTemplateNodeInfo),
			method("NodeGroupGetOptions", provider.NodeGroupGetOptions),
		},
	}, provider)
}

func method[Request, Answer any](name string, call func(context.Context, *Request) (*Answer, error)) grpc.MethodDesc {
	return grpc.MethodDesc{MethodName: name, Handler: func(server any, ctx context.Context, decode func(any) error,
		around grpc.UnaryServerInterceptor) (any, error) {
		request := new(Request)
		if err := decode(request); err != nil {
			return nil, err
		}
		handle := func(ctx context.Context, request any) (any, error) { return call(ctx, request.(*Request)) }
		if around == nil {
			return handle(ctx, request)
		}
		return around(ctx, request, &grpc.UnaryServerInfo{Server: server, FullMethod: "/" + Service + "/" + name}, handle)
	}}
}
