#include "common/standard_descriptors.hpp"
#include "controller/app.hpp"

int main(int argc, char** argv) {
  wattle::hold_standard_descriptors();
  return wattle::controller::run_app(argc, argv);
}
