#include "controller/web/node_metrics.hpp"

#include <array>
#include <string>

#include "controller/decisions/decider.hpp"
#include "controller/state/cluster_state.hpp"
#include "controller/web/series.hpp"
#include "controller/web/sleep_states.hpp"

namespace wattle::controller {
namespace {

using prometheus::MetricFamily;
using prometheus::MetricType;

// Adds a family with a sample for each node whose value is known.
template <class Value>
Steps per_node(Families& families, const Parts& from, const char* name, const char* help, MetricType type,
               Value value) {
  const auto begin = [&families, &from, name, help, type, value] {
    MetricFamily& family = families.family(name, help, type);
    return each_of(from.state.nodes(), [&family, value](const auto& item) {
      const std::optional<double> found = value(item.first, item.second);
      if (found) Families::add(family, {{"node", item.first}}, *found);
    });
  };
  return then(no_steps(), begin);
}

constexpr std::array kSources{EnergySource::none, EnergySource::rapl,  EnergySource::perf,
                              EnergySource::pcm,  EnergySource::hwmon, EnergySource::estimated};

Steps energy_sources(Families& families, const Parts& from) {
  const auto begin = [&families, &from] {
    MetricFamily& family = families.family("wattle_controller_node_energy_source",
                                           "1 for the energy source of the node, else 0.", MetricType::Gauge);
    return each_of(from.state.nodes(), [&family](const auto& item) {
      for (const EnergySource source : kSources)
        Families::add(family, {{"node", item.first}, {"source", std::string(to_string(source))}},
                      source == item.second.values.energy_source ? 1.0 : 0.0);
    });
  };
  return then(no_steps(), begin);
}

}  // namespace

Steps add_nodes(Families& families, const Parts& from) {
  using Found = std::optional<double>;
  const auto gauge = [&](const char* name, const char* help, auto value) {
    return per_node(families, from, name, help, MetricType::Gauge, value);
  };
  return in_order(
      {gauge("wattle_controller_node_up", "1 if the node's agent is connected.",
             [&from](const std::string& name, const Node& node) -> Found {
               if (!node.connected && may_be_silent(from.sleep, name)) return std::nullopt;
               return node.connected ? 1.0 : 0.0;
             }),
       gauge("wattle_controller_node_telemetry_age_seconds", "Time since the last sample.",
             [&from](const std::string& name, const Node& node) -> Found {
               if (!node.sampled_at || (!node.connected && may_be_silent(from.sleep, name))) return std::nullopt;
               return seconds(from.clock.mono() - *node.sampled_at);
             }),
       gauge("wattle_controller_node_catching_up",
             "1 if older records wait with the node's agent and only live values are current.",
             [](const std::string&, const Node& node) -> Found { return node.ahead.empty() ? 0.0 : 1.0; }),
       gauge("wattle_controller_node_power_watts", "Mean over the last interval.",
             [&from](const std::string& name, const Node& node) { return glance(from, name, node).power_w; }),
       energy_sources(families, from),
       per_node(families, from, "wattle_controller_node_energy_joules_total",
                "Energy since the controller first saw the node.", MetricType::Counter,
                [](const std::string&, const Node& node) -> Found { return node.energy_j; }),
       gauge("wattle_controller_node_cpu_used_cores", "Mean over the last interval.",
             [](const std::string&, const Node& node) -> Found { return node.values.cpu_used_cores; }),
       gauge("wattle_controller_node_pods", "Pods on the node.",
             [](const std::string&, const Node& node) -> Found { return static_cast<double>(node.pods.size()); }),
       gauge(
           "wattle_controller_node_in_flight_pods", "Pods advised to the node that have not appeared yet.",
           [](const std::string&, const Node& node) -> Found { return static_cast<double>(node.in_flight.size()); })});
}

}  // namespace wattle::controller
