// places: the folders of the source tree (fixtures, pages of docs) and of the built programs.
// Source   CMake; only places.cpp is compiled with these paths, so that the compiler cache works across checkouts
// Threads  any
#pragma once

#include <string>

namespace wattle::tests {

/// The root of the source tree, without a slash at its end.
const std::string& source_dir();
/// The folder of the programs of this build, without a slash at its end.
const std::string& bin_dir();

}  // namespace wattle::tests
