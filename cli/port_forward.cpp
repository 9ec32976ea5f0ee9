#include "cli/port_forward.hpp"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "cli/command.hpp"
#include "common/clock.hpp"
#include "common/parse.hpp"

namespace wattle::cli {
namespace {

constexpr std::chrono::seconds kForwardPatience{15};
constexpr std::size_t kMostOutput = 64 << 10;

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

std::vector<std::string> kubectl_words(const Invocation& invocation, std::span<const std::uint16_t> targets) {
  const ClusterOptions& given = invocation.common.cluster;
  std::vector<std::string> words{"kubectl"};
  const auto add = [&words](const char* option, const std::string& value) {
    if (!value.empty()) words.insert(words.end(), {option, value});
  };
  add("--kubeconfig", given.kubeconfig);
  add("--context", given.context);
  add("--namespace", invocation.common.controller_namespace);
  words.insert(words.end(), {"port-forward", "--address", "127.0.0.1", "service/wattle-controller"});
  for (const std::uint16_t target : targets) words.push_back(":" + std::to_string(target));
  return words;
}

tl::unexpected<Error> not_forwarded(const Invocation& invocation, std::string_view output, bool open) {
  const std::string reported(parse::trim(output));
  if (reported.empty() && !open)
    return fail(Errc::not_found, "kubectl", "cannot be started",
                "install kubectl, or pass --server with your own keys");
  return fail(
      Errc::unavailable, "kubectl port-forward", reported.empty() ? "does not report its ports" : reported,
      reported.find("forbidden") != std::string::npos
          ? "bind the Role wattle-reader to your user (docs/reference/kubernetes.md)"
          : "check the controller's pod: kubectl --namespace " + invocation.common.controller_namespace + " get pods");
}

}  // namespace

std::string forwarded_port(std::string_view output, std::uint16_t target) {
  constexpr std::string_view kFrom = "Forwarding from 127.0.0.1:";
  const std::string to = " -> " + std::to_string(target);
  std::string port;
  parse::for_each_line(output, [&](std::string_view line) {
    if (line.starts_with(kFrom) && line.ends_with(to))
      port = line.substr(kFrom.size(), line.find(' ', kFrom.size()) - kFrom.size());
  });
  return port;
}

Result<PortForward> PortForward::open_(const Invocation& invocation, std::span<const std::uint16_t> targets) {
  PortForward forward;
  WATTLE_TRY(Child child, start_child(kubectl_words(invocation, targets)));
  forward.kubectl_.reset(new Child(std::move(child)));
  std::string output;
  const SystemClock clock;
  const MonoTime until = clock.mono() + kForwardPatience;
  for (bool open = true;;) {
    forward.ports_.clear();
    for (const std::uint16_t target : targets) forward.ports_.push_back(forwarded_port(output, target));
    if (std::ranges::none_of(forward.ports_, &std::string::empty)) return forward;
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - clock.mono());
    if (!open || left.count() <= 0) return not_forwarded(invocation, output, open);
    open = read_some(*forward.kubectl_, left, output);
  }
}

Status PortForward::check() {
  std::string output;
  if (read_some(*kubectl_, std::chrono::milliseconds(0), output)) return {};
  return fail(Errc::unavailable, "kubectl port-forward", "has ended", "run the command again");
}

void PortForward::End::operator()(Child* child) const {
  constexpr int kEndPatience_s = 2;
  end_process(child->process, kEndPatience_s);
  delete child;
}

}  // namespace wattle::cli
