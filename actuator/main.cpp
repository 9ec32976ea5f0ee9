#include "actuator/app.hpp"
#include "common/standard_descriptors.hpp"

int main(int argc, char** argv) {
  wattle::hold_standard_descriptors();
  return wattle::actuator::run_app(argc, argv);
}
