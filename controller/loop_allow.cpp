// loop_allow: the allow list while the loop runs.
#include <utility>

#include "common/wire/codec.hpp"
#include "controller/loop.hpp"

namespace wattle::controller {

void Loop::reload_allow_list() {
  auto list = parts_.allow.look();
  if (!list) {
    const std::string why = list.error().message();
    if (why != std::exchange(allow_told_, why))
      parts_.log.error("allow list not read, the old one stays: who was taken off is still heard",
                       {{"error", list.error()}});
    return;
  }
  allow_told_.clear();
  if (!*list) return;
  parts_.log.info("allow list read again", {{"keys", static_cast<std::uint64_t>((*list)->size())}});
  cut(parts_.context.set_allow_list(std::move(**list)));
}

// What they say is not heard any more as it is, and their connections end; this tells agents why.
void Loop::cut(const std::vector<transport::Revoked>& revoked) {
  for (const auto& [key, identity] : revoked) {
    ++revoked_keys_;
    parts_.log.warn("key revoked", {{"key", key}, {"peer", identity.user_id()}});
    const auto route = telemetry_.revoke(identity.name, key);
    if (!route) continue;
    telemetry_socket_.send(*route, wire::encode(wire::Refusal{"key " + key, "has been revoked",
                                                              "if it should not be: wattle keys allow"}));
  }
}

}  // namespace wattle::controller
