#include "controller/power/ipmi_power.hpp"

#include <string>
#include <string_view>

#include "controller/power/bounded_process.hpp"
#include "controller/power/credentials.hpp"
#include "controller/power/kept_output.hpp"
#include "controller/power/time_left.hpp"

namespace wattle::controller::power {
namespace {

// Output of `ipmitool -v` for each cause; without -v, all causes have the same text.
struct Cause {
  std::string_view text;
  Errc code;
  const char* fix;  // empty: the credentials file
};
constexpr Cause kCauses[] = {
    {"HMAC is invalid", Errc::denied, ""},
    {"unauthorized name", Errc::denied, ""},
    {"Insufficient privilege level", Errc::denied, "give the user the privilege OPERATOR on the BMC"},
    {"no matching cipher suite", Errc::unsupported, "set ipmi.cipher_suite to one that the BMC has, for example 3"},
    {"invalid authentication algorithm", Errc::unsupported,
     "set ipmi.cipher_suite to one that the BMC has, for example 3"},
    {"Get Auth Capabilities error", Errc::unavailable, "check ipmi.address and that IPMI over LAN is on in the BMC"},
    {"Address lookup", Errc::unavailable, "check ipmi.address"},
};

std::string subject_of(const std::string& address, int port) {
  return "ipmi://" + address + ":" + std::to_string(port);
}

class IpmiPower final : public NodePower {
 public:
  IpmiPower(IpmiConfig config, const Clock& clock) : config_(std::move(config)), clock_(clock) {}

  Result<Capabilities> probe(const Node& node, std::chrono::milliseconds limit) override {
    WATTLE_CHECK(read_state(node, TimeLeft(clock_, limit)));
    return Capabilities{.depths = {Depth::off}, .can_wake = true, .can_observe = true};
  }

  Status sleep(const Node& node, Depth depth, const Operation& operation) override {
    if (depth != Depth::off)
      return fail(Errc::unsupported, node.name, "IPMI turns a node off and knows no other depth", "sleep it by off");
    return turn(node, PowerState::off, "soft", operation);
  }

  Status wake(const Node& node, const Operation& operation) override {
    return turn(node, PowerState::on, "on", operation);
  }

  Result<Observation> observe(const Node& node, std::chrono::milliseconds limit) override {
    WATTLE_TRY(const PowerState state, read_state(node, TimeLeft(clock_, limit)));
    return Observation{state};
  }

 private:
  Result<std::string> run(const Node& node, const char* command, const TimeLeft& time) const {
    WATTLE_TRY(const std::string address, for_node(config_.address, node));
    WATTLE_TRY(const std::string file, for_node(config_.credentials_file, node));
    WATTLE_TRY(const Credentials credentials, read_credentials(file));
    const Program program{
        {"ipmitool", "-v", "-I", "lanplus", "-H", address, "-p", std::to_string(config_.port), "-U", credentials.user,
         "-f", kSecretFile, "-C", std::to_string(config_.cipher_suite), "-L", "OPERATOR", "chassis", "power", command},
        "",
        credentials.password};
    auto ended = run_bounded(program, time);
    if (!ended) {
      if (ended.error().code == Errc::not_found) ended.error().fix = "install the package ipmitool";
      ended.error().what = redact(ended.error().what, {credentials.password});
      return forward_error(ended);
    }
    const std::string said = redact(ended->errors + "\n" + ended->output, {credentials.password});
    if (ended->code == 0) return said;
    Error error{Errc::io, subject_of(address, config_.port), "", ""};
    error.what = with_output(std::string("chassis power ") + command + " failed", said);
    for (const Cause& cause : kCauses) {
      if (said.find(cause.text) == std::string::npos) continue;
      error.code = cause.code;
      error.fix = *cause.fix == '\0' ? "check user and password in " + file : cause.fix;
      break;
    }
    return tl::unexpected<Error>(std::move(error));
  }

  Result<PowerState> read_state(const Node& node, const TimeLeft& time) const {
    WATTLE_TRY(const std::string said, run(node, "status", time));
    if (said.find("Chassis Power is on") != std::string::npos) return PowerState::on;
    if (said.find("Chassis Power is off") != std::string::npos) return PowerState::off;
    return fail(Errc::malformed, "ipmitool", with_output("printed no power state", said));
  }

  Status turn(const Node& node, PowerState wanted, const char* command, const Operation& operation) const {
    const TimeLeft time(clock_, operation.limit);
    WATTLE_TRY(const PowerState state, read_state(node, time));
    if (state == wanted) return {};
    WATTLE_CHECK(run(node, command, time));
    return {};
  }

  const IpmiConfig config_;
  const Clock& clock_;
};

}  // namespace

std::shared_ptr<NodePower> make_ipmi_power(IpmiConfig config, const Clock& clock) {
  return std::make_shared<IpmiPower>(std::move(config), clock);
}

}  // namespace wattle::controller::power
