// network_slot: the network that serves. The trainer puts a newer one in; decisions take the one that is there.
// Threads  any; a lock is held only to copy a pointer
#pragma once

#include <memory>
#include <mutex>
#include <utility>

#include "models/frozen/q_network.hpp"

namespace wattle::controller {

class NetworkSlot {
 public:
  using Network = std::shared_ptr<const models::QNetwork>;
  Network get() const {
    const std::lock_guard lock(mutex_);
    return network_;
  }
  void set(Network network) {
    const std::lock_guard lock(mutex_);
    network_.swap(network);
  }

 private:
  mutable std::mutex mutex_;
  Network network_;
};

}  // namespace wattle::controller
