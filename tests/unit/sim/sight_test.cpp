// sight: a policy's input cannot name hidden values: after its headers, the types of the world are unknown.
#include "placement/cluster/fleet.hpp"
#include "placement/decide/decision_engine.hpp"
#include "placement/decide/policies/network.hpp"
#include "placement/decide/policies/registry.hpp"

namespace wattle::sim {
class World;
class Env;
struct SimPod;
struct ServerModel;
struct NodeSpec;
struct FaultPlan;
namespace consolidation {
class Cluster;
struct Episode;
}  // namespace consolidation
}  // namespace wattle::sim

namespace {

template <class T>
concept Known = requires {
  sizeof(T);
};

static_assert(!Known<wattle::sim::World>);
static_assert(!Known<wattle::sim::Env>);
static_assert(!Known<wattle::sim::SimPod>);
static_assert(!Known<wattle::sim::ServerModel>);
static_assert(!Known<wattle::sim::NodeSpec>);
static_assert(!Known<wattle::sim::FaultPlan>);
static_assert(!Known<wattle::sim::consolidation::Cluster>);
static_assert(!Known<wattle::sim::consolidation::Episode>);
static_assert(Known<wattle::placement::PolicyContext> && Known<wattle::placement::PodEvent> &&
              Known<wattle::placement::Fleet>);

}  // namespace

#include <doctest/doctest.h>

#include <type_traits>

#include "sim/env/env.hpp"

using namespace wattle;
using namespace wattle::sim;

TEST_CASE("no input of a policy converts to the world, and no input can change anything") {
  CHECK_FALSE(std::is_convertible_v<placement::PolicyContext, World>);
  CHECK_FALSE(std::is_constructible_v<World, placement::PolicyContext&>);
  using Context = placement::PolicyContext&;
  CHECK(std::is_const_v<std::remove_reference_t<decltype(std::declval<Context>().view())>>);
  CHECK(std::is_const_v<std::remove_reference_t<decltype(std::declval<Context>().fleet())>>);
  CHECK(std::is_const_v<std::remove_reference_t<decltype(std::declval<Context>().scheduler)>::element_type>);
}

TEST_CASE("two pods that differ only in hidden values are equal to a policy") {
  SimPod one, other;
  one.spec.uid = other.spec.uid = "p";
  one.mean_demand_cores = 1;
  other.mean_demand_cores = 9;
  one.life_s = 60;
  other.life_s = 1e6;
  other.seed = 5;
  other.io.net_rx = 1e9;
  const auto text = [](const placement::PodSpec& spec) {
    return spec.uid + spec.app + std::to_string(spec.request.cpu_cores) +
           std::to_string(spec.demand_cores.value_or(-1));
  };
  CHECK(text(one.spec) == text(other.spec));
}
