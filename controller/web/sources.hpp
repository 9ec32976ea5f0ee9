// sources: read-only access to the controller's state for documents and metrics, on the thread that owns it.
// Threads  the owner's
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "common/clock.hpp"
#include "common/http/access.hpp"
#include "common/http/broadcast.hpp"
#include "common/transport/allow_file.hpp"
#include "controller/config.hpp"
#include "controller/decisions/decider.hpp"
#include "controller/enrol/enrolment.hpp"
#include "controller/ingest/peer_queues.hpp"
#include "controller/ingest/telemetry.hpp"
#include "controller/kube/watch.hpp"
#include "controller/provision/margin_teacher.hpp"
#include "controller/provision/prometheus.hpp"
#include "controller/provision/replica_book.hpp"
#include "controller/provision/request_book.hpp"
#include "controller/role_figures.hpp"
#include "controller/rollout/rollout_manager.hpp"
#include "controller/state/cluster_state.hpp"
#include "controller/state/shims.hpp"
#include "controller/store/store.hpp"
#include "controller/trainer/serving_model.hpp"
#include "controller/trainer/trainer.hpp"
#include "controller/web/series.hpp"

namespace wattle::controller {

struct Sources {
  const ControllerConfig& config;
  const ClusterState& state;
  const Decider& decider;
  const Telemetry& telemetry;
  const ServingModel& networks;
  const Clock& clock;
  const Trainer* trainer = nullptr;  // null: learning is off
  std::string mode_reason;
  std::uint64_t epoch = 0;
  MonoTime started{};
  std::uint64_t refused_handshakes = 0;
  const transport::RefusalCounts* refusals = nullptr;
  const http::RefusalCounts* http_refusals = nullptr;
  std::uint64_t revoked_keys = 0;
  const EnrolCounts* enrol = nullptr;  // null: enrolment is off
  const http::RefusalCounts* enrol_refusals = nullptr;
  const Store* store = nullptr;                 // null: there is no store
  const RolloutManager* rollout = nullptr;      // null: only in tests
  const Watch* watch = nullptr;                 // null: no API server is watched
  const transport::AllowFile* allow = nullptr;  // null: only in tests
  const Shims* shims = nullptr;                 // null: only in tests
  const RoleFigures* roles = nullptr;           // null: only in tests, as is the next
  const std::function<void()>* breathe = nullptr;
  const Series* series = nullptr;         // null: no history is kept
  const http::Broadcast* live = nullptr;  // null: there is no live stream
  const RequestBook* requests = nullptr;  // null: provisioning.level is off
  const MarginTeacher* margins = nullptr;
  const PrometheusRates* traffic = nullptr;  // null: only nodes report rates and latencies
  const ReplicaBook* replicas = nullptr;     // null: provisioning.replicas is off
  WaitingBytes waiting_bytes{};

  // Call periodically while building a long document, so that the loop answers asks meanwhile.
  void let_asks_in(std::size_t done) const {
    constexpr std::size_t kEvery = 32;
    if (breathe != nullptr && done % kEvery == 0) (*breathe)();
  }
};

}  // namespace wattle::controller
