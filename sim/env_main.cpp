#include <array>

#include "sim/commands/commands.hpp"

int main(int argc, char** argv) {
  using namespace wattle::sim;
  constexpr std::array kCommands{commands::kEnv, commands::kProvisionEnv, commands::kListScenarios};
  return run_app(kSimulator, kCommands, argc, argv);
}
