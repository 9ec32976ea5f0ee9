#include "lab/commands/commands.hpp"
#include "sim/app.hpp"

int main(int argc, char** argv) {
  constexpr wattle::sim::Program kProgram{"wattle-lab",
                                          "compares policies and measures what each part of Wattle gains"};
  return wattle::sim::run_app(kProgram, wattle::sim::commands::all_of_lab(), argc, argv);
}
