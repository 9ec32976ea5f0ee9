// live_run, bench: the state at a day's end is that at the next one's start, including verdicts of gates.
#include "lab/bench/live_run.hpp"

#include <doctest/doctest.h>

#include "models/frozen/frozen_network.hpp"
#include "models/frozen/layout.hpp"
#include "tests/unit/sim/scenarios/consolidation.hpp"

namespace wattle::sim::consolidation {
namespace {

std::shared_ptr<const models::QNetwork> a_network() {
  return models::FrozenNetwork::from_weights(models::initial_weights(5), 0).value();
}

TEST_CASE("earlier evidence applies if candidates are measured; an impossible state is refused") {
  const auto network = a_network();
  placement::CandidateTrials::State kept = placement::CandidateTrials().saved();
  kept.arms.serving = 2;
  ChooserOptions options;
  options.candidates = kept;
  for (const char* name : {"planner", "dqn", "dqn-measured"}) {
    const Contestant contestant = contestant_named(name, network.get()).value();
    const auto chooser = Chooser::make(contestant, options, 1);
    REQUIRE(chooser);
    const placement::DecisionEngine& engine = chooser->engine().engine();
    CHECK((engine.trials().in_use() == placement::Candidate::baseline) == contestant.measured);
    if (!contestant.measured) CHECK_FALSE(engine.gated());
  }
  options.candidates->waited.clear();
  CHECK(Chooser::make(contestant_named("dqn-measured", network.get()).value(), options, 1).error().code ==
        Errc::malformed);
}

}  // namespace
}  // namespace wattle::sim::consolidation
