// live_rig: the parts of a controller with two nodes, and the documents that are built from them.
#pragma once

#include "tests/unit/controller/parts_rig.hpp"

namespace wattle::controller::test {

struct LiveRig : PartsRig {
  explicit LiveRig(ModeSetting mode = Mode::live) : PartsRig(mode) { begin(); }
};

}  // namespace wattle::controller::test
