#include "sim/app.hpp"
#include "sim/commands/commands.hpp"

int main(int argc, char** argv) {
  return wattle::sim::run_app(wattle::sim::kSimulator, wattle::sim::commands::all(), argc, argv);
}
