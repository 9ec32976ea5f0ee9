// feature_specs: the features in order, with unit and source. placement/worth/features.md is the version for readers.
#include "placement/worth/features.hpp"

namespace wattle::placement {

const std::array<FeatureSpec, models::kNodeFeatures> kNodeFeatureSpecs = {{
    {"cpu_requested", "ratio", "requested cores / allocatable cores"},
    {"cpu_used", "ratio", "used cores / cores"},
    {"memory_requested", "ratio", "requested bytes / allocatable bytes"},
    {"memory_used", "ratio", "used bytes / total bytes"},
    {"in_flight", "ratio", "in-flight pods and those bound since the last interval / 8"},
    {"cpu_coming", "ratio", "predicted cores of in-flight and unsettled pods / cores"},
    {"plan_preference", "relative",
     "what the plan would rather not have, in W0; 0: its own choice, or there is no plan"},
    {"pods", "ratio", "pods / pod capacity"},
    {"same_app", "ratio", "pods of the same application / pods of it on all nodes compared"},
    {"cores", "log", "log2(cores) / 8"},
    {"psi_cpu", "ratio", "PSI cpu some"},
    {"psi_stalled", "ratio", "the higher of PSI memory some and PSI io some"},
    {"plan_left", "ratio", "places that the plan has open here / those on all nodes compared"},
    {"idle_per_slot", "relative", "idle watts / slots / W0"},
    {"marginal", "relative", "predicted marginal watts / W0"},
    {"marginal_with_wake", "log", "log(1 + (marginal + idle and wake watts if asleep) / W0) / 4"},
    {"plan_expected", "ratio", "pods that by the plan are likely to come here / slots"},
    {"amortised", "relative", "(idle watts / slots + marginal watts) / W0"},
    {"amortised_rank", "ratio", "rank of amortised, 0 lowest, 1 highest, ties share"},
    {"active", "flag", "has pods, or some are coming"},
    {"asleep", "flag", "powered down"},
    {"curve_half_per_slot", "relative", "watts at half load / slots / W0"},
    {"curve_full_per_slot", "relative", "watts at full load / slots / W0"},
    {"curve_slope", "relative", "watts of one tenth more load / tenth of the cores x demand / W0"},
    {"slope_rank", "ratio", "rank of curve_slope"},
    {"latency_soft", "relative", "latency / (soft limit, or 100 ms)"},
    {"latency_hard", "relative", "latency / hard limit; 0 without one"},
    {"latency_known", "flag", "the node told the latency to the pod's target"},
    {"telemetry_age", "relative", "age of telemetry / 10 s; 4 if never heard of"},
    {"io_used", "ratio", "highest of network and disk rates / capacity"},
    {"tcp_share", "ratio", "established connections / those of all nodes compared"},
    {"outlives", "relative",
     "log2((life of the pod + 60 s) / (time until the node is empty + 60 s)) / 4; 0 if unknown"},
    {"curve_error", "ratio", "deviation of measured watts from the curve / slots / W0; 0 if the curve is known"},
    {"use_unsure", "ratio", "how much more than expected its pods may use, nine times in ten / cores"},
    {"wait_added", "ratio", "watts that the pod adds in waiting, at the price of waiting / W0"},
    {"wait_error", "ratio", "deviation of the share that tenants waited from what the model of waiting says"},
}};

const std::array<FeatureSpec, models::kPodFeatures> kPodFeatureSpecs = {{
    {"cpu_request", "log", "log2(1 + 10 cores) / 8"},
    {"memory_request", "log", "log2(1 + bytes / 16 MiB) / 16"},
    {"demand", "log", "log2(1 + 10 predicted cores) / 8"},
    {"demand_of_node", "ratio", "predicted cores / mean cores of the nodes compared"},
    {"memory_of_node", "ratio", "requested bytes / mean bytes of the nodes compared"},
    {"latency_soft", "relative", "soft limit / 100 ms"},
    {"latency_soft_known", "flag", "a soft limit is given"},
    {"latency_hard", "relative", "hard limit / 100 ms"},
    {"latency_hard_known", "flag", "a hard limit is given"},
    {"daemonset", "flag", "owned by a DaemonSet, or static"},
    {"plan_known", "flag", "there is a plan"},
    {"same_app", "log", "log2(1 + pods of the same application) / 8"},
    {"w0", "log", "log2(1 + W0) / 8: the mean amortised watts per slot of the nodes compared"},
    {"demand_quantile", "ratio", "part of the pods to come that use less"},
    {"life", "log", "log2(1 + predicted life / 60 s) / 16; 0 if it stays or is unknown"},
    {"expected_pods", "log", "log2(1 + pods that the plan expects to come) / 16"},
    {"demand_error", "ratio", "deviation of pods like it from the predicted cores / predicted cores"},
}};

const std::array<FeatureSpec, models::kContextFeatures> kContextFeatureSpecs = {{
    {"weight_energy", "relative", "reward weight of energy / 4; 0 for other presets than weighted"},
    {"weight_latency", "relative", "reward weight of latency / 4"},
    {"weight_balance", "relative", "reward weight of balance / 4"},
    {"weight_packing", "relative", "reward weights of packing and active nodes / 4"},
    {"weight_contention", "relative", "reward weight of contention / 4"},
    {"nodes", "log", "log2(nodes compared) / 12"},
    {"pending", "log", "log2(1 + waiting pods) / 12"},
    {"fleet_fill", "ratio", "requested cores / allocatable cores of the nodes compared, in-flight included"},
    {"forecast_error", "ratio", "mean error of what was forecast of requested cores an hour ahead / requested cores"},
}};

// FNV-1a, 64 bits, over kind, name and meaning of each feature in order.
std::string feature_schema_hash() {
  std::uint64_t hash = 0xcbf29ce484222325ULL;
  const auto mix = [&hash](std::string_view text) {
    for (const char letter : text) hash = (hash ^ static_cast<unsigned char>(letter)) * 0x100000001b3ULL;
    hash = (hash ^ 0xffU) * 0x100000001b3ULL;
  };
  const auto mix_all = [&mix](std::string_view kind, const auto& specs) {
    mix(kind);
    for (const FeatureSpec& spec : specs) {
      mix(spec.name);
      mix(spec.unit);
      mix(spec.source);
    }
  };
  mix_all("node", kNodeFeatureSpecs);
  mix_all("pod", kPodFeatureSpecs);
  mix_all("context", kContextFeatureSpecs);
  std::string text(16, '0');
  for (std::size_t digit = 0; digit < 16; ++digit) text[digit] = "0123456789abcdef"[(hash >> (60 - 4 * digit)) & 15U];
  return text;
}

}  // namespace wattle::placement
