#include "controller/decisions/outcome_windows.hpp"

#include <algorithm>
#include <utility>

namespace wattle::controller {

void OutcomeWindows::open(SettleWindow window) {
  const std::uint64_t id = window.decision_id();
  const std::string node = window.node(), pod_uid = window.pod_uid();
  if (windows_.try_emplace(id, std::move(window)).second) of_[node].emplace(pod_uid, id);
}

template <class Change>
void OutcomeWindows::change(const std::string& pod_uid, const std::string& node, const Change& change) {
  const auto here = of_.find(node);
  if (here == of_.end()) return;
  const auto [first, last] = here->second.equal_range(pod_uid);
  for (auto each = first; each != last; ++each) change(windows_.at(each->second));
}

void OutcomeWindows::pod_gone(const std::string& pod_uid, const std::string& node, bool final) {
  change(pod_uid, node, [&](SettleWindow& window) { window.pod_gone(final); });
}

void OutcomeWindows::pod_failed(const std::string& pod_uid, const std::string& node, std::string_view how) {
  change(pod_uid, node, [&](SettleWindow& window) { window.pod_failed(how); });
}

std::vector<SettleWindow> OutcomeWindows::add(const std::string& node, const Record& record, MonoTime at, bool ahead,
                                              MonoTime now) {
  const auto here = of_.find(node);
  if (here == of_.end()) return {};
  const WorkloadUses use = workload_uses(record);
  std::vector<std::uint64_t> ids;
  for (const auto& [pod_uid, id] : here->second) {
    SettleWindow& window = windows_.at(id);
    window.add(record, use, at, ahead);
    if (window.over(now)) ids.push_back(id);
  }
  std::sort(ids.begin(), ids.end());
  return take(ids);
}

std::vector<SettleWindow> OutcomeWindows::over(MonoTime now) {
  std::vector<std::uint64_t> ids;
  for (const auto& [id, window] : windows_)
    if (window.over(now)) ids.push_back(id);
  return take(ids);
}

std::vector<SettleWindow> OutcomeWindows::take(const std::vector<std::uint64_t>& ids) {
  std::vector<SettleWindow> taken;
  taken.reserve(ids.size());
  for (const std::uint64_t id : ids) {
    const auto found = windows_.find(id);
    taken.push_back(std::move(found->second));
    windows_.erase(found);
    const auto here = of_.find(taken.back().node());
    const auto range = here->second.equal_range(taken.back().pod_uid());
    here->second.erase(std::find_if(range.first, range.second, [&](const auto& each) { return each.second == id; }));
    if (here->second.empty()) of_.erase(here);
  }
  return taken;
}

}  // namespace wattle::controller
