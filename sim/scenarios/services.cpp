#include "sim/scenarios/services.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numbers>

namespace wattle::sim {

namespace {

constexpr double kServiceMiB = 1024.0 * 1024;
constexpr std::size_t kServices = 8;
constexpr std::size_t kWave = 60, kWaves = 2;  // slots
constexpr std::size_t kStable = 10;            // slots that scaling down looks back
constexpr double kTolerance = 0.1;

double busy_cores(const AppProfile& service, double per_s) {
  return per_s * service.request_share * service.work_core_s;
}

std::size_t wanted_replicas(const AppProfile& service, double per_s) {
  return static_cast<std::size_t>(std::max(1.0, std::ceil(busy_cores(service, per_s) / kReplicaTarget_cores)));
}

}  // namespace

std::vector<AppProfile> service_profiles(const Scenario& scenario, std::uint64_t seed) {
  constexpr std::array<double, 3> kRequests_cores{0.25, 0.5, 1.0};
  Random random(mix(seed, 0x7365727669636573ULL));
  std::vector<AppProfile> services(kServices);
  double shares = 0, work_core_s = 0;
  for (std::size_t i = 0; i < kServices; ++i) {
    AppProfile& service = services[i];
    service.name = "service-" + std::to_string(i);
    service.request = {kRequests_cores[pick(random, kRequests_cores.size())], 256 * kServiceMiB};
    service.latency_soft_ms = 1.25 * kServiceLatency_ms;
    service.serves_users = true;
    service.request_share = uniform(random, 0.5, 1.5);
    service.work_core_s = std::exp(0.5 * normal(random));
    shares += service.request_share;
    work_core_s += service.request_share * service.work_core_s;
  }
  const double most_cores = scenario.load_ratio * scenario.cores * static_cast<double>(scenario.nodes);
  for (AppProfile& service : services) {
    service.work_core_s *= most_cores / kMostRequests_per_s / (work_core_s / shares);
    service.request_share /= shares;
  }
  return services;
}

std::vector<double> request_rates(std::uint64_t seed) {
  Random random(mix(seed, 0x7261746573ULL));
  constexpr double kMiddle = (kLeastRequests_per_s + kMostRequests_per_s) / 2;
  std::vector<double> per_s{0};
  for (std::size_t slot = 1; slot <= kWave * kWaves; ++slot) {
    const double turn = 2 * std::numbers::pi * static_cast<double>(slot) / static_cast<double>(kWave);
    const double rate = kMiddle - (kMostRequests_per_s - kMiddle) * std::cos(turn);
    per_s.push_back(std::clamp(rate * std::exp(0.08 * normal(random)), kLeastRequests_per_s, kMostRequests_per_s));
  }
  return per_s;
}

std::vector<Replica> scale(std::span<const AppProfile> services, std::span<const double> per_s) {
  constexpr double kForEver = std::numeric_limits<double>::infinity();
  constexpr double kApart_s = 0.2;  // between replicas that are made at the same time
  std::vector<Replica> all;
  std::vector<std::vector<std::size_t>> alive(services.size());  // indices into all, newest last
  for (std::size_t slot = 0; slot < per_s.size(); ++slot) {
    double at_s = kDemandSlot_s * static_cast<double>(slot);
    for (std::size_t app = 0; app < services.size(); ++app) {
      const auto seen = [&](std::size_t at) { return std::max(per_s[at], kLeastRequests_per_s); };
      const std::size_t now = alive[app].size();
      std::size_t want = wanted_replicas(services[app], seen(slot > 0 ? slot - 1 : 0));
      const double off = static_cast<double>(want) / static_cast<double>(std::max<std::size_t>(1, now)) - 1;
      if (now > 0 && std::abs(off) <= kTolerance) continue;
      for (std::size_t back = 2; back <= kStable && back <= slot; ++back)
        want = std::max(want, std::min(now, wanted_replicas(services[app], seen(slot - back))));
      for (; alive[app].size() < want; at_s += kApart_s) {
        alive[app].push_back(all.size());
        all.push_back({at_s, kForEver, app});
      }
      for (; alive[app].size() > want; alive[app].pop_back()) {
        Replica& newest = all[alive[app].back()];
        newest.life_s = at_s - newest.at_s;
      }
    }
  }
  return all;
}

}  // namespace wattle::sim
