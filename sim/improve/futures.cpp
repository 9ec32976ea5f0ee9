#include "sim/improve/futures.hpp"

#include <algorithm>
#include <cassert>
#include <vector>

#include "sim/world/random.hpp"

namespace wattle::sim::consolidation {

Episode another_future(const Episode& episode, std::size_t pod, std::size_t number) {
  assert(episode.options.churn && pod < episode.pods.size());
  Episode other = episode;
  if (number == 0) return other;
  other.seed = mix(mix(episode.seed, 0x667574757265ULL + pod), number);
  Random random(mix(other.seed, 0x706f6473ULL));
  std::vector<std::vector<std::size_t>> of_app;
  for (std::size_t p = 0; p < episode.pods.size(); ++p) {
    of_app.resize(std::max(of_app.size(), episode.pods[p].app + 1));
    of_app[episode.pods[p].app].push_back(p);
  }
  const auto like = [&](const Pod& each) -> const Pod& {
    const auto& all = of_app[each.app];
    return episode.pods[all[pick(random, all.size())]];
  };
  const double now_s = episode.pods[pod].arrives_s;
  if (episode.options.cluster_model != ClusterModel::truth) {
    for (std::size_t p = 0; p < pod; ++p) {
      Pod& each = other.pods[p];
      const double lived_s = now_s - each.arrives_s;
      if (each.life_s > lived_s) each.life_s = lived_s + like(each).life_s;
    }
    other.pods[pod].life_s = like(episode.pods[pod]).life_s;
    other.pods[pod].machine = like(episode.pods[pod]).machine;
  }
  const double rate = static_cast<double>(episode.pods.size()) / episode.end_s;
  other.pods.resize(pod + 1);
  for (double at_s = now_s;;) {
    at_s += exponential(random, 1 / rate);
    if (at_s >= episode.end_s) break;
    other.pods.push_back(episode.pods[pick(random, episode.pods.size())]);
    other.pods.back().arrives_s = at_s;
  }
  return other;
}

}  // namespace wattle::sim::consolidation
