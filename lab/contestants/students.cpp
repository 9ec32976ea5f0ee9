// students: the node's rule, one student per service, under a common margin that the latency of whole requests moves.
#include <algorithm>
#include <vector>

#include "lab/contestants/contestants.hpp"
#include "provision/student/integral_rule.hpp"

namespace wattle::sim::provision {
namespace {

constexpr double kFirstMargin = 0.3;

class Students final : public Provisioner {
 public:
  Students(const WorldOptions& world, double aim_ratio) {
    rules_.aim_ratio = aim_ratio;
    actuator::StudentRules student;
    student.most_cores = world.cores;
    students_.assign(world.services, actuator::Student(student));
  }

  void tick(const Reading& reading, std::span<std::optional<actuator::CpuLimit>> next) override {
    if (reading.minute != nullptr)
      margin_ = actuator::next_margin(rules_, margin_, {reading.minute->count, reading.minute->over});
    for (std::size_t i = 0; i < students_.size(); ++i) {
      const ServiceReading& service = reading.services[i];
      const auto wish =
          students_[i].observe({reading.elapsed_s, service.used_s, service.throttled_periods > 0}, margin_);
      if (!wish) continue;
      // Each service has a node of its own here, without other load.
      actuator::Wish allowed = *wish;
      const double idle_ratio = 1 - service.used_s / (reading.elapsed_s * reading.cores);
      actuator::bound_boosts({&allowed, 1}, actuator::headroom_cores(reading.cores, idle_ratio, 0));
      next[i] = students_[i].decide(allowed, service.set);
    }
  }

 private:
  actuator::IntegralRules rules_;
  std::vector<actuator::Student> students_;
  double margin_ = kFirstMargin;
};

}  // namespace

Maker prepare_students(const WorldOptions& world, double aim_ratio) {
  return [world, aim_ratio](std::uint64_t) { return std::make_unique<Students>(world, aim_ratio); };
}

}  // namespace wattle::sim::provision
