#include "controller/power/exec_power.hpp"

#include <sysexits.h>

#include <string>

#include "common/json/value.hpp"
#include "controller/power/bounded_process.hpp"
#include "controller/power/exec_answer.hpp"
#include "controller/power/kept_output.hpp"

namespace wattle::controller::power {
namespace {

constexpr int kVersion = 1;

Errc code_of_exit(int exit_status) {
  switch (exit_status) {
    case EX_USAGE:
      return Errc::unsupported;
    case EX_UNAVAILABLE:
      return Errc::unavailable;
    case EX_TEMPFAIL:
      return Errc::conflict;
    case EX_NOPERM:
      return Errc::denied;
    default:
      return Errc::io;
  }
}

class ExecPower final : public NodePower {
 public:
  ExecPower(ExecConfig config, const Clock& clock) : config_(std::move(config)), clock_(clock) {}

  Result<Capabilities> probe(const Node& node, std::chrono::milliseconds limit) override {
    WATTLE_TRY(const std::string printed, run(node, {{"request", "probe"}}, limit));
    return parse_exec_capabilities(printed, config_.command[0]);
  }

  Status sleep(const Node& node, Depth depth, const Operation& operation) override {
    const std::string_view name = kDepthNames[static_cast<std::size_t>(depth)];
    WATTLE_CHECK(run(node, {{"request", "sleep"}, {"operation", operation.number}, {"depth", name}}, operation.limit));
    return {};
  }

  Status wake(const Node& node, const Operation& operation) override {
    WATTLE_CHECK(run(node, {{"request", "wake"}, {"operation", operation.number}}, operation.limit));
    return {};
  }

  Result<Observation> observe(const Node& node, std::chrono::milliseconds limit) override {
    WATTLE_TRY(const std::string printed, run(node, {{"request", "observe"}}, limit));
    return parse_exec_observation(printed, config_.command[0]);
  }

 private:
  Result<std::string> run(const Node& node, OrderedJson request, std::chrono::milliseconds limit) const {
    const TimeLeft time(clock_, limit);
    request["version"] = kVersion;
    request["node"] = node.name;
    request["labels"] = OrderedJson(node.labels);
    request["time_limit_s"] = std::chrono::duration<double>(limit).count();
    WATTLE_TRY(ProgramEnd end, run_bounded({config_.command, request.dump() + "\n"}, time));
    if (end.code == 0) return std::move(end.output);
    const std::string& said = end.errors.empty() ? end.output : end.errors;
    return fail(
        code_of_exit(end.code), config_.command[0],
        with_output(request["request"].string() + " of " + node.name + " ended with status " + std::to_string(end.code),
                    said));
  }

  const ExecConfig config_;
  const Clock& clock_;
};

}  // namespace

std::shared_ptr<NodePower> make_exec_power(ExecConfig config, const Clock& clock) {
  return std::make_shared<ExecPower>(std::move(config), clock);
}

}  // namespace wattle::controller::power
