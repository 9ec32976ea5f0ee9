#include "placement/cluster/sane_view.hpp"

namespace wattle::placement {

PodSpec with_sane_limits(const PodSpec& pod, std::vector<std::string>& problems) {
  PodSpec copy = pod;
  const auto drop_if_invalid = [&problems](std::optional<double>& limit_ms, const char* name) {
    if (!limit_ms || (std::isfinite(*limit_ms) && *limit_ms >= 0)) return;
    problems.push_back(std::string(name) + " latency limit is not a time: ignored");
    limit_ms.reset();
  };
  drop_if_invalid(copy.latency_soft_ms, "soft");
  drop_if_invalid(copy.latency_hard_ms, "hard");
  if (copy.latency_soft_ms && copy.latency_hard_ms && *copy.latency_soft_ms > *copy.latency_hard_ms) {
    problems.push_back("soft latency limit is above the hard one: soft limit ignored");
    copy.latency_soft_ms.reset();
  }
  return copy;
}

}  // namespace wattle::placement
