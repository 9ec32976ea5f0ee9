// Answers of BMCs and power programs: any bytes parse or are refused. Every link stays within the service, every number
// is in its range, and the text in an error is bounded.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "controller/power/exec_answer.hpp"
#include "controller/power/kept_output.hpp"
#include "controller/power/redfish_answer.hpp"

namespace {

using namespace wattle::controller::power;

constexpr double kMostW = 100'000;

void require(bool holds) {
  if (!holds) std::abort();
}
void require_link(const std::string& link) {
  require(link.empty() || (is_redfish_path(link) && link.find_first_of("\r\n ") == std::string::npos));
}
void require_watts(const std::optional<double>& watts) { require(!watts || (*watts >= 0 && *watts <= kMostW)); }

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto member = parse_only_member(text, "fuzz")) require_link(*member);
  if (const auto system = parse_system(text, "fuzz")) {
    require_link(system->reset_target);
    require_link(system->reset_info);
    for (const std::string& link : system->chassis) require_link(link);
  }
  if (const auto chassis = parse_chassis(text, "fuzz")) {
    require_link(chassis->power);
    require_link(chassis->environment);
  }
  static_cast<void>(parse_reset_info(text, "fuzz").has_value());
  require_watts(parse_power_w(text));
  require(kept_output(parse_messages(text)).size() <= 4 * kMostOutputBytes);
  if (const auto seen = parse_exec_observation(text, "fuzz")) require_watts(seen->power_w);
  if (const auto able = parse_exec_capabilities(text, "fuzz")) {
    require(able->depths.size() <= kDepthNames.size());
    require_watts(able->asleep_w);
  }
  return 0;
}
