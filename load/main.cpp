#include "common/standard_descriptors.hpp"
#include "load/app.hpp"

int main(int argc, char** argv) {
  wattle::hold_standard_descriptors();
  return wattle::load::run_app(argc, argv);
}
