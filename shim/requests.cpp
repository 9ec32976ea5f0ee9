#include "shim/requests.hpp"

namespace wattle::shim {

void Requests::note(const std::string& scheduler, bool without_controller, MonoTime now) {
  const std::lock_guard lock(mutex_);
  ++asked_;
  if (without_controller) ++without_controller_;
  asked_at_ = now;
  // Names in Kubernetes have no comma.
  if (!scheduler.empty() && schedulers_.size() < kSchedulersKept && scheduler.find(',') == std::string::npos)
    schedulers_.insert(scheduler);
}

std::map<std::string, std::string> Requests::facts(MonoTime now) const {
  const std::lock_guard lock(mutex_);
  std::map<std::string, std::string> out{{"asked", std::to_string(asked_)},
                                         {"without_controller", std::to_string(without_controller_)}};
  if (asked_at_) out["asked_ago_ms"] = std::to_string((now - *asked_at_) / std::chrono::milliseconds(1));
  std::string names;
  for (const std::string& name : schedulers_) names += (names.empty() ? "" : ",") + name;
  out["schedulers"] = names;
  return out;
}

}  // namespace wattle::shim
