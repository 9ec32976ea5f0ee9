// serving_model: the network that serves. The trainer puts a newer one in; decisions take the one that is there.
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
};

class ServingModel {
 public:
  using Network = std::shared_ptr<const models::QNetwork>;
  struct Serving {
    Network network;
    ModelVersion version;
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
    Serving next{std::move(network), std::move(version)};
    const std::lock_guard lock(mutex_);
    std::swap(serving_, next);
  }

 private:
  mutable std::mutex mutex_;
  Serving serving_;
};

}  // namespace wattle::controller
