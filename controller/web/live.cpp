#include "controller/web/live.hpp"

#include <algorithm>

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

void Live::turn(const Parts& from, MonoTime now) {
  if (to_.listeners() == 0) return;
  const bool newcomer = to_.joined() != joined_;
  if (!newcomer && now - told_at_ < kTellEvery) return;
  if (newcomer) {  // a new listener has read the documents before
    joined_ = to_.joined();
    decision_ = from.decider.log().entries().empty() ? 0 : from.decider.log().entries().back().decision.id;
  }
  told_at_ = now;
  to_.publish("fleet", fleet_text(from));
  if (newcomer || now - heat_at_ >= kHeatEvery) {
    heat_at_ = now;
    to_.publish("heat", heat_text(from, false));
  }
  SortedJson fresh = SortedJson::array();
  const auto& entries = from.decider.log().entries();
  for (auto entry = entries.rbegin(); entry != entries.rend() && fresh.size() < kNewDecisions; ++entry) {
    if (entry->decision.id <= decision_) break;
    fresh.push_back(decision_json(*entry));
  }
  if (fresh.empty()) return;
  decision_ = entries.back().decision.id;
  to_.publish("decisions", SortedJson{{"decisions", std::move(fresh)}}.dump());
}

}  // namespace wattle::controller
