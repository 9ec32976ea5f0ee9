// json: reads the API server's JSON without trusting its shape; private to this folder.
// Unset    a missing member, or one of another type, is null or empty text
// Threads  pure
#pragma once

#include <string>

#include "common/json/value.hpp"

namespace wattle::kube {

inline constexpr std::size_t kMaxNameBytes = 256;

// Member of an object; null if there is none.
const SortedJson& member(const SortedJson& object, const char* key);
std::string text_of(const SortedJson& object, const char* key);
// Cuts the text between characters.
std::string shortened(std::string text, std::size_t bytes);

}  // namespace wattle::kube
