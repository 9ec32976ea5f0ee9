// prefixed: prefixes that separate the network's and the learner's tensors in a checkpoint; the controller and
// wattle-sim train write the same form.
// Errors   none
// Threads  pure functions
#pragma once

#include <string>
#include <string_view>

#include "models/frozen/q_network.hpp"

namespace wattle::models {

inline constexpr std::string_view kNetworkPrefix = "trainer/";
inline constexpr std::string_view kLearnerPrefix = "learner/";
// The baseline of the candidate, if an operator or a promotion chose it (Manifest::trusted).
inline constexpr std::string_view kTrustedPrefix = "trusted/";
// Prefix of the network's tensors that serve.
inline constexpr std::string_view kOnlinePrefix = "trainer/online.";

inline void add_prefixed(Weights& into, const Weights& from, std::string_view prefix) {
  for (const auto& [name, tensor] : from) into.emplace(std::string(prefix) + name, tensor);
}

inline Weights with_prefix(const Weights& all, std::string_view prefix) {
  Weights found;
  for (const auto& [name, tensor] : all)
    if (name.starts_with(prefix)) found.emplace(name.substr(prefix.size()), tensor);
  return found;
}

inline Weights without_prefix(Weights all, std::string_view prefix) {
  std::erase_if(all, [&](const auto& each) { return each.first.starts_with(prefix); });
  return all;
}

}  // namespace wattle::models
