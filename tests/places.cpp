#include "tests/places.hpp"

namespace wattle::tests {

const std::string& source_dir() {
  static const std::string dir = WATTLE_SOURCE_DIR;
  return dir;
}

const std::string& bin_dir() {
  static const std::string dir = WATTLE_BIN_DIR;
  return dir;
}

}  // namespace wattle::tests
