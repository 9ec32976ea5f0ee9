// cadvisor_main: serves cAdvisor's manager and collector, as the kubelet embeds them, with the default metrics of
// cAdvisor's own program.
// Why      cAdvisor's program is a separate module that module proxies do not carry; peers.py builds this one in a copy
//          of the library
// Note     -fixed: every cgroup each second, which the library spreads to one to two seconds; else idle ones as rarely
//          as once a minute
package main

import (
	"flag"
	"log"
	"net/http"
	"time"

	"github.com/google/cadvisor/cache/memory"
	"github.com/google/cadvisor/container"
	_ "github.com/google/cadvisor/container/systemd/install"
	"github.com/google/cadvisor/info/v2"
	"github.com/google/cadvisor/manager"
	"github.com/google/cadvisor/metrics"
	"github.com/google/cadvisor/utils/sysfs"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"k8s.io/utils/clock"
)

func main() {
	address := flag.String("address", "127.0.0.1:8080", "address to serve")
	fixed := flag.Bool("fixed", false, "read every cgroup each second")
	flag.Parse()
	wanted := container.AllMetrics.Difference(container.MetricSet{
		container.CPUSetMetrics: {}, container.CPUTopologyMetrics: {}, container.HugetlbUsageMetrics: {}, container.MemoryNumaMetrics: {},
		container.NetworkAdvancedTcpUsageMetrics: {}, container.NetworkTcpUsageMetrics: {}, container.NetworkUdpUsageMetrics: {},
		container.ProcessMetrics: {}, container.ProcessSchedulerMetrics: {}, container.ReferencedMemoryMetrics: {}, container.ResctrlMetrics: {},
	})
	longest, dynamic := time.Minute, true
	if *fixed {
		longest, dynamic = time.Second, false
	}
	housekeeping := manager.HousekeepingConfig{Interval: &longest, AllowDynamic: &dynamic}
	cadvisor, err := manager.New(memory.New(2*time.Minute, nil), sysfs.NewRealSysFs(), housekeeping, wanted, http.DefaultClient,
		[]string{""}, nil, "", 0)
	if err != nil {
		log.Fatal(err)
	}
	if err := cadvisor.Start(); err != nil {
		log.Fatal(err)
	}
	registry := prometheus.NewRegistry()
	registry.MustRegister(metrics.NewPrometheusCollector(cadvisor, metrics.DefaultContainerLabels, wanted, clock.RealClock{},
		v2.RequestOptions{IdType: v2.TypeName, Count: 1, Recursive: true}))
	http.Handle("/metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{}))
	log.Fatal(http.ListenAndServe(*address, nil))
}
