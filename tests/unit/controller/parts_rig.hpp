// parts_rig: the parts of a controller around the decider of decider_rig, with all others switched off, and their
// documents.
#pragma once

#include <memory>
#include <string>

#include "common/http/access.hpp"
#include "common/http/broadcast.hpp"
#include "common/json/value.hpp"
#include "common/transport/allow_file.hpp"
#include "common/transport/sockets.hpp"
#include "controller/enrol/enrolment.hpp"
#include "controller/ingest/allow_watch.hpp"
#include "controller/kube/watch.hpp"
#include "controller/parts.hpp"
#include "controller/power/sleep_control.hpp"
#include "controller/provision/prometheus.hpp"
#include "controller/provision/provisioning.hpp"
#include "controller/role_figures.hpp"
#include "controller/rollout/rollout_manager.hpp"
#include "controller/state/shims.hpp"
#include "controller/store/store.hpp"
#include "controller/trainer/learning.hpp"
#include "controller/web/documents.hpp"
#include "controller/web/series.hpp"
#include "tests/unit/controller/decider_rig.hpp"

namespace wattle::controller::test {

struct PartsRig : DeciderRig {
  NoSink sink;
  Log log = Log::silent();
  Telemetry telemetry{clock, log, sink};
  transport::Context context;
  transport::AllowFile allow{""};
  AllowWatch allow_watch{allow, context, log, 0};
  Learning learning;
  std::unique_ptr<Store> store = Store::none(clock, log);
  Watch watch;
  http::Broadcast broadcast;
  http::RefusalCounts http_refusals, enrol_refusals;
  EnrolCounts enrol;
  Shims shims{{}};
  RoleFigures roles;
  Series series;
  std::unique_ptr<PrometheusRates> traffic = PrometheusRates::make({}, clock, log).value();
  Provisioning provisioning{config, *store, *traffic, watch, nullptr, clock, log};
  RolloutManager rollout = RolloutManager::open_(configured_spec(config), "", {}, clock, log).value();
  std::string mode_reason;
  power::SleepControl sleep{{config.sleep, *store, rollout, clock, log, ""}};

  explicit PartsRig(ModeSetting mode) : DeciderRig(mode) {}
  Parts parts() { return parts(sleep); }
  Parts parts(power::SleepControl& sleeps) {
    return parts(provisioning.requests(), provisioning.replicas(), provisioning.margins(), sleeps);
  }
  Parts parts(const RequestBook& requests, const ReplicaBook& replicas, const MarginTeacher& margins) {
    return parts(requests, replicas, margins, sleep);
  }
  Parts parts(const RequestBook& requests, const ReplicaBook& replicas, const MarginTeacher& margins,
              power::SleepControl& sleeps) {
    return {{config, clock, log, context, allow, networks, learning, *store, rollout, watch, sleeps, broadcast,
             http_refusals, enrol, enrol_refusals, mode_reason},
            state,
            *decider,
            telemetry,
            shims,
            roles,
            allow_watch,
            series,
            requests,
            replicas,
            margins,
            *traffic,
            provisioning.sizing(),
            77,
            {}};
  }
  Result<wattle::SortedJson> get(const std::string& what, const Arguments& arguments = {}) {
    auto body = finished(document(parts(), what, arguments));
    if (!body) return forward_error(body);
    return wattle::SortedJson::parse(*body);
  }
};

}  // namespace wattle::controller::test
