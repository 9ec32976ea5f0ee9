#include "controller/power/refused_pods.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include "placement/cluster/pack_fields.hpp"

namespace wattle::controller::power {

void RefusedPods::begin(WallTime now, WallTime changed_at) {
  std::erase_if(pods_, [&](const auto& item) { return item.second.seen != now_; });
  std::erase_if(owners_, [&](const auto& item) { return now - item.second.last >= kForgotten; });
  now_ = now;
  changed_at_ = changed_at;
}

void RefusedPods::move(const WallStep& step) {
  now_ = step.moved(now_);
  changed_at_ = step.moved(changed_at_);
  for (auto& [uid, pod] : pods_) {
    pod.since = step.moved(pod.since);
    pod.seen = step.moved(pod.seen);
  }
  for (auto& [name, owner] : owners_) owner.last = step.moved(owner.last);
}

void RefusedPods::pack(placement::PackWriter& out) const { placement::FieldWriter{out}(owners_); }

void RefusedPods::unpack(placement::PackReader& in) {
  std::map<std::string, Owner> read;
  placement::FieldReader{in}(read);
  if (in.ok()) owners_ = std::move(read);
}

bool RefusedPods::refused(const std::string& uid, const std::string& owner) {
  Seen& pod = pods_.try_emplace(uid, Seen{now_, now_, owner.empty() ? uid : owner}).first->second;
  pod.seen = now_;
  const auto tried = owners_.find(pod.owner);
  const bool may = tried == owners_.end() || tried->second.tries < kTries;
  pod.refused = may && now_ - std::max(pod.since, changed_at_) >= kSettled;
  return pod.refused;
}

void RefusedPods::woke_for(const std::vector<std::string>& uids) {
  std::set<std::string> owners;
  for (const std::string& uid : uids)
    if (const auto found = pods_.find(uid); found != pods_.end() && found->second.refused)
      owners.insert(found->second.owner);
  for (const std::string& owner : owners) {
    Owner& tried = owners_[owner];
    ++tried.tries;
    tried.last = now_;
  }
}

}  // namespace wattle::controller::power
