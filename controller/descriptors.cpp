#include "controller/descriptors.hpp"

#include <algorithm>
#include <limits>
#include <string>

namespace wattle::controller {

namespace {
constexpr std::uint64_t kShimConnections = 65, kOtherConnections = 4;
}  // namespace

std::uint64_t descriptors_needed(const transport::AllowList& allow) {
  std::uint64_t agents = 0, others = 0;
  for (const auto& [key, identity] : allow.entries()) {
    if (identity.role == transport::Role::agent)
      ++agents;
    else
      others += identity.role == transport::Role::shim ? kShimConnections : kOtherConnections;
  }
  return kOwnDescriptors + agents + (agents + 7) / 8 + others;
}

int descriptors_for_agents(std::uint64_t limit) {
  const std::uint64_t rest = limit - std::min(kOwnDescriptors, limit / 2);
  return static_cast<int>(std::min<std::uint64_t>(rest, std::numeric_limits<int>::max() / 2));
}

int descriptors_for_asks(std::uint64_t limit) {
  return descriptors_for_agents(limit) + static_cast<int>(std::min(kAskDescriptors, limit / 8));
}

void warn_of_few_descriptors(const transport::AllowList& allow, std::uint64_t limit, const Log& log) {
  const std::uint64_t needed = descriptors_needed(allow);
  if (limit == 0 || needed <= limit) return;
  log.warn("controller.few_descriptors", "the limit of open files is too low for the allowed keys",
           {{"limit", limit},
            {"needed", needed},
            {"keys", static_cast<std::uint64_t>(allow.size())},
            {"fix", "raise the hard limit of open files to at least " + std::to_string(needed) +
                        " with LimitNOFILE in the unit, or with the container runtime's limit"}});
}

}  // namespace wattle::controller
