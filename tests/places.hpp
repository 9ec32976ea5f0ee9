// places: where a test finds the source tree (fixtures, pages of docs) and the programs that were built.
// Source   CMake; places.cpp alone is compiled with these paths, so that another checkout's objects can be taken from the compiler cache.
// Threads  any
#pragma once

#include <string>

namespace wattle::tests {

/// The root of the source tree, without a slash at its end.
const std::string& source_dir();
/// The folder of the programs of this build, without a slash at its end.
const std::string& bin_dir();

}  // namespace wattle::tests
