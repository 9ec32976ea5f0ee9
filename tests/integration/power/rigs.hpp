// rigs: one machine per driver, on which the laws of NodePower are tested.
// Source   machines in memory (fake), programs (exec) and a Redfish service in this process; or, where
//          WATTLE_POWER_GIVEN names a folder, the machine of another process: power.yaml, denied.yaml and silent.yaml,
//          each for "node", the files credentials and wrong, and the file metered if it has a meter
// Threads  single owner
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "controller/power/node_power.hpp"
#include "tests/unit/common/temp_dir.hpp"

namespace wattle::controller::power::test {

struct Rig {
  Rig() = default;
  Rig(const Rig&) = delete;
  Rig& operator=(const Rig&) = delete;
  virtual ~Rig() = default;

  std::string name;
  Node node{"node"};
  std::unique_ptr<NodePower> power;
  std::unique_ptr<NodePower> denied;  // the same machine with a wrong password; null: it has no passwords
  std::unique_ptr<NodePower> silent;  // a machine that never answers; null: it cannot be silent
  bool metered = false;               // observations have watts, more of them while awake
  std::string denied_file;            // credentials of `denied`
  std::vector<std::string> secrets;   // that no error may contain
  wattle::test::TempDir dir;
};

// Returns all machines, awake or asleep.
std::vector<std::unique_ptr<Rig>> make_rigs();

// Writes a file below the rig's folder and returns its path.
std::string write_file(const wattle::test::TempDir& dir, const std::string& name, const std::string& content,
                       unsigned mode);
// Builds a NodePower from these lines of YAML; fails the test on an error.
std::unique_ptr<NodePower> power_of(const std::string& yaml);
// A configuration of one node with one section.
std::string item_of(const std::string& section);

}  // namespace wattle::controller::power::test
