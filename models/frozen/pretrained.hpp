// pretrained: a network that comes with the programs, one file for each reward preset (models/pretrained/README.md).
// Source   safetensors; metadata feature_schema, reward (the preset it was trained for), network_sha256 and prior
// Errors   not_found, denied, io: the file; malformed: damaged, or it vouches for none of this; conflict: of other features, or
//          trained for another preset; each names the file
// Threads  pure but for reading the file
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "common/result.hpp"
#include "models/frozen/q_network.hpp"

namespace wattle::models {

// SHA-256 of the weights that serve, the same whatever file they lie in, one of the former layout (models/frozen/former_layout)
// among them.
std::string network_digest(const Weights& weights);

// Whether it adds to the prior of its reward: by the key `prior` (preset or none); files of before tell by `reward`, as weighted and
// expression alone had one.
bool taught_on_prior(const std::map<std::string, std::string>& metadata);
inline bool had_prior(std::string_view reward) {
  return reward.empty() || reward == "weighted" || reward == "expression";
}

struct Pretrained {
  Weights weights;
  std::string file;
  std::string network_sha256;
  bool on_prior = true;
  std::string
      certificate;  // metadata of that name: that it did better on what it was not taught on, and by how much; may be empty
};
Result<Pretrained> parse_pretrained(std::string_view bytes, const std::string& file, const std::string& schema,
                                    const std::string& reward);
Result<Pretrained> read_pretrained(const std::string& file, const std::string& schema, const std::string& reward);

}  // namespace wattle::models
