// controller_files: reads from a controller's configuration the paths of its keys and lists, and its ports.
// Source   /etc/wattle/controller.yaml; the controller checks its other keys (--check-config)
// Errors   those of the file; malformed, naming the missing key
// Threads  values
#pragma once

#include <cstdint>
#include <string>

#include "common/result.hpp"

namespace CLI {
class App;
}

namespace wattle::cli {

inline constexpr const char* kControllerFile = "/etc/wattle/controller.yaml";

struct ControllerFiles {
  std::string key, allow_list, data_dir, store;
  std::uint16_t telemetry_port = 0, ask_port = 0;
  std::string tokens, enrol_address, certificate, certificate_key;  // empty: no enrolment by token
  std::uint16_t enrol_port = 0;
};
// Adds --config.
void declare_controller_file(CLI::App& command, std::string& path);
Result<ControllerFiles> load_controller_files(const std::string& path);
// Path of root's operator key on this machine, next to the controller's key.
std::string operator_key_of(const ControllerFiles& files);

}  // namespace wattle::cli
