#include <array>

#include "sim/commands/commands.hpp"

int main(int argc, char** argv) {
  using namespace wattle::sim;
  constexpr std::array kCommands{commands::kSwarm, commands::kDrive, commands::kChurn};
  return run_app(kSimulator, kCommands, argc, argv);
}
