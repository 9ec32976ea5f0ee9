#include "cli/cluster_route.hpp"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <utility>
#include <vector>

#include "cli/cluster.hpp"
#include "cli/command.hpp"
#include "cli/view.hpp"
#include "common/base64.hpp"
#include "common/clock.hpp"
#include "common/parse.hpp"
#include "common/transport/allow_edit.hpp"

namespace wattle::cli {
namespace {

constexpr std::chrono::seconds kForwardPatience{15};
constexpr std::size_t kMostOutput = 64 << 10;

std::string without_newline(std::string_view text) { return std::string(parse::trim(text)); }

std::string port_before(std::string_view output, std::string_view target) {
  constexpr std::string_view kFrom = "Forwarding from 127.0.0.1:";
  std::string port;
  parse::for_each_line(output, [&](std::string_view line) {
    if (line.starts_with(kFrom) && line.ends_with(target))
      port = line.substr(kFrom.size(), line.find(' ', kFrom.size()) - kFrom.size());
  });
  return port;
}

// Appends available output. False: the program has closed it.
bool read_some(const Child& child, std::chrono::milliseconds patience, std::string& output) {
  pollfd waiting{child.output.get(), POLLIN, 0};
  if (::poll(&waiting, 1, static_cast<int>(patience.count())) <= 0) return true;
  std::array<char, 4096> buffer{};
  const ssize_t got = ::read(child.output.get(), buffer.data(), buffer.size());
  if (got < 0 && errno == EINTR) return true;
  if (got <= 0 || output.size() > kMostOutput) return false;
  output.append(buffer.data(), static_cast<std::size_t>(got));
  return true;
}

}  // namespace

ForwardedPorts forwarded_ports(std::string_view output) {
  return {port_before(output, " -> 7462"), port_before(output, " -> 7461")};
}

Result<std::shared_ptr<const ClusterRoute>> ClusterRoute::open_(const Invocation& invocation) {
  const std::string& name_space = invocation.common.controller_namespace;
  const std::string role = invocation.common.as_operator ? "operator" : "reader";
  std::shared_ptr<ClusterRoute> route(new ClusterRoute);
  route->key_source_ = "Secret " + name_space + "/wattle-" + role;
  WATTLE_TRY(Cluster cluster, Cluster::open_(invocation));
  const std::string path = "/api/v1/namespaces/" + name_space;
  WATTLE_TRY(const auto secret, cluster.find(path + "/secrets/wattle-" + role));
  if (!secret)
    return fail(Errc::not_found, route->key_source_, "the cluster has no such Secret",
                "install Wattle there (docs/how-to/install-kubernetes.md), or pass --controller-namespace");
  const auto text = base64_decode(View(*secret)["data"][role + ".key"].text_or(""));
  WATTLE_TRY(route->key_, transport::KeyPair::parse(text.value_or(""), route->key_source_));
  WATTLE_TRY(const auto map, cluster.get(path + "/configmaps/wattle-public"));
  route->server_key_ = without_newline(View(map)["data"]["controller.pub"].text_or(""));
  if (!transport::is_public_key(route->server_key_))
    return fail(Errc::malformed, "ConfigMap " + name_space + "/wattle-public", "has no key in controller.pub",
                "delete the ConfigMap and run `wattle keys bootstrap`");
  WATTLE_CHECK(route->forward(invocation));
  return std::shared_ptr<const ClusterRoute>(std::move(route));
}

Status ClusterRoute::forward(const Invocation& invocation) {
  const ClusterOptions& given = invocation.common.cluster;
  std::vector<std::string> words{"kubectl"};
  const auto add = [&words](const char* option, const std::string& value) {
    if (!value.empty()) words.insert(words.end(), {option, value});
  };
  add("--kubeconfig", given.kubeconfig);
  add("--context", given.context);
  add("--namespace", invocation.common.controller_namespace);
  words.insert(words.end(), {"port-forward", "--address", "127.0.0.1", "service/wattle-controller", ":7462", ":7461"});
  WATTLE_TRY(kubectl_, start_child(words));
  std::string output;
  const SystemClock clock;
  const MonoTime until = clock.mono() + kForwardPatience;
  bool open = true;
  for (;;) {
    const ForwardedPorts ports = forwarded_ports(output);
    if (!ports.ask.empty() && !ports.feed.empty()) {
      server_ = "tcp://127.0.0.1:" + ports.ask;
      feed_ = "tcp://127.0.0.1:" + ports.feed;
      return {};
    }
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - clock.mono());
    if (!open || left.count() <= 0) break;
    open = read_some(kubectl_, left, output);
  }
  const std::string said = without_newline(output);
  if (said.empty() && !open)
    return fail(Errc::not_found, "kubectl", "cannot be started",
                "install kubectl, or pass --server with your own keys");
  return fail(
      Errc::unavailable, "kubectl port-forward", said.empty() ? "does not report its ports" : said,
      said.find("forbidden") != std::string::npos
          ? "bind the Role wattle-reader to your user (docs/reference/kubernetes.md)"
          : "check the controller's pod: kubectl --namespace " + invocation.common.controller_namespace + " get pods");
}

ClusterRoute::~ClusterRoute() {
  constexpr int kEndPatience_s = 2;
  if (kubectl_.process.pid > 0) end_process(kubectl_.process, kEndPatience_s);
}

}  // namespace wattle::cli
