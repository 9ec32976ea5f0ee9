#include "controller/state/unit_ties.hpp"

#include <algorithm>

namespace wattle::controller {
namespace {

constexpr std::size_t kContainerId = 64;

bool all_hex(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

}  // namespace

std::vector<std::string> unit_names(std::string_view text) {
  while (!text.empty() && text.back() == '/') text.remove_suffix(1);
  text.remove_prefix(text.find_last_of('/') + 1);  // npos + 1 is 0
  if (text.empty()) return {};
  std::vector<std::string> names{std::string(text)};
  std::string_view id = text;
  const bool scope = id.ends_with(".scope");
  if (scope) id.remove_suffix(6);
  id.remove_prefix(id.find_last_of('-') + 1);
  if (id != text && id.size() == kContainerId && all_hex(id)) names.emplace_back(id);
  if (scope || text.ends_with(".service")) return names;
  names.push_back(std::string(text) + ".service");
  names.push_back(std::string(text) + ".scope");
  return names;
}

bool is_unit(std::string_view name, std::string_view workload) {
  if (name == workload) return true;
  return name.size() >= kContainerIdBytes && workload.size() == kContainerId && workload.starts_with(name) &&
         all_hex(workload);
}

void UnitTies::tie(const std::string& uid, const std::string& node, const std::string& unit) {
  of_[uid] = {node, unit};
  units_[node][unit].push_back({uid, std::nullopt});
}

std::optional<TiedUnit> UnitTies::untie(const std::string& uid, const RecordMark& last) {
  const auto found = of_.find(uid);
  if (found == of_.end()) return std::nullopt;
  TiedUnit tied = std::move(found->second);
  of_.erase(found);
  units_.at(tied.node).at(tied.unit).back().last = last;
  former_.push_back(tied);
  if (former_.size() <= kMostFormer) return tied;
  const TiedUnit oldest = std::move(former_.front());
  former_.pop_front();
  const auto node = units_.find(oldest.node);
  const auto unit = node->second.find(oldest.unit);
  unit->second.pop_front();
  if (unit->second.empty()) node->second.erase(unit);
  if (node->second.empty()) units_.erase(node);
  return tied;
}

const TiedUnit* UnitTies::unit_of(const std::string& uid) const {
  const auto found = of_.find(uid);
  return found == of_.end() ? nullptr : &found->second;
}

std::string UnitTies::uid_of(const std::string& node, const std::string& unit) const {
  const auto here = units_.find(node);
  if (here == units_.end()) return {};
  const auto found = here->second.find(unit);
  return found == here->second.end() || found->second.back().last ? std::string() : found->second.back().uid;
}

bool UnitTies::name(const std::string& node, Record& record) const {
  const auto here = units_.find(node);
  if (here == units_.end()) return false;
  const RecordMark mark{record.incarnation, record.seq};
  bool named = false;
  for (WorkloadValues& workload : record.workloads) {
    if (workload.kind == WorkloadKind::pod) continue;
    const auto unit = here->second.find(workload.name);
    if (unit == here->second.end()) continue;
    const auto tie = std::find_if(unit->second.begin(), unit->second.end(),
                                  [&](const Tie& each) { return !each.last || mark <= *each.last; });
    if (tie == unit->second.end()) continue;
    workload.name = tie->uid;
    workload.kind = WorkloadKind::pod;
    named = true;
  }
  return named;
}

}  // namespace wattle::controller
