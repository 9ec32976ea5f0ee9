// model_orders: orders of operators and rollbacks to the thread that owns the networks.
// Text     answers are JSON (docs/reference/api.md, models)
// Threads  values
#pragma once

#include <future>
#include <string>
#include <vector>

#include "common/result.hpp"
#include "models/frozen/checkpoint.hpp"
#include "placement/worth/reward.hpp"

namespace wattle::controller {

struct ModelOrder {
  enum class What {
    save,        // the current network, under a name
    add,         // a network from outside, under a name; nothing else changes
    load,        // another network serves, and learning continues from it
    promoted,    // keep the serving network, so that a rollback can restore it
    bring_back,  // the network of the last promotion serves again
  };
  What what = What::save;
  std::string name;          // of save, add and load
  std::string network = {};  // of add: a safetensors file, as models/frozen/pretrained has it
  bool of_trusted = false;   // promoted: the baseline serves, not the candidate
};
// Name of the checkpoint of the last promotion.
inline constexpr const char* kPromotedModel = "promoted";
// Prefix of the names of networks kept for reward presets that are not in force; kept_name() returns a whole name.
inline constexpr const char* kPresetModels = "preset-";
std::string kept_name(placement::Preset preset);

// An order that waits for the thread; the future is ready when it is done, or when the thread ends.
struct PendingOrder {
  ModelOrder order;
  std::promise<Result<std::string>> answer;
};

// Content of the checkpoint directory after its last change.
struct ModelList {
  std::vector<models::ListedCheckpoint> checkpoints;
  std::string serving_network;  // SHA-256 of it; empty: none serves
  std::string serving_from;     // the checkpoint that it was loaded from; empty: learned since the start
  std::string gated;            // why another candidate serves instead; empty: the network serves
};

}  // namespace wattle::controller
