#include "placement/judge/modelled_saving.hpp"

#include <algorithm>
#include <cmath>

#include "common/stats/distributions.hpp"
#include "common/stats/moments.hpp"

namespace wattle::placement {

namespace {

void add_block(ModelledBlock& sum, const ModelledBlock& block) {
  sum.seconds += block.seconds;
  sum.now_j += block.now_j;
  sum.advised_j += block.advised_j;
  sum.now_waited_s += block.now_waited_s;
  sum.advised_waited_s += block.advised_waited_s;
  sum.pod_s += block.pod_s;
  sum.advised_pod_s += block.advised_pod_s;
  sum.asleep_j += block.asleep_j;
  sum.may_sleep_s += block.may_sleep_s;
}

double advised_ratio(const ModelledBlock& block) {
  return block.pod_s > 0 ? std::min(1.0, block.advised_pod_s / block.pod_s) : 0;
}

// Autocorrelation of neighbouring blocks, 0..0.9, corrected for its bias with few values (Kendall 1954).
double autocorrelation(const std::vector<double>& errors) {
  double together = 0, all = 0;
  for (std::size_t i = 0; i < errors.size(); ++i) {
    all += errors[i] * errors[i];
    if (i > 0) together += errors[i] * errors[i - 1];
  }
  if (!(all > 0)) return 0;
  constexpr double kMost = 0.9;
  const double found = together / all;
  return std::clamp(found + (1 + 4 * found) / static_cast<double>(errors.size()), 0.0, kMost);
}

stats::Interval change_of(std::span<const ModelledBlock> blocks, const ModelledBlock& sum, double error_ratio) {
  const double ratio = sum.advised_j / sum.now_j;
  const auto n = static_cast<double>(blocks.size());
  std::vector<double> errors;
  stats::Moments moments;
  for (const ModelledBlock& block : blocks) {
    errors.push_back(block.advised_j - ratio * block.now_j);
    moments.add(errors.back());
  }
  const double correlation = autocorrelation(errors);
  const double worth = (1 - correlation) / (1 + correlation);  // effective number of independent blocks per block
  const double deviation = std::sqrt(moments.variance_of_mean() / worth) / (sum.now_j / n);
  // A few blocks that are equal by chance would give an interval of almost no width, and blocks that differ by chance
  // one that is far too wide. The variance is therefore moderated towards a usual one (Smyth 2004): on development
  // fleets, the saving of such hours differed from that of their day by a tenth of the saving.
  constexpr double kUsualFreedom = 4, kUsualRatio = 0.1, kNormal975 = 1.96;
  const double freedom = std::max(0.0, n * worth - 1), usual = kUsualRatio * (ratio - 1);
  const double moderated =
      std::sqrt((kUsualFreedom * usual * usual + freedom * deviation * deviation) / (kUsualFreedom + freedom));
  const double over_time = stats::student_quantile_975(kUsualFreedom + freedom) * moderated;
  const double reach = std::hypot(over_time, kNormal975 * error_ratio);
  return {ratio - 1, ratio - 1 - reach, ratio - 1 + reach};
}

}  // namespace

bool ModelledBlock::sane() const {
  for (const double value :
       {seconds, now_j, advised_j, now_waited_s, advised_waited_s, pod_s, advised_pod_s, asleep_j, may_sleep_s})
    if (!std::isfinite(value) || value < 0) return false;
  return true;
}

void ModelledSaving::add(const ComparedLoad& load, double passed_s) {
  if (!(passed_s > 0) || (load.advised_pods == 0 && !(load.asleep_w > 0))) return;
  const double dt_s = std::min(passed_s, options_.longest_gap_s);
  ModelledBlock now;
  now.seconds = dt_s;
  now.now_j = load.now.power_w * dt_s + load.now.wake_j;
  now.advised_j = load.advised.power_w * dt_s + load.advised.wake_j;
  now.now_waited_s = load.now.waited_pods * dt_s;
  now.advised_waited_s = load.advised.waited_pods * dt_s;
  now.pod_s = static_cast<double>(load.now.pods) * dt_s;
  now.advised_pod_s = static_cast<double>(load.advised_pods) * dt_s;
  now.asleep_j = load.asleep_w * dt_s;
  now.may_sleep_s = load.may_sleep_ratio * dt_s;
  if (!now.sane()) return;
  constexpr double kMostWait_s = 86'400;
  if (advised_ratio(now) < advised_before_ * kSameAdvice && (waited_s_ += dt_s) < kMostWait_s) return;
  advised_before_ = 0;
  constexpr double kErrorMemory_s = 3600;
  if (load.now.power_w > 0)
    error_ratio_ += std::min(1.0, dt_s / std::min(kErrorMemory_s, lasted_s_ += dt_s)) *
                    (load.error_w / load.now.power_w - error_ratio_);
  add_block(open_, now);
  if (open_.seconds < block_s_) return;
  blocks_.push_back(open_);
  open_ = {};
  if (blocks_.size() < options_.most_blocks) return;
  for (std::size_t i = 0; i + 1 < blocks_.size(); i += 2) {
    add_block(blocks_[i], blocks_[i + 1]);
    blocks_[i / 2] = blocks_[i];
  }
  blocks_.resize(blocks_.size() / 2);
  block_s_ *= 2;
}

std::span<const ModelledBlock> ModelledSaving::comparable() const {
  const auto may_sleep = [](const ModelledBlock& block) { return block.may_sleep_s / block.seconds; };
  std::size_t first = blocks_.size();
  while (first > 0 && std::abs(may_sleep(blocks_[first - 1]) - may_sleep(blocks_.back())) <= kSameSleep) --first;
  return std::span(blocks_).subspan(first);
}

std::optional<ModelledFigure> ModelledSaving::figure() const {
  const std::span<const ModelledBlock> all = comparable(), newer = all.subspan(all.size() / 2);
  if (newer.size() < options_.least_blocks) return std::nullopt;
  ModelledBlock sum;
  for (const ModelledBlock& block : newer) add_block(sum, block);
  if (!(sum.now_j > 0) || !(sum.pod_s > 0)) return std::nullopt;
  ModelledFigure figure;
  figure.change = change_of(newer, sum, error_ratio_);
  figure.now_w = sum.now_j / sum.seconds;
  figure.advised_w = sum.advised_j / sum.seconds;
  figure.now_wait_ratio = sum.now_waited_s / sum.pod_s;
  figure.advised_wait_ratio = sum.advised_waited_s / sum.pod_s;
  figure.seconds = sum.seconds;
  figure.advised_ratio = advised_ratio(sum);
  figure.asleep_w = sum.asleep_j / sum.seconds;
  return figure;
}

double ModelledSaving::first_in_s() const {
  const std::size_t wanted = 2 * options_.least_blocks - 1;  // so that the newer half has least_blocks
  const std::size_t blocks = comparable().size();
  if (blocks >= wanted) return 0;
  return std::max(0.0, static_cast<double>(wanted - blocks) * block_s_ - open_.seconds);
}

bool ModelledSaving::restore(const ModelledState& state) {
  const bool sane = std::isfinite(state.block_s) && state.block_s >= options_.block_s &&
                    state.blocks.size() < options_.most_blocks && state.open.sane() &&
                    std::all_of(state.blocks.begin(), state.blocks.end(), [](const auto& each) { return each.sane(); });
  if (!sane) return false;
  block_s_ = state.block_s;
  blocks_ = state.blocks;
  open_ = state.open;
  advised_before_ = blocks_.empty() ? 0 : advised_ratio(blocks_.back());
  return true;
}

}  // namespace wattle::placement
