#include "controller/web/sleep_json.hpp"

#include <array>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "common/json/value.hpp"
#include "controller/config.hpp"
#include "controller/power/sleep_control.hpp"
#include "controller/state/cluster_state.hpp"
#include "controller/web/cluster_json.hpp"
#include "controller/web/fleet_json.hpp"
#include "controller/web/lists.hpp"
#include "controller/web/sleep_states.hpp"
#include "placement/sleep/plan_saving.hpp"

namespace wattle::controller {

using json = SortedJson;

namespace {

namespace core = placement::sleep;

// Adds the answer of the node's drivers. `depth`: in the plan; unset: the lightest that they offer.
void add_driver(json& node, const power::MadePlan& made, std::optional<core::Depth> depth) {
  const auto found = made.probed.find(node["name"].get<std::string>());
  const power::ProbedNode* const probed = found == made.probed.end() ? nullptr : &found->second;
  const power::Capabilities* const able = probed != nullptr && probed->able ? &*probed->able : nullptr;
  if (!depth && able != nullptr && !able->depths.empty()) depth = able->depths.front();
  node["driver"] = probed == nullptr ? json() : text_or_null(probed->drivers);
  node["probed"] = able != nullptr;
  node["depth"] = depth ? json(std::string(to_string(*depth))) : json();
  node["wake_s"] = or_null(able != nullptr ? able->wake_s : std::nullopt);
  node["asleep_w"] = or_null(able != nullptr ? able->asleep_w : std::nullopt);
  node["observed"] = nullptr;
  if (probed != nullptr && probed->observed)
    node["observed"] = std::string(power::kPowerStateNames[static_cast<std::size_t>(*probed->observed)]);
}

json sleeper_json(const core::SleepChoice& choice) {
  json moves = json::array();
  for (const core::Move& move : choice.moves)
    moves.push_back({{"pod", move.name}, {"target", move.target}, {"owner", text_or_null(move.owner)}});
  return {{"name", choice.node},
          {"why", choice.reason},
          {"gap_s", number(choice.gap_s)},
          {"break_even_s", number(choice.break_even_s)},
          {"saved_j", number(choice.saved_j)},
          {"moves", std::move(moves)}};
}

json head_json(const Parts& from) {
  const auto& made = from.sleep.plan();
  json head = {{"mode", std::string(to_string(from.sleep.settings().mode))},
               {"age_s", nullptr},
               {"power_w", nullptr},
               {"power_w_after", nullptr},
               {"spare_cores", nullptr},
               {"spare_bytes", nullptr},
               {"drivers", text_or_null(from.sleep.settings().drivers_file)},
               {"moves_pods", from.sleep.moves_pods()},
               {"budgets_problem", text_or_null(from.sleep.problem())}};
  json excluded = json::array();
  for (const auto& [node, why] : from.sleep.exclusions()) excluded.push_back({{"name", node}, {"why", why}});
  head["excluded"] = std::move(excluded);
  std::optional<double> saved_w;
  if (made) {
    saved_w = core::saved_w(made->plan);
    head["age_s"] = seconds(from.clock.mono() - made->at);
    head["power_w"] = number(made->plan.watts);
    head["power_w_after"] = number(made->plan.watts_after);
    head["spare_cores"] = number(made->plan.spare.cpu_cores);
    head["spare_bytes"] = number(made->plan.spare.memory_bytes);
  }
  head["saved_j_per_day"] = or_null(per_day_j(saved_w));
  from.config.tariff.add_to(head, per_day_j(saved_w), "_per_day");
  return head;
}

}  // namespace

Document sleep_text(const Parts& from, const Arguments& arguments) {
  auto limit = parse_limit(arguments, 20);
  if (!limit) return ready(Result<std::string>(forward_error(limit)));
  const std::string node = argument(arguments, "node");
  if (!node.empty() && !from.sleep.records().contains(node))
    if (auto known = named_node(from, node); !known) return ready(Result<std::string>(forward_error(known)));
  struct Work {
    power::MadePlan made;  // copies: the next plan may come between two steps
    std::map<std::string, core::NodePowerRecord> records;
    json sleeps = json::array(), awake = json::array(), nodes = json::array();
  };
  const auto work = std::make_shared<Work>();
  if (const auto& made = from.sleep.plan()) work->made = *made;
  work->records = from.sleep.records();
  Steps sleeps = each_of(work->made.plan.sleeps, [work](const core::SleepChoice& each) {
    work->sleeps.push_back(sleeper_json(each));
    add_driver(work->sleeps.back(), work->made, each.depth);
  });
  Steps kept = each_of(work->made.plan.kept, [work](const core::KeptAwake& each) {
    work->awake.push_back(
        {{"name", each.node}, {"cause", std::string(to_string(each.why.cause))}, {"why", each.why.reason}});
    add_driver(work->awake.back(), work->made, std::nullopt);
  });
  Steps nodes = each_of(
      work->records, [&from, work](const auto& item) { work->nodes.push_back(power_record_json(from, item.second)); });
  return then(in_order({std::move(sleeps), std::move(kept), std::move(nodes)}), [&from, work, node, most = *limit] {
    json document = head_json(from);
    document["sleep"] = std::move(work->sleeps);
    document["awake"] = std::move(work->awake);
    document["nodes"] = std::move(work->nodes);
    document["totals"] = sleep_totals_json(from);
    document["transitions"] = transitions_json(from.sleep, node, most);
    return ready(Result<std::string>(document.dump()));
  });
}

// All causes exist since the first plan, so that a series does not end when its last node leaves it.
void add_sleep(Families& families, const power::SleepControl& sleep) {
  if (!sleep.on()) return;
  const auto& made = sleep.plan();
  if (!made) return;
  families.gauge("wattle_controller_sleep_plan_nodes", "Nodes that the last sleep plan would put to sleep.",
                 static_cast<double>(made->plan.sleeps.size()));
  families.gauge("wattle_controller_sleep_plan_saved_watts",
                 "Power that the last sleep plan would save, net of transitions and moves.", core::saved_w(made->plan));
  std::array<std::size_t, core::kExclusions> causes{};
  for (const core::KeptAwake& each : made->plan.kept) ++causes[static_cast<std::size_t>(each.why.cause)];
  prometheus::MetricFamily& kept =
      families.family("wattle_controller_sleep_plan_awake_nodes",
                      "Nodes that the last sleep plan keeps awake, by cause.", prometheus::MetricType::Gauge);
  for (std::size_t cause = 1; cause < causes.size(); ++cause)
    Families::add(kept, {{"cause", std::string(to_string(static_cast<core::ExcludedFor>(cause)))}},
                  static_cast<double>(causes[cause]));
}

}  // namespace wattle::controller
