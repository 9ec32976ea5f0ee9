#include "controller/web/live.hpp"

#include <memory>
#include <vector>

#include "common/json/value.hpp"
#include "controller/decisions/decider.hpp"
#include "controller/web/decision_json.hpp"
#include "controller/web/fleet_json.hpp"

namespace wattle::controller {
namespace {

constexpr Duration kTellEvery = std::chrono::seconds(2);
constexpr Duration kHeatEvery = std::chrono::seconds(4);
constexpr std::size_t kNewDecisions = 50;

}  // namespace

Steps Live::turn(const Parts& from, MonoTime now) {
  if (to_.listeners() == 0) return no_steps();
  const bool newcomer = to_.joined() != joined_;
  if (!newcomer && now - reported_at_ < kTellEvery) return no_steps();
  if (newcomer) {  // a new listener has already read the documents
    joined_ = to_.joined();
    decision_ = from.decider.log().entries().empty() ? 0 : from.decider.log().entries().back().decision.id;
  }
  reported_at_ = now;
  const auto sums = std::make_shared<FleetSums>();
  std::vector<Steps> steps{sum_fleet(from, sums), [this, &from, sums] {
                             to_.publish("fleet", fleet_text(from, *sums));
                             return false;
                           }};
  if (newcomer || now - heat_at_ >= kHeatEvery) {
    heat_at_ = now;
    steps.push_back([this, heat = heat_text(from, false)] {
      const auto text = heat();
      if (text) to_.publish("heat", **text);
      return !text;
    });
  }
  steps.push_back([this, &from] {
    publish_decisions(from.decider.log());
    return false;
  });
  return in_order(std::move(steps));
}

void Live::publish_decisions(const DecisionLog& log) {
  SortedJson fresh = SortedJson::array();
  const auto& entries = log.entries();
  for (auto entry = entries.rbegin(); entry != entries.rend() && fresh.size() < kNewDecisions; ++entry) {
    if (entry->decision.id <= decision_) break;
    fresh.push_back(decision_json(*entry));
  }
  if (fresh.empty()) return;
  decision_ = entries.back().decision.id;
  to_.publish("decisions", SortedJson{{"decisions", std::move(fresh)}}.dump());
}

}  // namespace wattle::controller
