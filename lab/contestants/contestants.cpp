#include "lab/contestants/contestants.hpp"

#include <array>

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

}  // namespace wattle::sim::provision
