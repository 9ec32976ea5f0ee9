// doctor_setup: checks the configuration and the machine before the agent is put into service.
#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>

#include "agent/doctor.hpp"
#include "common/clock.hpp"
#include "common/dir.hpp"
#include "common/http/certificate.hpp"
#include "common/http/token.hpp"
#include "common/transport/keys.hpp"
#include "common/transport/sockets.hpp"

namespace wattle::agent {

namespace {
// 2024-01-01: an earlier wall clock was never set.
constexpr std::int64_t kPlausible_ns = 1'704'067'200'000'000'000;
// Enough for one descriptor per cgroup of a busy node, and some per workload.
constexpr rlim_t kDescriptors = 16'384;
constexpr std::chrono::seconds kConnect{5};

template <class T>
Finding finding_of(std::string source, const Result<T>& result, const std::string& what) {
  return result ? usable(std::move(source), what, false) : lost(std::move(source), result.error(), false);
}

Status writable(const std::string& folder) {
  WATTLE_TRY(const Dir dir, Dir::open_(folder));
  if (::access(folder.c_str(), W_OK | X_OK) != 0)
    return fail_errno(errno, folder, "chown it to the user that the agent runs as");
  return {};
}

// Connects to the controller as the link does: by name, over every address, with a handshake.
Status reach(const ControllerConfig& controller) {
  transport::ClientOptions options;
  options.endpoint = controller.endpoint;
  WATTLE_TRY(options.key, transport::KeyPair::load(controller.key_file));
  WATTLE_CHECK(options.read_server_keys(controller.server_key_file));
  transport::Context context;
  WATTLE_TRY(auto client, transport::Client::connect(context, options));
  const SystemClock clock;
  const MonoTime until = clock.mono() + kConnect;
  for (;;) {
    const transport::Link link = client.link();
    if (link == transport::Link::up) return {};
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - clock.mono());
    const std::string problem = client.link_problem();
    if (link == transport::Link::refused || left.count() <= 0)
      return fail(link == transport::Link::refused ? Errc::denied : Errc::unavailable, controller.endpoint,
                  problem.empty() ? "no connection within 5 s" : problem,
                  "check that the controller runs there and that no firewall blocks the connection");
    client.wait_writable(left);
  }
}

// A certificate that ends within a month is still usable, but is reported in time.
Finding certificate_finding(const std::string& file, WallTime now) {
  const auto end = http::certificate_file_end(file);
  if (!end) return lost("certificate", end.error());
  const auto soon = http::ends_soon(*end, now);
  if (!soon) return usable("certificate", file);
  return {"certificate", false, *end > now, file + " " + *soon, "renew the certificate; the agent reloads the file"};
}

bool loopback(const std::string& address) { return address.starts_with("127.") || address == "::1"; }
}  // namespace

std::vector<Finding> examine_machine(const AgentConfig& config) {
  if (config.roots.captured) return {};
  std::vector<Finding> out;
  if (to_ns(SystemClock().wall()) < kPlausible_ns)
    out.push_back({"clock", false, true, "the wall clock was never set",
                   "enable NTP; only displayed times and logs use the wall clock"});
  else
    out.push_back(usable("clock", "CLOCK_REALTIME is set"));
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) == 0) {
    const std::string why = "at most " + std::to_string(limit.rlim_max) + " open files";
    if (limit.rlim_max < kDescriptors)
      out.push_back({"descriptors", false, true, why, "LimitNOFILE=65536 in the unit, or ulimit -Hn 65536"});
    else
      out.push_back(usable("descriptors", why));
  }
  return out;
}

std::vector<Finding> examine_setup(const AgentConfig& config) {
  std::vector<Finding> out;
  const auto& controller = config.controller;
  if (!controller.endpoint.empty()) {
    out.push_back(finding_of("key", transport::KeyPair::load(controller.key_file), controller.key_file));
    out.push_back(
        finding_of("server-key", transport::load_server_keys(controller.server_key_file), controller.server_key_file));
    const auto reached = reach(controller);
    out.push_back(reached ? usable("controller", controller.endpoint + " accepts this agent")
                          : lost("controller", reached.error()));
  }
  if (!controller.endpoint.empty() || config.http_port)
    out.push_back(finding_of("state", writable(config.state_dir), config.state_dir));
  if (config.provisioning.pod_limits)
    out.push_back({"pod-limits", false, true,
                   "provisioning.pod_limits: Kubernetes supports only limits that the kubelet sets",
                   "set it to false and use level `requests` (wattle provision set)"});
  if (config.http_port && !config.http_access.token_file.empty())
    out.push_back(finding_of("token", http::Token::load(config.http_access.token_file), config.http_access.token_file));
  else if (config.http_port && config.http_access.tls.certificate.empty() && !loopback(config.http_address))
    out.push_back({"token", false, true,
                   "/metrics on " + config.http_address + " is readable by everybody and contains energy values",
                   "set http.token_file or http.tls, or restrict access with a firewall or a network policy"});
  if (config.http_port && !config.http_access.tls.certificate.empty())
    out.push_back(certificate_finding(config.http_access.tls.certificate, SystemClock().wall()));
  return out;
}

}  // namespace wattle::agent
