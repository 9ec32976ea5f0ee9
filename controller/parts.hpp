// parts: the parts of a controller that answers and documents are made from. The controller builds the first group,
// and the loop adds its own. A part that is switched off is present and reports nothing; its on() returns false.
// Threads  the loop's
#pragma once

#include <cstdint>
#include <string>

#include "common/clock.hpp"

namespace wattle {
class Log;
}  // namespace wattle

namespace wattle::http {
class Broadcast;
class RefusalCounts;
}  // namespace wattle::http

namespace wattle::transport {
class AllowFile;
class Context;
}  // namespace wattle::transport

namespace wattle::controller {

struct ControllerConfig;
struct RoleFigures;
class AllowWatch;
class ClusterState;
class Decider;
class EnrolCounts;
class Learning;
class MarginTeacher;
class PrometheusRates;
class ReplicaBook;
class RequestBook;
class RolloutManager;
class Series;
class ServingModel;
class Shims;
class SizingLadder;
class Store;
class Telemetry;
class Watch;
namespace power {
class SleepControl;
}  // namespace power

struct ControllerParts {
  const ControllerConfig& config;
  const Clock& clock;
  const Log& log;
  transport::Context& context;
  transport::AllowFile& allow;  // whose list is in force
  const ServingModel& networks;
  Learning& learning;
  Store& store;
  RolloutManager& rollout;
  Watch& watch;
  power::SleepControl& sleep;
  http::Broadcast& live;  // viewers of the page
  const http::RefusalCounts& http_refusals;
  const EnrolCounts& enrol;
  const http::RefusalCounts& enrol_refusals;
  const std::string& mode_reason;
};

struct Parts : ControllerParts {
  ClusterState& state;
  Decider& decider;
  Telemetry& telemetry;
  Shims& shims;
  RoleFigures& roles;
  const AllowWatch& allow_watch;
  const Series& series;
  const RequestBook& requests;
  const ReplicaBook& replicas;
  const MarginTeacher& margins;
  const PrometheusRates& traffic;
  SizingLadder& sizing;
  std::uint64_t epoch;
  MonoTime started;
};

}  // namespace wattle::controller
