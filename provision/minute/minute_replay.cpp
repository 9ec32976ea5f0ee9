#include "provision/minute/minute_replay.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "provision/minute/choice.hpp"

namespace wattle::models::provision {

namespace {

constexpr std::size_t kNodes = kActions * kNodeFeatures;

Tensor tensor_of(std::size_t rows, std::size_t columns) {
  Tensor tensor{{static_cast<std::int64_t>(rows), static_cast<std::int64_t>(columns)}, {}};
  tensor.values.reserve(rows * columns);
  return tensor;
}

}  // namespace

void MinuteReplay::add(const std::string& service, double reward, Observation state, std::uint32_t action) {
  std::vector<Lived>& stretch = open_[service];
  if (!stretch.empty()) {
    stretch.back().reward = reward;
    rewards_.add(reward);
  }
  stretch.push_back({std::move(state), action, 0});
}

std::size_t MinuteReplay::open(const std::string& service) const {
  const auto found = open_.find(service);
  return found == open_.end() ? 0 : found->second.size();
}

void MinuteReplay::end(const std::string& service) {
  const auto found = open_.find(service);
  if (found == open_.end()) return;
  keep(std::move(found->second));
  open_.erase(found);
}

void MinuteReplay::end_all() {
  for (auto& [service, stretch] : open_) keep(std::move(stretch));
  open_.clear();
}

void MinuteReplay::keep(std::vector<Lived> stretch) {
  if (stretch.size() <= options_.n_step + 1) return;
  kept_ += stretch.size();
  ended_.push_back(std::move(stretch));
  while (kept_ > options_.minutes && ended_.size() > 1) {
    kept_ -= ended_.front().size();
    ended_.pop_front();
  }
}

void MinuteReplay::draw(std::vector<Transition>& batch, const Pick& pick) const {
  for (Transition& transition : batch) {
    const std::vector<Lived>& stretch = ended_[pick(ended_.size())];
    const std::size_t from = pick(stretch.size() - options_.n_step);
    double reward = 0, discount = 1;
    for (std::size_t i = 0; i < options_.n_step; ++i, discount *= options_.discount)
      reward += discount * (stretch[from + i].reward - rewards_.mean());
    transition.state = stretch[from].state;
    transition.action = stretch[from].action;
    transition.next = stretch[from + options_.n_step].state;
    transition.reward = static_cast<float>(reward);
    transition.discount = static_cast<float>(discount);
  }
}

Weights MinuteReplay::save() const {
  Tensor node = tensor_of(kept_, kNodes), pod = tensor_of(kept_, kPodFeatures),
         context = tensor_of(kept_, kContextFeatures), prior = tensor_of(kept_, kActions),
         valid = tensor_of(kept_, kActions), lived = tensor_of(kept_, 2), lengths = tensor_of(ended_.size(), 1);
  const auto append = [](Tensor& to, const auto& from) {
    for (const auto value : from) to.values.push_back(static_cast<float>(value));
  };
  for (const std::vector<Lived>& stretch : ended_) {
    lengths.values.push_back(static_cast<float>(stretch.size()));
    for (const Lived& each : stretch) {
      append(node, each.state.node);
      append(pod, each.state.pod);
      append(context, each.state.context);
      append(prior, each.state.prior);
      append(valid, each.state.valid);
      lived.values.push_back(static_cast<float>(each.action));
      lived.values.push_back(static_cast<float>(each.reward));
    }
  }
  return {{"node", std::move(node)},      {"pod", std::move(pod)},     {"context", std::move(context)},
          {"prior", std::move(prior)},    {"valid", std::move(valid)}, {"lived", std::move(lived)},
          {"lengths", std::move(lengths)}};
}

Status MinuteReplay::restore(const Weights& saved) {
  const auto wrong = [](const std::string& what) {
    return fail(Errc::malformed, "replay of minutes", what, "learning continues with new minutes");
  };
  const auto lengths = saved.find("lengths");
  if (lengths == saved.end()) return wrong("has no tensor lengths");
  std::size_t minutes = 0;
  for (const float length : lengths->second.values) {
    if (!(length > static_cast<float>(options_.n_step + 1)) || length > 1e6F)
      return wrong("contains a sequence of length 0");
    minutes += static_cast<std::size_t>(length);
  }
  const auto values = [&](const char* name, std::size_t columns) -> const float* {
    const auto found = saved.find(name);
    return found != saved.end() && found->second.values.size() == minutes * columns ? found->second.values.data()
                                                                                    : nullptr;
  };
  const float* node = values("node", kNodes);
  const float* pod = values("pod", kPodFeatures);
  const float* context = values("context", kContextFeatures);
  const float* prior = values("prior", kActions);
  const float* valid = values("valid", kActions);
  const float* lived = values("lived", 2);
  if (minutes > 0 && (node == nullptr || pod == nullptr || context == nullptr || prior == nullptr || valid == nullptr ||
                      lived == nullptr))
    return wrong("contains tensors of the wrong size");
  MinuteReplay read(options_);
  for (const float length : lengths->second.values) {
    std::vector<Lived> stretch(static_cast<std::size_t>(length));
    for (Lived& each : stretch) {
      each.state.nodes = kActions;
      each.state.node.assign(node, node + kNodes);
      std::copy_n(pod, kPodFeatures, each.state.pod.begin());
      std::copy_n(context, kContextFeatures, each.state.context.begin());
      each.state.prior.assign(prior, prior + kActions);
      for (std::size_t i = 0; i < kActions; ++i) each.state.valid.push_back(valid[i] > 0 ? 1 : 0);
      if (!(lived[0] >= 0 && lived[0] < static_cast<float>(kActions)) || !std::isfinite(lived[1]))
        return wrong("contains an impossible action or reward");
      each.action = static_cast<std::uint32_t>(lived[0]);
      each.reward = static_cast<double>(lived[1]);
      if (each.state.valid[each.action] == 0) return wrong("contains an invalid action");
      node += kNodes;
      pod += kPodFeatures;
      context += kContextFeatures;
      prior += kActions;
      valid += kActions;
      lived += 2;
    }
    for (std::size_t i = 0; i + 1 < stretch.size(); ++i) read.rewards_.add(stretch[i].reward);
    read.keep(std::move(stretch));
  }
  *this = std::move(read);
  return {};
}

}  // namespace wattle::models::provision
