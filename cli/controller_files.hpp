// controller_files: what a controller's configuration says of where its keys, lists and ports are.
// Source   /etc/wattle/controller.yaml; its other keys are the controller's to judge (--check-config)
// Errors   those of the file; malformed, naming the key that is not there
// Threads  values
#pragma once

#include <cstdint>
#include <string>

#include "common/result.hpp"

namespace wattle::cli {

struct ControllerFiles {
  std::string key, allow_list, data_dir, store;
  std::uint16_t telemetry_port = 0, ask_port = 0;
  std::string tokens, enrol_address, certificate, certificate_key;  // empty: nobody enrols by a token
  std::uint16_t enrol_port = 0;
};
Result<ControllerFiles> load_controller_files(const std::string& path);
// Root's own key on this machine: beside the controller's.
std::string operator_key_of(const ControllerFiles& files);

}  // namespace wattle::cli
