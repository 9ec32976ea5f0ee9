// config_keys: prints every configuration key that the programs read, as JSON, for scripts/docs-reference, which
// generates docs/reference/configuration.md from it.
#include <cstdio>
#include <utility>
#include <vector>

#include "actuator/config.hpp"
#include "agent/config.hpp"
#include "cli/settings.hpp"
#include "common/json/value.hpp"
#include "controller/config.hpp"
#include "shim/config.hpp"

int main() {
  const std::pair<const char*, std::vector<wattle::config::Key>> programs[] = {
      {"agent", wattle::agent::config_keys()},
      {"actuator", wattle::actuator::config_keys()},
      {"controller", wattle::controller::config_keys()},
      {"shim", wattle::shim::config_keys()},
      {"cli", wattle::cli::config_keys()},
  };
  auto all = wattle::OrderedJson::object();
  for (const auto& [program, keys] : programs)
    for (const auto& key : keys)
      all[program].push_back({{"key", key.path},
                              {"kind", key.kind},
                              {"range", key.range},
                              {"default", key.standing},
                              {"required", key.required}});
  return std::puts(all.dump().c_str()) < 0 ? 1 : 0;
}
