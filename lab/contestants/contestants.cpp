#include "lab/contestants/contestants.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <deque>
#include <vector>

#include "common/stats/decayed_histogram.hpp"
#include "sim/provision/steering.hpp"

namespace wattle::sim::provision {
namespace {

constexpr std::array kRatios{1.0, 1.05, 1.1, 1.15, 1.2, 1.3, 1.4, 1.5, 1.6,
                             1.7, 1.8,  1.9, 2.0,  2.2, 2.5, 3.0, 3.5, 4.0};
constexpr std::array kUtilisations{0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.55, 0.6,
                                   0.65, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95, 1.0};
constexpr std::array kTargets{0.0, 0.02, 0.04, 0.06, 0.1, 0.15,
                              0.2, 0.25, 0.3,  0.4,  0.5};  // Autothrottle's and two more
constexpr std::array kTowerHours{12.0};
constexpr std::array kAims{0.003};
constexpr std::array kNone{0.0};

constexpr std::array kContestants{
    Contestant{"wattle", "base, boost and burst under the integral rule: provision/student", "aim", kAims,
               prepare_students},
    Contestant{"vpa", "Vertical Pod Autoscaler's histogram: p90 times a ratio", "ratio", kRatios, prepare_vpa},
    Contestant{"k8s-cpu-fast", "usage over a target, each second, the maximum of 20", "utilisation", kUtilisations,
               prepare_k8s_cpu_fast},
    Contestant{"captain", "Autothrottle's captain at one target of throttling", "target", kTargets, prepare_captain},
    Contestant{"tower", "captains whose target a bandit chooses each minute", "hours of learning", kTowerHours,
               prepare_tower},
    Contestant{kClairvoyant, "grants the future use of each 100 ms: the lower bound", "none", kNone, prepare_idle},
};

class Idle final : public Provisioner {
 public:
  void tick(const Reading&, std::span<std::optional<actuator::CpuLimit>>) override {}
};

// Has one scaler per service. Each returns a limit in cores at each tick, or no value if the limit stays.
template <class Scaler>
class PerService final : public Provisioner {
 public:
  PerService(const WorldOptions& world, double setting) : scalers_(world.services, Scaler(setting)) {}
  void tick(const Reading& reading, std::span<std::optional<actuator::CpuLimit>> next) override {
    for (std::size_t i = 0; i < scalers_.size(); ++i) {
      const auto cores = scalers_[i].tick(reading, reading.services[i]);
      if (!cores) continue;
      const actuator::CpuLimit limit = plain_limit(std::min(*cores, reading.cores));
      if (limit != reading.services[i].set) next[i] = limit;
    }
  }

 private:
  std::vector<Scaler> scalers_;
};

// Mean usage over spans of about `span_s`; no value within a span.
class Spans {
 public:
  explicit Spans(double span_s) : span_s_(span_s) {}
  std::optional<double> add(const Reading& reading, const ServiceReading& service) {
    elapsed_s_ += reading.elapsed_s;
    used_s_ += service.used_s;
    if (elapsed_s_ < span_s_ - reading.elapsed_s / 2) return std::nullopt;
    const double cores = used_s_ / elapsed_s_;
    elapsed_s_ = used_s_ = 0;
    return cores;
  }

 private:
  double span_s_, elapsed_s_ = 0, used_s_ = 0;
};

// Vertical Pod Autoscaler: recommender/util/histogram.go and its defaults: buckets of 0.01 cores growing by 5 %, half-
// life of 24 h, p90 times a ratio (its own: 1.15), at least 25 m. A sample per minute has the weight of the limit, at
// least 0.1; changes below 10 % are skipped.
class VpaLimit {
 public:
  explicit VpaLimit(double ratio) : ratio_(ratio) {}
  std::optional<double> tick(const Reading& reading, const ServiceReading& service) {
    const auto cores = minutes_.add(reading, service);
    if (!cores) return std::nullopt;
    const double limit = service.set ? service.set->cores() : 0;
    histogram_.add(*cores, std::max(0.1, limit), reading.now_s);
    const double wanted = std::max(0.025, histogram_.quantile(0.9) * ratio_);
    return std::abs(wanted - limit) < 0.1 * limit ? std::nullopt : std::optional(wanted);
  }

 private:
  double ratio_;
  stats::DecayedHistogram histogram_;  // its defaults are VPA's
  Spans minutes_{60};
};

class K8sCpuFast {
 public:
  explicit K8sCpuFast(double target) : target_(target) {}
  std::optional<double> tick(const Reading& reading, const ServiceReading& service) {
    const auto used = spans_.add(reading, service);
    if (!used) return std::nullopt;
    wanted_.push_back(*used / target_);
    if (wanted_.size() > 20) wanted_.pop_front();
    return std::max(0.01, *std::max_element(wanted_.begin(), wanted_.end()));
  }

 private:
  double target_;
  std::deque<double> wanted_;
  Spans spans_{1};
};

template <class Scaler>
Maker prepare(const WorldOptions& world, double setting) {
  return [world, setting](std::uint64_t) { return std::make_unique<PerService<Scaler>>(world, setting); };
}

// The node's rule, one student per service, under a margin that the latency of whole requests moves.
class Students final : public Provisioner {
 public:
  Students(const WorldOptions& world, const SteerOptions& options) : services_(world, options, rule_) {}
  void tick(const Reading& reading, std::span<std::optional<actuator::CpuLimit>> next) override {
    services_.tick(reading, next);
  }

 private:
  RuleSteering rule_;
  Steered services_;
};

}  // namespace

std::span<const Contestant> contestants() { return kContestants; }

const Contestant* find_contestant(std::string_view name) {
  for (const Contestant& each : kContestants)
    if (each.name == name) return &each;
  return nullptr;
}

Maker prepare_idle(const WorldOptions&, double) {
  return [](std::uint64_t) { return std::make_unique<Idle>(); };
}

Maker prepare_vpa(const WorldOptions& world, double ratio) { return prepare<VpaLimit>(world, ratio); }
Maker prepare_k8s_cpu_fast(const WorldOptions& world, double target) { return prepare<K8sCpuFast>(world, target); }

Maker prepare_students(const WorldOptions& world, double aim_ratio) {
  SteerOptions options;
  options.rule.aim_ratio = aim_ratio;
  return [world, options](std::uint64_t) { return std::make_unique<Students>(world, options); };
}

}  // namespace wattle::sim::provision
