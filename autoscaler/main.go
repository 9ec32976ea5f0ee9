// wattle-autoscaler: the external gRPC provider of Cluster Autoscaler over nodes that Wattle puts to sleep.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"syscall"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"

	"wattle.dev/autoscaler/provider"
	"wattle.dev/autoscaler/wire"
)

// longestCall bounds each call, whatever deadline the client sets.
const longestCall = time.Minute

func main() {
	path := flag.String("config", "", "configuration file (required)")
	check := flag.Bool("check-config", false, "check the configuration, then end")
	flag.Parse()
	// Administrators send SIGHUP to make services reread their configuration. As in Wattle's other services, it ends
	// nothing without a terminal.
	if terminal, err := os.Open("/dev/tty"); err == nil {
		terminal.Close()
	} else {
		signal.Ignore(syscall.SIGHUP)
	}
	if err := run(*path, *check, flag.NArg()); err != nil {
		fmt.Fprintf(os.Stderr, "wattle-autoscaler: %v\n", err)
		os.Exit(1)
	}
}

func run(path string, check bool, more int) error {
	if path == "" || more > 0 {
		return errors.New("needs --config FILE, and nothing else but --check-config")
	}
	config, err := provider.ReadConfig(path)
	if err != nil || check {
		return err
	}
	log := slog.New(slog.NewJSONHandler(os.Stderr, nil))
	answers, err := provider.New(config, log)
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", config.Listen)
	if err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	server := grpc.NewServer(grpc.Creds(credentials.NewTLS(config.ServerTLS())), grpc.UnaryInterceptor(bound))
	wire.Register(server, answers)
	log.Info("Cluster Autoscaler can connect", "address", listener.Addr().String())
	ended, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	go func() {
		<-ended.Done()
		server.GracefulStop()
	}()
	return server.Serve(listener)
}

func bound(ctx context.Context, request any, _ *grpc.UnaryServerInfo, handle grpc.UnaryHandler) (any, error) {
	ctx, cancel := context.WithTimeout(ctx, longestCall)
	defer cancel()
	return handle(ctx, request)
}
