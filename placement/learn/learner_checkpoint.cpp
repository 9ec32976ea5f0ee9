// learner_checkpoint: stores the learner's experience exactly, as named tensors.
// Format   "replay/node" [rows x 36], "replay/prior" and "replay/valid" [rows], "replay/pod" [n x 17], "replay/context"
//          [n x 9]; everything else as 64-bit words, each split into three floats of 22, 21 and 21 bits, in
//          "replay/words" [words x 3] and "replay/centring". Rewards and transitions are not stored: they follow from
//          raw outcomes
// Errors   malformed, naming the tensor; the learner is then unchanged
#include <bit>
#include <cmath>
#include <sstream>
#include <string>

#include "placement/learn/learner.hpp"
#include "placement/worth/features.hpp"

namespace wattle::placement {
namespace {

const std::string kCentring = "replay/centring", kError = "replay/td_error";
constexpr std::uint64_t kFormat = 1;
constexpr std::uint64_t kLimb = 1U << 21U;

class Writer {
 public:
  void operator()(std::uint64_t value) {
    values_.push_back(static_cast<float>(value >> 42U));
    values_.push_back(static_cast<float>((value >> 21U) % kLimb));
    values_.push_back(static_cast<float>(value % kLimb));
  }
  void operator()(std::uint32_t value) { (*this)(std::uint64_t{value}); }
  void operator()(bool value) { (*this)(std::uint64_t{value}); }
  void operator()(double value) { (*this)(std::bit_cast<std::uint64_t>(value)); }
  void operator()(const std::optional<double>& value) {
    (*this)(value.has_value());
    (*this)(value.value_or(0));
  }
  template <class T>
  void size(const std::vector<T>& items) {
    (*this)(std::uint64_t{items.size()});
  }
  models::Tensor take() { return {{static_cast<std::int64_t>(values_.size() / 3), 3}, std::move(values_)}; }

 private:
  std::vector<float> values_;
};

class Reader {
 public:
  explicit Reader(const std::vector<float>& values) : values_(values) {}
  bool ok() const { return ok_; }
  bool done() const { return ok_ && at_ == values_.size(); }
  void operator()(std::uint64_t& value) {
    value = 0;
    if (at_ + 3 > values_.size()) ok_ = false;
    for (int limb = 0; ok_ && limb < 3; ++limb) {
      const double part = static_cast<double>(values_[at_++]);
      if (!(part >= 0 && part < static_cast<double>(limb == 0 ? 2 * kLimb : kLimb) && part == std::floor(part))) {
        ok_ = false;
        break;
      }
      value = (value << 21U) + static_cast<std::uint64_t>(part);
    }
  }
  void operator()(std::uint32_t& value) {
    std::uint64_t wide = 0;
    (*this)(wide);
    ok_ = ok_ && wide <= 0xffffffffU;
    value = static_cast<std::uint32_t>(wide);
  }
  void operator()(bool& value) {
    std::uint64_t wide = 0;
    (*this)(wide);
    value = wide != 0;
  }
  void operator()(double& value) {
    std::uint64_t bits = 0;
    (*this)(bits);
    value = std::bit_cast<double>(bits);
  }
  void operator()(std::optional<double>& value) {
    bool has = false;
    double inside = 0;
    (*this)(has);
    (*this)(inside);
    value = has ? std::optional<double>(inside) : std::nullopt;
  }
  template <class T>
  void size(std::vector<T>& items) {
    std::uint64_t count = 0;
    (*this)(count);
    ok_ = ok_ && count <= values_.size() - at_;
    items.resize(ok_ ? static_cast<std::size_t>(count) : 0);
  }

 private:
  const std::vector<float>& values_;
  std::size_t at_ = 0;
  bool ok_ = true;
};

// The same list of fields serves reading and writing.
template <class Archive, class Outcome>
void node_fields(Archive& archive, Outcome& outcome) {
  archive(outcome.latency_ms);
  archive(outcome.latency_soft_ms);
  archive(outcome.latency_hard_ms);
  archive(outcome.marginal_w);
  archive(outcome.expected_marginal_w);
  archive(outcome.expected_life_s);
  archive(outcome.mean_power_w);
  archive(outcome.cpu_some_ratio);
  archive(outcome.failed);
  archive(outcome.was_infeasible);
  archive(outcome.all_full);
}

template <class Archive, class Outcome>
void outcome_fields(Archive& archive, Outcome& outcome) {
  archive(outcome.before.workers);
  archive(outcome.before.on);
  archive(outcome.before.pods);
  for (auto* range : {&outcome.before.by_pods, &outcome.before.by_cpu, &outcome.before.by_memory,
                      &outcome.before.by_disk, &outcome.before.by_tcp}) {
    archive(range->chosen);
    archive(range->least);
    archive(range->most);
  }
  archive(outcome.deviations_pct);
  node_fields(archive, outcome);
}

template <class Archive, class Config>
void reward_fields(Archive& archive, Config& config) {
  for (auto* weight : {&config.weights.energy, &config.weights.latency, &config.weights.balance,
                       &config.weights.active_nodes, &config.weights.packing, &config.weights.contention,
                       &config.weights.failure, &config.reference_w, &config.horizon_s})
    archive(*weight);
}

template <class Archive, class Figures>
void figure_fields(Archive& archive, Figures& figures) {
  archive(figures.placed);
  archive(figures.settled);
  archive(figures.expired);
  archive(figures.steps);
  archive(figures.loss);
  archive(figures.mean_q);
  archive(figures.mean_reward);
}

template <class Archive, class Fields>
void centring_fields(Archive& archive, Fields& centring) {
  archive(centring.centre);
  archive(centring.spread2);
  archive(centring.steps);
}

bool same(const RewardConfig& a, const RewardConfig& b) {
  Writer of_a, of_b;
  reward_fields(of_a, a);
  reward_fields(of_b, b);
  return a.preset == b.preset && of_a.take().values == of_b.take().values;
}

tl::unexpected<Error> malformed(const std::string& tensor, const std::string& what) {
  return fail(Errc::malformed, "learner checkpoint, tensor " + tensor, what,
              "start without it, or restore an older checkpoint");
}

Result<const models::Tensor*> find(const models::Weights& saved, const std::string& name, std::int64_t columns) {
  const auto found = saved.find(name);
  if (found == saved.end()) return malformed(name, "is missing");
  const models::Tensor& tensor = found->second;
  const bool flat = columns == 1;
  if (tensor.shape.size() != (flat ? 1U : 2U) || tensor.shape[0] < 0 || (!flat && tensor.shape[1] != columns) ||
      tensor.values.size() != static_cast<std::size_t>(tensor.shape[0]) * static_cast<std::size_t>(columns)) {
    return malformed(name, "has the wrong shape");
  }
  for (const float value : tensor.values) {
    if (!std::isfinite(value)) return malformed(name, "contains a value that is not finite");
  }
  return &tensor;
}

}  // namespace

models::Weights Learner::save() const {
  Writer words;
  models::Tensor node, prior, valid, pod, context;
  words(kFormat);
  words(replay_.first());
  words(std::uint64_t{chain().size()});
  words(static_cast<std::uint64_t>(reward_.preset));
  reward_fields(words, reward_);
  figure_fields(words, figures_);
  std::stringstream generator;
  generator << replay_.generator();
  std::vector<std::uint64_t> state;
  for (std::uint64_t word = 0; generator >> word;) state.push_back(word);
  words.size(state);
  for (const std::uint64_t word : state) words(word);
  for (const Experience& experience : chain()) {
    words(experience.decision_id);
    words(std::bit_cast<std::uint64_t>(to_ns(experience.when)));
    words(std::uint64_t{experience.observation.nodes});
    words(experience.action);
    words(experience.expired);
    words(experience.after_restart);
    words(experience.outcome.has_value());
    if (experience.outcome) outcome_fields(words, *experience.outcome);
    if (experience.outcome) words(experience.outcome->placement);
    const models::Observation& seen = experience.observation;
    node.values.insert(node.values.end(), seen.node.begin(), seen.node.end());
    prior.values.insert(prior.values.end(), seen.prior.begin(), seen.prior.end());
    for (const std::uint8_t flag : seen.valid) valid.values.push_back(static_cast<float>(flag));
    pod.values.insert(pod.values.end(), seen.pod.begin(), seen.pod.end());
    context.values.insert(context.values.end(), seen.context.begin(), seen.context.end());
  }
  const auto rows = static_cast<std::int64_t>(prior.values.size());
  const auto count = static_cast<std::int64_t>(chain().size());
  node.shape = {rows, models::kNodeFeatures};
  prior.shape = valid.shape = {rows};
  pod.shape = {count, models::kPodFeatures};
  context.shape = {count, models::kContextFeatures};
  models::Weights saved;
  saved["replay/node"] = std::move(node);
  saved["replay/prior"] = std::move(prior);
  saved["replay/valid"] = std::move(valid);
  saved["replay/pod"] = std::move(pod);
  saved["replay/context"] = std::move(context);
  saved["replay/words"] = words.take();
  Writer centring;
  centring_fields(centring, centring_.state());
  saved[kCentring] = centring.take();
  if (figures_.td_error) {
    Writer error;
    error(*figures_.td_error);
    saved[kError] = error.take();
  }
  return saved;
}

Status Learner::restore(const models::Weights& saved) {
  WATTLE_TRY(const models::Tensor* node, find(saved, "replay/node", models::kNodeFeatures));
  WATTLE_TRY(const models::Tensor* prior, find(saved, "replay/prior", 1));
  WATTLE_TRY(const models::Tensor* valid, find(saved, "replay/valid", 1));
  WATTLE_TRY(const models::Tensor* pod, find(saved, "replay/pod", models::kPodFeatures));
  WATTLE_TRY(const models::Tensor* context, find(saved, "replay/context", models::kContextFeatures));
  WATTLE_TRY(const models::Tensor* packed, find(saved, "replay/words", 3));
  Reader words(packed->values);
  std::uint64_t format = 0, first = 0, count = 0, preset = 0;
  words(format);
  if (!words.ok() || format != kFormat) return malformed("replay/words", "has another format");
  words(first);
  words(count);
  words(preset);
  RewardConfig reward;
  reward_fields(words, reward);
  LearnerFigures figures;
  figure_fields(words, figures);
  std::vector<std::uint64_t> state;
  words.size(state);
  std::stringstream text;
  for (std::uint64_t& word : state) {
    words(word);
    text << word << ' ';
  }
  std::mt19937_64 random;
  if (!words.ok() || !(text >> random)) return malformed("replay/words", "contains no random generator");
  const std::size_t total = prior->values.size();
  if (count != static_cast<std::uint64_t>(pod->shape[0]) || pod->shape[0] != context->shape[0] ||
      valid->values.size() != total || node->values.size() != total * models::kNodeFeatures ||
      preset > static_cast<std::uint64_t>(Preset::expression)) {
    return malformed("replay/words", "contradicts the sizes of the other tensors");
  }
  reward.preset = static_cast<Preset>(preset);
  // The formula is not stored.
  const bool relabels = !same(reward, reward_) || reward.preset == Preset::expression;

  std::deque<Experience> chain;
  std::size_t row = 0;
  for (std::size_t i = 0; i < count; ++i) {
    Experience experience;
    std::uint64_t when = 0, nodes = 0;
    bool settled = false;
    words(experience.decision_id);
    words(when);
    words(nodes);
    words(experience.action);
    words(experience.expired);
    words(experience.after_restart);
    words(settled);
    if (settled) {
      outcome_fields(words, experience.outcome.emplace());
      words(experience.outcome->placement);
    }
    if (!words.ok() || nodes > total - row || experience.action >= nodes) {
      return malformed("replay/words", "is truncated at experience " + std::to_string(i));
    }
    experience.when = mono_from_ns(std::bit_cast<std::int64_t>(when));
    const auto slice = [](const models::Tensor& tensor, std::size_t from, std::size_t size) {
      const auto begin = tensor.values.begin() + static_cast<std::ptrdiff_t>(from);
      return std::vector<float>(begin, begin + static_cast<std::ptrdiff_t>(size));
    };
    models::Observation& seen = experience.observation;
    seen.nodes = static_cast<std::size_t>(nodes);
    seen.node = slice(*node, row * models::kNodeFeatures, seen.nodes * models::kNodeFeatures);
    seen.prior = slice(*prior, row, seen.nodes);
    for (const float flag : slice(*valid, row, seen.nodes)) seen.valid.push_back(flag > 0 ? 1 : 0);
    for (std::size_t j = 0; j < models::kPodFeatures; ++j) seen.pod[j] = pod->values[i * models::kPodFeatures + j];
    for (std::size_t j = 0; j < models::kContextFeatures; ++j)
      seen.context[j] = context->values[i * models::kContextFeatures + j];
    row += seen.nodes;
    if (relabels) relabel(seen, reward_);
    judge(experience, reward_);
    chain.push_back(std::move(experience));
  }
  if (!words.done() || row != total) return malformed("replay/words", "contains extra data");

  RewardCentring::State centring;
  WATTLE_TRY(const models::Tensor* centred, find(saved, kCentring, 3));
  Reader of_centring(centred->values);
  centring_fields(of_centring, centring);
  const bool numbers = std::isfinite(centring.centre) && std::isfinite(centring.spread2) && centring.spread2 >= 0;
  if (!of_centring.done() || !numbers) return malformed(kCentring, "contains no reward centre");

  if (saved.contains(kError)) {
    WATTLE_TRY(const models::Tensor* kept, find(saved, kError, 3));
    Reader error(kept->values);
    double td_error = 0;
    error(td_error);
    if (!error.done() || !std::isfinite(td_error) || td_error < 0) return malformed(kError, "contains no error");
    figures.td_error = td_error;
  }

  centring_.restore(relabels ? RewardCentring::State{} : centring);
  replay_.restore(std::move(chain), first, random);
  figures_ = figures;
  figures_.replay = replay_.size();
  figures_.centre = centring_.centre();
  figures_.steps_judged = figures.steps;
  outcomes_judged_ = figures.settled;
  if (relabels) begin_means();
  return {};
}

}  // namespace wattle::placement
