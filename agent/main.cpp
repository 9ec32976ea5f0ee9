#include "agent/app.hpp"
#include "common/standard_descriptors.hpp"

int main(int argc, char** argv) {
  wattle::hold_standard_descriptors();
  return wattle::agent::run_app(argc, argv);
}
