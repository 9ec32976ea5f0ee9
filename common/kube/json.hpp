// json: reading what an API server says without trusting its shape; private to this folder.
// Absent   a member that is not there, or of another type, is null or empty text
// Threads  pure
#pragma once

#include <string>

#include "common/json/value.hpp"

namespace wattle::kube {

inline constexpr std::size_t kMaxNameBytes = 256;

// The member of an object, or null.
const SortedJson& member(const SortedJson& object, const char* key);
std::string text_of(const SortedJson& object, const char* key);
// Cut at a whole character.
std::string shortened(std::string text, std::size_t bytes);

}  // namespace wattle::kube
