#include "controller/web/readiness.hpp"

#include "controller/kube/watch.hpp"
#include "controller/state/cluster_state.hpp"
#include "controller/store/store.hpp"

namespace wattle::controller {

Readiness readiness(const Parts& from) {
  Readiness out{true, {}};
  const auto report = [&](const char* part, bool well, const std::string& what) {
    out.ready = out.ready && well;
    out.text += std::string(part) + ": " + what + "\n";
  };
  if (!from.store.on()) {
    report("store", true, "none is configured");
  } else {
    const std::string problem = from.store.figures().problem;
    report("store", problem.empty(), problem.empty() ? "open" : problem);
  }
  if (from.watch.on()) {
    const WatchHealth health = from.watch.health();
    const bool synced = health.nodes.synced && health.pods.synced;
    const std::string& problem = health.nodes.problem.empty() ? health.pods.problem : health.nodes.problem;
    report("kubernetes", synced, synced ? "known" : problem.empty() ? "waiting for the first list" : problem);
  }
  if (from.store.on()) {
    std::size_t known = 0, reporting = 0;
    for (const auto& [name, marks] : from.store.marks()) {
      const Node* node = from.state.node(name);
      ++known;
      reporting += node != nullptr && node->sampled_at ? 1 : 0;
    }
    const bool waited = from.clock.mono() - from.started >= kWarmUp;
    report("nodes", waited || 2 * reporting >= known,
           std::to_string(reporting) + " of " + std::to_string(known) + " known to the store have reported");
  }
  out.text = (out.ready ? "ok\n" : "not ready\n") + out.text;
  return out;
}

}  // namespace wattle::controller
