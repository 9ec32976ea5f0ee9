#include "controller/web/findings.hpp"

#include "common/http/certificate.hpp"
#include "common/transport/allow_file.hpp"
#include "common/transport/sockets.hpp"
#include "controller/config.hpp"
#include "controller/ingest/telemetry.hpp"
#include "controller/kube/watch.hpp"
#include "controller/rollout/rollout_manager.hpp"
#include "controller/state/shims.hpp"
#include "controller/store/store.hpp"
#include "controller/trainer/learning.hpp"
#include "controller/web/shims_json.hpp"

namespace wattle::controller {

using json = SortedJson;

std::vector<std::pair<std::string, Result<WallTime>>> certificate_ends(const Parts& from) {
  std::vector<std::pair<std::string, Result<WallTime>>> ends;
  for (const std::string& file : {from.config.http_access.tls.certificate,
                                  from.config.enrol.enabled() ? from.config.enrol.tls.certificate : std::string()})
    if (!file.empty()) ends.emplace_back(file, http::certificate_file_end(file));
  for (const auto& [key, shim] : from.shims.all())
    if (shim.certificate_end) ends.emplace_back(shim.peer + " on " + shim.host, *shim.certificate_end);
  return ends;
}

namespace {

template <class Add>
void add_watch_finding(Add& add, const WatchHealth& health) {
  const std::string& problem = health.nodes.problem.empty() ? health.pods.problem : health.nodes.problem;
  const bool synced = health.nodes.synced && health.pods.synced;
  const std::string known = std::to_string(health.node_count) + " nodes, " + std::to_string(health.pod_count) + " pods";
  if (!problem.empty()) {
    add("kubernetes", "failed", problem + "; " + known + " known",
        "check the API server and the role of the controller's account");
  } else {
    add("kubernetes", synced ? "ok" : "lost", synced ? known : "waiting for the first list", "");
  }
}

// Pods bound without an ask are known only if an API server is watched.
template <class Add>
void add_shim_finding(Add& add, const Parts& from) {
  const ShimsJudged judged = judge_shims(from.shims, from.clock.mono());
  add("shims", judged.state, judged.detail, judged.fix);
}

template <class Add>
void add_certificate_findings(Add& add, const Parts& from) {
  const WallTime now = from.clock.wall();
  for (const auto& [whose, end] : certificate_ends(from)) {
    if (!end)
      add("certificate", "failed", end.error().message(), end.error().fix);
    else if (const auto soon = http::ends_soon(*end, now))
      add("certificate", *end <= now ? "failed" : "lost", whose + " " + *soon,
          "renew the certificate; the controller reloads the file");
  }
}

}  // namespace

json controller_findings(const Parts& from) {
  json findings = json::array();
  const auto add = [&](const char* name, const char* state, std::string detail, std::string fix) {
    findings.push_back({{"name", name}, {"state", state}, {"detail", std::move(detail)}, {"fix", std::move(fix)}});
  };
  if (!from.learning.on()) {
    add("learning", from.config.learn.enabled ? "lost" : "ok", from.mode_reason.empty() ? "off" : from.mode_reason, "");
  } else {
    const TrainerFigures figures = from.learning.figures();
    const bool well = figures.problem.empty();
    add("learning", well ? "ok" : "lost", well ? std::to_string(figures.steps) + " gradient steps" : figures.problem,
        "");
    add("checkpoints", figures.failed_checkpoints > 0 ? "failed" : "ok",
        std::to_string(figures.checkpoints) + " written", figures.failed_checkpoints > 0 ? "check data_dir" : "");
  }
  if (from.watch.on()) add_watch_finding(add, from.watch.health());
  add_shim_finding(add, from);
  add_certificate_findings(add, from);
  const TelemetryFigures& telemetry = from.telemetry.figures();
  const auto tick_ms = std::chrono::ceil<std::chrono::milliseconds>(from.telemetry.shedding().tick).count();
  const std::string overload =
      tick_ms > 0 ? "; overloaded: agents send one every " + std::to_string(tick_ms) + " ms" : std::string();
  add("telemetry", telemetry.refused > 0 || tick_ms > 0 ? "lost" : "ok",
      std::to_string(telemetry.records) + " records, " + std::to_string(telemetry.refused) + " refused" + overload,
      tick_ms > 0 ? "give the controller more CPU time, or raise `tick` in the agents' configuration" : "");
  if (!from.store.on()) {
    add("store", "lost", "acknowledgements and energy sums are lost at a restart",
        "set store.path to a file on a local disk");
  } else {
    const StoreFigures store = from.store.figures();
    const bool well = store.problem.empty();
    add("store", well ? "ok" : "failed",
        well ? std::to_string(store.records) + " records committed, " + std::to_string(store.gap_records) + " missing"
             : store.problem,
        well ? "" : "check the disk; records are not acknowledged until they are stored");
    if (!store.damage.empty()) add("store-file", "lost", store.damage, "");
    if (!store.decisions_problem.empty() || store.decisions_lost > 0)
      add("decisions", store.decisions_problem.empty() ? "lost" : "failed",
          std::to_string(store.decisions_lost) + " decisions are not stored on disk" +
              (store.decisions_problem.empty() ? "" : ": " + store.decisions_problem),
          "check the disk; placement continues");
  }
  if (!from.rollout.lost().empty())
    add("control file", "failed", "the saved settings were lost, so Wattle does not act: " + from.rollout.lost(),
        "to let Wattle act again: wattle policy set --mode MODE --force --why TEXT");
  if (from.rollout.unwritten() > 0)
    add("control file", "failed",
        std::to_string(from.rollout.unwritten()) +
            " changes of the policy are in force but not saved, and would be lost at a restart",
        "free space in data_dir; the controller then saves them within a second");
  const std::vector<std::string> conflicts = from.telemetry.conflicts();
  if (!conflicts.empty())
    add("identities", "failed",
        "two agents use the key of " + conflicts.front() +
            (conflicts.size() > 1 ? " and of " + std::to_string(conflicts.size() - 1) + " more" : ""),
        "use a separate key for each node: wattle keys new");
  if (from.allow.problem())
    add("allow list", "failed",
        "an older list is in force, including removed keys: " + from.allow.problem()->subject + ": " +
            from.allow.problem()->what,
        from.allow.problem()->fix);
  const std::uint64_t refused_handshakes = from.context.refused_handshakes();
  add("keys", refused_handshakes > 0 ? "lost" : "ok",
      std::to_string(refused_handshakes) + " handshakes with unknown keys",
      refused_handshakes > 0 ? "allow the key with `wattle keys allow`, or find the client" : "");
  return findings;
}

}  // namespace wattle::controller
