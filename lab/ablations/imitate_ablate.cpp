#include "lab/ablations/imitate_ablate.hpp"

#include <algorithm>
#include <cassert>

#include "placement/worth/features.hpp"

namespace wattle::sim::consolidation {

namespace {

const std::array<Variant, 9> kVariants{{
    {"whole", "DeepSets, residual on the prior, all features", {}},
    {"plain Q", "no prior: the network says all of Q", {}, false},
    {"cross-entropy alone", "the expected regret is not in the loss", {}, true, 1, false},
    {"last weights", "those of the last step, not the mean", {}, true, 1, true, false},
    {"no plan",
     "features of the plan are 0; the prior is still the plan's",
     {"plan_preference", "plan_left", "plan_expected", "expected_pods"}},
    {"no application profile",
     "what is predicted of the pod by its application is 0: demand and life",
     {"demand", "demand_of_node", "demand_quantile", "demand_error", "life", "outlives"}},
    {"no lives", "life of the pod and whether it outlives its neighbours are 0", {"life", "outlives"}},
    {"no curves",
     "watts of the nodes are 0",
     {"idle_per_slot", "marginal", "marginal_with_wake", "amortised", "amortised_rank", "curve_half_per_slot",
      "curve_full_per_slot", "curve_slope", "slope_rank", "curve_error"}},
    {"a quarter of the labels", "", {}, true, 0.25},
}};

template <class Specs>
bool silence_in(const Specs& specs, std::string_view name, std::span<float> rows) {
  bool found = false;
  for (std::size_t i = 0; i < specs.size(); ++i) {
    if (specs[i].name != name) continue;
    found = true;
    for (std::size_t at = i; at < rows.size(); at += specs.size()) rows[at] = 0;
  }
  return found;
}

// Mean of each block of regrets, so that labels of one fleet count once.
std::vector<double> by_block(const std::vector<double>& values, std::size_t block) {
  std::vector<double> means;
  for (std::size_t from = 0; from < values.size(); from += block)
    means.push_back(mean(std::span(values).subspan(from, std::min(block, values.size() - from))));
  return means;
}

}  // namespace

std::span<const Variant> variants() { return kVariants; }

std::vector<Label> without(const Variant& variant, std::span<const Label> labels) {
  std::vector<Label> out(labels.begin(), labels.end());
  for (Label& label : out) {
    for (const std::string_view name : variant.silent) {
      const bool node = silence_in(placement::kNodeFeatureSpecs, name, label.state.node);
      const bool pod = silence_in(placement::kPodFeatureSpecs, name, label.state.pod);
      assert(node || pod);
    }
    if (!variant.prior) std::fill(label.state.prior.begin(), label.state.prior.end(), 0.0F);
  }
  return out;
}

Result<std::vector<AblationRow>> ablate(std::span<const Label> labels, std::span<const Label> held_out,
                                        const AblateOptions& options, const Teach& teach,
                                        const std::function<void(std::string_view)>& on_done) {
  if (labels.empty() || held_out.empty())
    return fail(Errc::out_of_range, "labels", "there are none", "more episodes: wattle-lab labels");
  const std::vector<double> prior = by_block(regrets_of(held_out, nullptr), options.block);
  std::vector<double> whole;
  std::vector<AblationRow> rows;
  for (const Variant& variant : kVariants) {
    const auto part = labels.first(
        std::max<std::size_t>(1, static_cast<std::size_t>(variant.labels * static_cast<double>(labels.size()))));
    const std::vector<Label> taught = without(variant, part), judged = without(variant, held_out);
    std::vector<double> sum(prior.size(), 0.0), of_seed;
    for (std::size_t s = 0; s < options.seeds; ++s) {
      WATTLE_TRY(const auto network, teach(variant, taught, options.first_seed + s));
      const std::vector<double> regrets = regrets_of(judged, network.get());
      of_seed.push_back(mean(regrets));
      const std::vector<double> blocks = by_block(regrets, options.block);
      for (std::size_t b = 0; b < sum.size(); ++b) sum[b] += blocks[b] / static_cast<double>(options.seeds);
    }
    if (rows.empty()) whole = sum;
    // Blocks of labels are resampled, but a variant is as good as its training seeds show it to be.
    const auto less = [&](const std::vector<double>& other) {
      const Interval interval = paired_difference(sum, other);
      return enough_seeds(options.seeds) ? interval : stats::without_range(interval.mean);
    };
    rows.push_back({variant.name, variant.what, mean(of_seed), *std::min_element(of_seed.begin(), of_seed.end()),
                    *std::max_element(of_seed.begin(), of_seed.end()), less(whole), less(prior)});
    if (on_done) on_done(variant.name);
  }
  return rows;
}

}  // namespace wattle::sim::consolidation
