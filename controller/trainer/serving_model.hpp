// serving_model: the networks that may serve: what is learned here, and the one that it is held to. The trainer puts newer ones in;
// decisions take what is there.
// Threads  any; a lock is held only to copy a pointer
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "models/frozen/q_network.hpp"

namespace wattle::controller {

// Which weights they are, so that a decision of then can be told from one of now.
struct ModelVersion {
  std::string sha256;       // of the serving weights alone, as `wattle model list` has it; empty: no network
  std::string loaded_from;  // the checkpoint that they came from unchanged; empty: learned since
  std::string preset;       // the reward preset that they are for; empty: any
  std::string began;        // what their learning began with: a file's or checkpoint's name; empty: the prior
  std::string certificate;  // what a held-out judgement before it was shipped says for it; empty: there is none
};

class ServingModel {
 public:
  using Network = std::shared_ptr<const models::QNetwork>;
  struct Serving {
    Network network;
    ModelVersion version;
    Network trusted;  // null: what is learned here is held to nothing
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
