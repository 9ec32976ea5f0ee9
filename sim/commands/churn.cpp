#include <CLI/CLI.hpp>
#include <cstdio>

#include "common/clock.hpp"
#include "common/formatted.hpp"
#include "common/printable.hpp"
#include "common/stop_signal.hpp"
#include "sim/commands/commands.hpp"
#include "sim/commands/typed.hpp"
#include "sim/live/churn.hpp"

namespace wattle::sim::commands {

using namespace live;
namespace {

constexpr std::chrono::seconds kTimeout{30};

// Twelve hex digits of the current time: runs that begin in different microseconds have different names.
std::string run_name(const Clock& clock) {
  const auto us = static_cast<unsigned long long>(to_ns(clock.wall()) / 1000);
  return formatted("%012llx", us & 0xffff'ffff'ffffULL);
}

int create_and_delete(const ChurnOptions& options, const kube::ApiServer& server, bool sweep, bool as_json) {
  auto stop = StopSignal::open_();
  if (!stop) return failed("churn", stop.error());
  const SystemClock clock;
  kube::HttpApi api(server, kTimeout, kTimeout);
  Churn churn(options, api, clock, [&](Duration time) { return !stop->wait(time); });
  if (sweep) {
    const auto left = churn.sweep();
    return left ? 0 : failed("churn", left.error());
  }
  const Status ran = churn.run();
  const auto left = churn.clear();
  std::printf("%s", as_json ? (churn_json(options, churn.figures()) + "\n").c_str()
                            : churn_text(options, churn.figures()).c_str());
  if (!ran) return failed("churn", ran.error());
  if (!left) return failed("churn", left.error());
  if (*left > 0)
    return failed("churn", {Errc::timeout, std::to_string(*left) + " pods", "were deleted but still exist",
                            "check them with kubectl; `wattle-sim churn --sweep` deletes them again"});
  return 0;
}

}  // namespace

int churn(int argc, char** argv) {
  CLI::App app(
      "Creates and deletes pods on a Kubernetes API server: test1 creates --pods pods, waits for their nodes, deletes "
      "all, "
      "and repeats; "
      "test2 keeps a window of --pods pods, deleting the oldest and creating one. All pods are deleted at the end",
      "wattle-sim churn");
  ChurnOptions options;
  std::string api, token, ca, driver = "test1", output = "text";
  bool sweep = false;
  app.add_option("driver", driver, "test1 or test2")->check(CLI::IsMember({"test1", "test2"}));
  app.add_option("--kube", api, "URL of the Kubernetes API server (default: that of the pod)");
  app.add_option("--kube-token", token, "file with the bearer token");
  app.add_option("--kube-ca", ca, "PEM file with the CA of the server's certificate");
  app.add_option("--namespace", options.pod_namespace, "namespace of the pods")->capture_default_str();
  app.add_option("--scheduler", options.scheduler, "schedulerName of the pods")->capture_default_str();
  add_checked(app, "--pods", options.pods, "number of pods at a time", CLI::Range(1, 10'000));
  add_checked(app, "--turns", options.turns, "number of repetitions", CLI::Range(1, 1'000'000));
  app.add_option("--cpu", options.cpu, "CPU request of a pod")->capture_default_str();
  app.add_option("--memory", options.memory, "memory request of a pod")->capture_default_str();
  app.add_option("-o,--output", output, "output format: text or json")->check(CLI::IsMember({"text", "json"}));
  app.add_flag("--sweep", sweep, "delete pods of killed runs in the namespace, and exit");
  if (const auto code = parse(app, argc, argv)) return *code;
  options.driver = driver == "test1" ? ChurnDriver::batch : ChurnDriver::window;
  if (options.pod_namespace.empty() ||
      options.pod_namespace.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-") != std::string::npos) {
    std::fprintf(stderr, "wattle-sim: churn: --namespace: '%s' is not the name of a namespace\n",
                 printable(options.pod_namespace).c_str());
    return 2;
  }
  options.run = run_name(SystemClock());
  if (api.empty()) {
    const auto server = kube::in_cluster();
    return server ? create_and_delete(options, *server, sweep, output == "json") : failed("churn", server.error());
  }
  auto origin = kube::parse_url(api);
  if (!origin) return failed("churn", origin.error());
  if (origin->tls) origin->tls->ca_file = ca;
  return create_and_delete(options, {std::move(*origin), token}, sweep, output == "json");
}

}  // namespace wattle::sim::commands
