// json: reading what an API server says without trusting its shape; private to this folder.
// Absent   a member that is not there, or of another type, is null or empty text
// Threads  pure
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace wattle::kube {

inline constexpr std::size_t kMaxNameBytes = 256;

// The member of an object, or null.
const nlohmann::json& member(const nlohmann::json& object, const char* key);
std::string text_of(const nlohmann::json& object, const char* key);
// Cut at a whole character.
std::string shortened(std::string text, std::size_t bytes);

}  // namespace wattle::kube
