// tensors: a checkpoint of the controller holds the network's tensors and the learner's, told apart by a prefix.
// Threads  pure functions
#pragma once

#include <string>
#include <string_view>

#include "models/frozen/q_network.hpp"

namespace wattle::controller {

inline constexpr std::string_view kNetworkPrefix = "trainer/";
inline constexpr std::string_view kLearnerPrefix = "learner/";
// Of the network's tensors, those that serve.
inline constexpr std::string_view kOnlinePrefix = "trainer/online.";

inline void add_prefixed(models::Weights& into, const models::Weights& from, std::string_view prefix) {
  for (const auto& [name, tensor] : from) into.emplace(std::string(prefix) + name, tensor);
}

inline models::Weights with_prefix(const models::Weights& all, std::string_view prefix) {
  models::Weights found;
  for (const auto& [name, tensor] : all)
    if (name.starts_with(prefix)) found.emplace(name.substr(prefix.size()), tensor);
  return found;
}

}  // namespace wattle::controller
