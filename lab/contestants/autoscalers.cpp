// autoscalers: provisioners in common use: VPA and K8s-CPU-Fast.
#include <algorithm>
#include <cmath>
#include <deque>
#include <vector>

#include "lab/contestants/contestants.hpp"
#include "lab/contestants/vpa.hpp"

namespace wattle::sim::provision {
namespace {

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

class VpaLimit {
 public:
  explicit VpaLimit(double ratio) : vpa_(ratio) {}
  std::optional<double> tick(const Reading& reading, const ServiceReading& service) {
    const auto cores = minutes_.add(reading, service);
    if (!cores) return std::nullopt;
    return vpa_.minute(*cores, service.set ? service.set->cores() : 0, reading.now_s);
  }

 private:
  Vpa vpa_;
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

}  // namespace

Maker prepare_vpa(const WorldOptions& world, double ratio) { return prepare<VpaLimit>(world, ratio); }
Maker prepare_k8s_cpu_fast(const WorldOptions& world, double target) { return prepare<K8sCpuFast>(world, target); }

}  // namespace wattle::sim::provision
