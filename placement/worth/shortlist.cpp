#include "placement/worth/shortlist.hpp"

#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>
#include <map>

#include "placement/worth/features.hpp"
#include "placement/worth/plan_view.hpp"
#include "placement/worth/ranks.hpp"

namespace wattle::placement {

namespace {

// Columns, by the names of the feature specs.
std::size_t column(std::string_view name) {
  const auto found = std::find_if(kNodeFeatureSpecs.begin(), kNodeFeatureSpecs.end(),
                                  [&](const FeatureSpec& spec) { return spec.name == name; });
  assert(found != kNodeFeatureSpecs.end());
  return static_cast<std::size_t>(found - kNodeFeatureSpecs.begin());
}

struct Columns {
  const std::size_t requested = column("cpu_requested"), used = column("cpu_used"), cores = column("cores"),
                    asleep = column("asleep"), idle = column("idle_per_slot"), half = column("curve_half_per_slot"),
                    full = column("curve_full_per_slot"), amortised = column("amortised"),
                    amortised_rank = column("amortised_rank"), slope = column("curve_slope"),
                    slope_rank = column("slope_rank");
  const std::array<std::size_t, 3> shares = {column("same_app"), column("plan_left"), column("tcp_share")};
};

const Columns& columns() {
  static const Columns found;
  return found;
}

constexpr std::size_t kDemand = 2, kDemandOfNode = 3, kPlanKnown = 10, kSameApp = 11;  // in the pod's features
constexpr std::size_t kNodes = 5, kFill = 7;                                           // in the context
constexpr float kKindStep = 0.25F;  // smaller differences of curves and fills count as the same kind

float at(const models::Observation& seen, std::size_t row, std::size_t feature) {
  return seen.node[row * models::kNodeFeatures + feature];
}

using Kind = std::array<int, 6>;
Kind kind_of(const models::Observation& seen, std::size_t row) {
  const Columns& of = columns();
  const auto step = [&](std::size_t feature) {
    return static_cast<int>(std::lround(at(seen, row, feature) / kKindStep));
  };
  return {step(of.idle), step(of.half), step(of.full), step(of.requested), step(of.used), step(of.asleep)};
}

}  // namespace

bool beyond_shortlist(const models::Observation& seen, std::size_t most) {
  if (most == 0 || !(seen.pod[kPlanKnown] > 0)) return false;
  const auto valid = std::count_if(seen.valid.begin(), seen.valid.end(), [](auto each) { return each != 0; });
  return static_cast<std::size_t>(valid) > most;
}

std::vector<std::size_t> shortlist(const models::Observation& seen, std::size_t most, std::optional<std::size_t> also) {
  std::vector<std::size_t> valid;
  for (std::size_t row = 0; row < seen.nodes; ++row)
    if (seen.valid[row] != 0) valid.push_back(row);
  if (valid.size() <= most) return valid;
  std::stable_sort(valid.begin(), valid.end(), [&](auto a, auto b) { return seen.prior[a] > seen.prior[b]; });
  std::vector<std::size_t> listed;
  std::vector<std::uint8_t> taken(seen.nodes, 0);
  const auto take = [&](std::size_t row) {
    if (taken[row] != 0 || listed.size() >= most) return;
    taken[row] = 1;
    listed.push_back(row);
  };
  if (also) take(*also);
  take(valid.front());
  for (std::size_t k = 0; k < valid.size() && listed.size() < (most + 1) / 2; ++k) take(valid[k]);
  std::map<Kind, bool> kinds;
  for (const std::size_t row : listed) kinds[kind_of(seen, row)] = true;
  for (std::size_t k = 0; k < valid.size() && listed.size() < most; ++k)
    if (taken[valid[k]] == 0 && kinds.emplace(kind_of(seen, valid[k]), true).second) take(valid[k]);
  for (std::size_t k = 0; k < valid.size() && listed.size() < most; ++k) take(valid[k]);
  std::sort(listed.begin(), listed.end());
  return listed;
}

models::Observation listed_alone(const models::Observation& seen, std::span<const std::size_t> rows) {
  const Columns& of = columns();
  models::Observation alone;
  alone.nodes = rows.size();
  alone.pod = seen.pod;
  alone.context = seen.context;
  alone.valid.assign(rows.size(), 1);
  alone.node.reserve(rows.size() * models::kNodeFeatures);
  std::vector<double> amortised, slope;
  std::array<double, 3> sums{};
  double cores = 0, requested = 0;
  for (const std::size_t row : rows) {
    const auto from = seen.node.begin() + static_cast<std::ptrdiff_t>(row * models::kNodeFeatures);
    alone.node.insert(alone.node.end(), from, from + static_cast<std::ptrdiff_t>(models::kNodeFeatures));
    alone.prior.push_back(seen.prior[row]);
    amortised.push_back(static_cast<double>(at(seen, row, of.amortised)));
    slope.push_back(static_cast<double>(at(seen, row, of.slope)));
    for (std::size_t k = 0; k < sums.size(); ++k) sums[k] += static_cast<double>(at(seen, row, of.shares[k]));
    const double own = std::exp2(8 * static_cast<double>(at(seen, row, of.cores)));
    cores += own;
    requested += own * static_cast<double>(at(seen, row, of.requested));
  }
  const std::vector<float> amortised_ranks = mean_ranks(amortised), slope_ranks = mean_ranks(slope);
  for (std::size_t k = 0; k < rows.size(); ++k) {
    float* out = &alone.node[k * models::kNodeFeatures];
    out[of.amortised_rank] = amortised_ranks[k];
    out[of.slope_rank] = slope_ranks[k];
    for (std::size_t share = 0; share < sums.size(); ++share)
      if (sums[share] > 0) out[of.shares[share]] /= static_cast<float>(sums[share]);
  }
  if (rows.empty()) return alone;
  const auto count = static_cast<double>(rows.size());
  const double demand = (std::exp2(8 * static_cast<double>(seen.pod[kDemand])) - 1) / 10;
  const double same_app = sums[0] * (std::exp2(8 * static_cast<double>(seen.pod[kSameApp])) - 1);
  alone.pod[kDemandOfNode] = static_cast<float>(std::min(4.0, demand / (cores / count)));
  alone.pod[kSameApp] = static_cast<float>(std::min(4.0, std::log2(1 + same_app) / 8));
  alone.context[kNodes] = static_cast<float>(std::log2(count) / 12);
  alone.context[kFill] = static_cast<float>(requested / cores);
  return alone;
}

void Shortlisted::residual(const models::Observation& observation, std::span<float> out) const {
  if (!beyond_shortlist(observation, most_)) return network_.residual(observation, out);
  const std::vector<std::size_t> listed = shortlist(observation, most_);
  std::vector<float> said(listed.size(), 0.0F);
  network_.residual(listed_alone(observation, listed), said);
  float least = 0;
  for (const float value : said) least = std::isfinite(value) ? std::min(least, value) : least;
  for (std::size_t i = 0; i < observation.nodes; ++i) out[i] = observation.valid[i] != 0 ? least : 0.0F;
  for (std::size_t k = 0; k < listed.size(); ++k) out[listed[k]] = said[k];
}

std::optional<std::size_t> best_node(const models::Observation& observation, std::span<const float> residual,
                                     std::optional<std::size_t> keep, double margin) {
  const auto q = [&](std::size_t i) {
    return static_cast<double>(observation.prior[i]) + static_cast<double>(residual[i]);
  };
  if (models::is_flat(observation, residual)) margin = std::max(margin, kSilentMargin);
  std::optional<std::size_t> best;
  for (std::size_t i = 0; i < observation.nodes; ++i)
    if (observation.valid[i] != 0 && (!best || q(i) > q(*best))) best = i;
  if (best && keep && observation.valid[*keep] != 0 && q(*best) <= q(*keep) + margin) return keep;
  return best;
}

}  // namespace wattle::placement
