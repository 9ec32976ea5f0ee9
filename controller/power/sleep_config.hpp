// sleep_config: the section `sleep` of the controller's configuration: whether the controller plans which nodes could
// sleep or puts them to sleep, how much stays awake, and which file names the power drivers. The other limits are those
// of placement/sleep.
// Errors   mistakes of the section, each with key and fix; those of the drivers' file with its name and line
// Threads  values
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "common/config.hpp"
#include "controller/power/power_config.hpp"
#include "placement/sleep/sleep_plan.hpp"

namespace wattle::controller::power {

struct SleepSettings {
  // Upper limit of what a node's label can request.
  placement::sleep::SleepMode mode = placement::sleep::SleepMode::off;
  placement::sleep::SleepConfig plan;
  std::string drivers_file;
  std::shared_ptr<const PowerConfig> drivers;  // content of drivers_file; null: every driver is assumed
  bool on() const { return mode != placement::sleep::SleepMode::off; }
};

void read_sleep(config::Section section, SleepSettings& out);

// Value of the label wattle.dev/sleep; no value if it is another text.
std::optional<placement::sleep::SleepMode> parse_sleep_label(const std::string& text);

}  // namespace wattle::controller::power
