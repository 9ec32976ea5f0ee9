#include "controller/power/sleep_config.hpp"

#include <utility>

#include "common/program_config.hpp"

namespace wattle::controller::power {

namespace core = placement::sleep;

std::optional<core::SleepMode> parse_sleep_label(const std::string& text) {
  if (text == "off") return core::SleepMode::off;
  if (text == "recommend") return core::SleepMode::recommend;
  if (text == "auto") return core::SleepMode::automatic;
  return std::nullopt;
}

void read_sleep(config::Section section, SleepSettings& out) {
  config::read_enum(section, "mode", out.mode, {"off", "recommend", "auto"});
  auto spare = static_cast<std::int64_t>(out.plan.rules.spare_nodes);
  section.read("spare_nodes", spare, {.min = 0, .max = 10'000});
  out.plan.rules.spare_nodes = static_cast<std::size_t>(spare);
  auto trips = static_cast<std::int64_t>(out.plan.rules.proven_round_trips);
  section.read("proven_trips", trips, {.min = 1, .max = 100});
  out.plan.rules.proven_round_trips = static_cast<std::uint32_t>(trips);
  section.read("drivers", out.drivers_file);
  if (out.drivers_file.empty()) {
    if (out.mode == core::SleepMode::automatic)
      section.mistake("mode", "is auto, but no power driver can put a node to sleep", "set sleep.drivers");
    return;
  }
  Result<PowerConfig> drivers = load_power_config(out.drivers_file);
  if (drivers)
    out.drivers = std::make_shared<const PowerConfig>(std::move(*drivers));
  else
    section.mistake("drivers", drivers.error().message());
}

}  // namespace wattle::controller::power
