// steered: services whose limits follow the node's own rule (provision/student), with a margin, memory and replicas
// that a Steering sets once a minute: the integral rule, a teacher or a student.
// Source   readings of 100 ms; once a minute the waiting of requests
// Gives    each service's state in a minute (provision/minute), and the cost of the minute
// Units    seconds, cores; costs in the power of the cores that the service used recently
// Errors   none
// Threads  single owner; copies continue from the same state, with the same steering
#pragma once

#include <vector>

#include "provision/minute/minute.hpp"
#include "provision/minute/service_cost.hpp"
#include "provision/requests/rate_forecast.hpp"
#include "provision/student/integral_rule.hpp"
#include "sim/provision/world.hpp"

namespace wattle::sim::provision {

struct SteerOptions {
  models::provision::Price price;
  models::provision::Bounds bounds;  // replicas: those of the world
  actuator::IntegralRules rule;
  double throttled_aim_ratio = actuator::kThrottledAim;  // of the rule without latency, as in actuator/governor
};

struct MinuteOfService {
  models::provision::ServiceMinute state;
  double local_rule_margin = 0;
  models::provision::Bounds bounds;
  double cost = 0, need = 0;  // provision/minute/service_cost.hpp
};

class Steering {
 public:
  virtual ~Steering() = default;
  virtual models::provision::Setting minute(std::size_t service, const MinuteOfService& seen) = 0;
};

class Steered final : public Provisioner {
 public:
  // `steering` must outlive this object.
  Steered(const WorldOptions& world, const SteerOptions& options, Steering& steering);
  void tick(const Reading& reading, std::span<std::optional<actuator::CpuLimit>> next) override;
  std::span<const Shape> shapes() const override { return shapes_; }
  const placement::RateForecast& forecast() const { return forecast_; }

 private:
  struct Steer {
    models::provision::Setting setting;
    models::provision::MinuteWatch watch;
    double memory_gib = 0;  // granted to all replicas, sum over the minute's ticks
    models::provision::ServiceCost costs;
  };

  void watch(const Reading& reading);
  void steer(const Reading& reading);
  MinuteOfService seen_of(Steer& service, const Reading& reading) const;

  SteerOptions options_;
  std::size_t services_;
  bool memory_;
  Steering* steering_;
  std::vector<actuator::Student> students_;  // [replicas x services]
  std::vector<Steer> steers_;
  std::vector<Shape> shapes_;
  placement::RateForecast forecast_;
  double last_rps_ = 0;
};

// Overall measure: the run's power over that of the used cores, plus the price of delayed requests.
struct RunCost {
  double cost = 0, power_ratio = 0;
};
RunCost cost_of(const Figures& figures, const models::provision::Price& price);

}  // namespace wattle::sim::provision
