// cluster_model_resize: follows requests of running pods that change.
#include <algorithm>

#include "placement/cluster/cluster_model.hpp"
#include "placement/cluster/sane_view.hpp"

namespace wattle::placement {

void ClusterModel::count_resized(const Identity& whose, int sign) {
  const Resources now = sane(whose.request), arrived_with = sane(whose.arrived_with);
  if (now.cpu_cores == arrived_with.cpu_cores && now.memory_bytes == arrived_with.memory_bytes) return;
  resized_.pods += static_cast<std::size_t>(sign);
  resized_.change.cpu_cores += sign * (now.cpu_cores - arrived_with.cpu_cores);
  resized_.change.memory_bytes += sign * (now.memory_bytes - arrived_with.memory_bytes);
  if (resized_.pods == 0) resized_.change = {};
}

void ClusterModel::follow_mean_request() {
  const auto left = [&](double Resources::*part) {
    const double arrived_with = resized_.arrived_with.*part;
    return resized_.pods > 0 && arrived_with > 0 ? std::max(0.0, 1 + resized_.change.*part / arrived_with) : 1.0;
  };
  fleet_.mean_request = {arrived_request_.cpu_cores * left(&Resources::cpu_cores),
                         arrived_request_.memory_bytes * left(&Resources::memory_bytes)};
}

void ClusterModel::resized(const std::string& uid, const Resources& request) {
  const auto found = slot_of_.find(uid);
  if (found == slot_of_.end()) return;
  Identity& whose = whose_[found->second];
  const Resources was = whose.request;
  if (was.cpu_cores == request.cpu_cores && was.memory_bytes == request.memory_bytes) return;
  count_resized(whose, -1);
  whose.request = request;
  count_resized(whose, 1);
  follow_mean_request();
  forecast_.resized(request.cpu_cores - was.cpu_cores);
  Known& known = *pods_[found->second].known;
  known.apps.add(whose.id, sane(was).cpu_cores, whose.there_cores, -1);
  known.apps.add(whose.id, sane(request).cpu_cores, whose.there_cores, 1);
  touch(known);
}

}  // namespace wattle::placement
