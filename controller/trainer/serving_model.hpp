// serving_model: holds the networks that may serve: the candidate that is learned here, and the trusted baseline. The
// trainer replaces them; decisions read the current ones.
// Threads  any; a lock is held only to copy a pointer
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "models/frozen/q_network.hpp"

namespace wattle::controller {

// Identifies weights, so that earlier decisions can be attributed to them.
struct ModelVersion {
  std::string sha256;       // of the serving weights only, as in `wattle model list`; empty: no network
  std::string loaded_from;  // the checkpoint with the same weights; empty: learning has changed them
  std::string preset;       // the reward preset of the network; empty: any
  std::string began;        // start of the learning: name of a file or checkpoint; empty: the prior
  std::string certificate;  // result of the held-out evaluation before it was shipped; empty: none
};

class ServingModel {
 public:
  using Network = std::shared_ptr<const models::QNetwork>;
  struct Serving {
    Network network;
    ModelVersion version;
    Network trusted;  // null: there is no baseline
    ModelVersion trusted_version;
  };
  Network get() const {
    const std::lock_guard lock(mutex_);
    return serving_.network;
  }
  Serving serving() const {
    const std::lock_guard lock(mutex_);
    return serving_;
  }
  void set(Network network, ModelVersion version = {}) {
    const std::lock_guard lock(mutex_);
    std::swap(serving_.network, network);
    std::swap(serving_.version, version);
  }
  void trust(Network network, ModelVersion version) {
    const std::lock_guard lock(mutex_);
    std::swap(serving_.trusted, network);
    std::swap(serving_.trusted_version, version);
  }

 private:
  mutable std::mutex mutex_;
  Serving serving_;
};

}  // namespace wattle::controller
