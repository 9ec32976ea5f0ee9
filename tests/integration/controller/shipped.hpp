// shipped: the networks in this tree, and whether this build can learn.
#pragma once

#include <doctest/doctest.h>

#include <string>

#include "controller/trainer/make_network.hpp"
#include "tests/places.hpp"

namespace wattle::controller::test {

inline const std::string kShipped = tests::source_dir() + "/models/pretrained";

inline bool cannot_learn() {
  if (make_network(LearnConfig{})) return false;
  MESSAGE("skipped: built without libtorch");
  return true;
}

}  // namespace wattle::controller::test
