#include "common/standard_descriptors.hpp"
#include "shim/app.hpp"

int main(int argc, char** argv) {
  wattle::hold_standard_descriptors();
  return wattle::shim::run_app(argc, argv);
}
