// call: one call of Cluster Autoscaler's client, for tests: its configuration file, wire format and deadline.
//
// Usage: call CLOUD-CONFIG METHOD [REQUEST]. Request and answer are JSON with the field names of package wire. A
// template is printed as the Node that it contains. Exit 1 with code and message of a failed call.
package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"wattle.dev/autoscaler/wire"
)

type cloudConfig struct {
	Address     string           `json:"address"`
	Key         string           `json:"key"`
	Cert        string           `json:"cert"`
	CACert      string           `json:"cacert"`
	GRPCTimeout *metav1.Duration `json:"grpc_timeout"`
}

var methods = map[string][2]any{
	"Refresh":                     {&wire.Empty{}, &wire.Empty{}},
	"NodeGroups":                  {&wire.Empty{}, &wire.NodeGroups{}},
	"NodeGroupForNode":            {&wire.NodeRequest{}, &wire.NodeGroupAnswer{}},
	"NodeGroupTargetSize":         {&wire.GroupRequest{}, &wire.TargetSize{}},
	"NodeGroupIncreaseSize":       {&wire.SizeRequest{}, &wire.Empty{}},
	"NodeGroupDeleteNodes":        {&wire.DeleteRequest{}, &wire.Empty{}},
	"NodeGroupDecreaseTargetSize": {&wire.SizeRequest{}, &wire.Empty{}},
	"NodeGroupNodes":              {&wire.GroupRequest{}, &wire.Instances{}},
	"NodeGroupTemplateNodeInfo":   {&wire.GroupRequest{}, &wire.Template{}},
}

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(arguments []string) error {
	if len(arguments) < 2 || len(arguments) > 3 || methods[arguments[1]][0] == nil {
		return fmt.Errorf("usage: call CLOUD-CONFIG METHOD [REQUEST]")
	}
	text, err := os.ReadFile(arguments[0])
	if err != nil {
		return err
	}
	config := cloudConfig{GRPCTimeout: &metav1.Duration{Duration: 5 * time.Second}}
	if err := yaml.UnmarshalStrict(text, &config); err != nil {
		return err
	}
	connection, err := connect(config)
	if err != nil {
		return err
	}
	defer connection.Close()
	request, answer := methods[arguments[1]][0], methods[arguments[1]][1]
	if len(arguments) == 3 {
		if err := json.Unmarshal([]byte(arguments[2]), request); err != nil {
			return err
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), config.GRPCTimeout.Duration)
	defer cancel()
	if err := connection.Invoke(ctx, "/"+wire.Service+"/"+arguments[1], request, answer); err != nil {
		return err
	}
	if template, is := answer.(*wire.Template); is {
		node := new(corev1.Node)
		if err := node.Unmarshal(template.NodeBytes); err != nil {
			return err
		}
		answer = node
	}
	return json.NewEncoder(os.Stdout).Encode(answer)
}

func connect(config cloudConfig) (*grpc.ClientConn, error) {
	host, _, err := net.SplitHostPort(config.Address)
	if err != nil {
		return nil, err
	}
	certificate, err := tls.LoadX509KeyPair(config.Cert, config.Key)
	if err != nil {
		return nil, err
	}
	pem, err := os.ReadFile(config.CACert)
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(pem)
	return grpc.NewClient(config.Address, grpc.WithTransportCredentials(credentials.NewTLS(
		&tls.Config{ServerName: host, Certificates: []tls.Certificate{certificate}, RootCAs: pool})))
}
