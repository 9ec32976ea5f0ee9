// pretrained: a network shipped with the programs, one file per reward preset (models/pretrained/README.md).
// Source   safetensors; metadata feature_schema, reward (its training preset), network_sha256 and prior
// Errors   not_found, denied, io: the file; malformed: damaged, or metadata is missing; conflict: other features, or
//          trained for another preset; each names the file
// Threads  pure except for reading the file
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "common/result.hpp"
#include "models/frozen/q_network.hpp"

namespace wattle::models {

// SHA-256 of the weights that serve; the same for any file that contains them.
std::string network_digest(const Weights& weights);

// Returns whether the network adds to the prior of its reward, by the key `prior` (preset or none). In older files
// `reward` decides, because only weighted and expression had a prior.
bool taught_on_prior(const std::map<std::string, std::string>& metadata);
inline bool had_prior(std::string_view reward) {
  return reward.empty() || reward == "weighted" || reward == "expression";
}

struct Pretrained {
  Weights weights;
  std::string file;
  std::string network_sha256;
  bool on_prior = true;
  std::string certificate;  // metadata of that name: evidence of its gain on held-out cases; may be empty
};
Result<Pretrained> parse_pretrained(std::string_view bytes, const std::string& file, const std::string& schema,
                                    const std::string& reward);
Result<Pretrained> read_pretrained(const std::string& file, const std::string& schema, const std::string& reward);

}  // namespace wattle::models
