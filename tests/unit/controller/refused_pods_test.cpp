// refused_pods: when an unschedulable pod wakes a node, and how often.
#include "controller/power/refused_pods.hpp"

#include <doctest/doctest.h>

using namespace wattle;
using wattle::controller::power::RefusedPods;

namespace {

const WallTime kStart = wall_from_ns(1'800'000'000'000'000'000);

WallTime after(Duration time) { return kStart + time; }

}  // namespace

TEST_CASE("refused pods: a pod counts once it has been unschedulable for a while with the same nodes") {
  RefusedPods pods;
  pods.begin(kStart, {});
  CHECK_FALSE(pods.refused("a", "web"));
  pods.begin(after(RefusedPods::kSettled / 2), {});
  CHECK_FALSE(pods.refused("a", "web"));
  pods.begin(after(RefusedPods::kSettled), {});
  CHECK(pods.refused("a", "web"));
  // A node became awake, and its scheduler may place the pod there.
  pods.begin(after(RefusedPods::kSettled * 2), after(RefusedPods::kSettled * 3 / 2));
  CHECK_FALSE(pods.refused("a", "web"));
  pods.begin(after(RefusedPods::kSettled * 3), after(RefusedPods::kSettled * 3 / 2));
  CHECK(pods.refused("a", "web"));
  // The pod had a node in the meantime.
  pods.begin(after(RefusedPods::kSettled * 4), {});
  pods.begin(after(RefusedPods::kSettled * 5), {});
  CHECK_FALSE(pods.refused("a", "web"));
}

TEST_CASE("refused pods: the pods of one owner wake few nodes, and may try again later") {
  RefusedPods pods;
  Duration time{};
  const auto look = [&](const char* uid, const char* owner) {
    pods.begin(after(time), {});
    const bool refused = pods.refused(uid, owner);
    time += RefusedPods::kSettled;
    return refused;
  };
  CHECK_FALSE(look("a", "web"));
  for (std::size_t i = 0; i < RefusedPods::kTries; ++i) {
    CHECK(look("a", "web"));
    pods.woke_for({"a", "unknown"});
  }
  CHECK_FALSE(look("a", "web"));
  pods.woke_for({"a"});  // woken for its size, which is no try
  CHECK_FALSE(look("b", ""));
  CHECK(look("b", ""));
  time += RefusedPods::kForgotten;
  CHECK_FALSE(look("a", "web"));
  CHECK(look("a", "web"));
}

TEST_CASE("refused pods: neither a restart nor a step of the wall clock gives an owner more tries") {
  RefusedPods pods;
  Duration time{};
  const auto look = [&] {
    time += RefusedPods::kSettled;
    pods.begin(after(time), {});
    return pods.refused("a", "web");
  };
  for (std::size_t i = 0; i < RefusedPods::kTries; ++i) {
    look();
    REQUIRE(look());
    pods.woke_for({"a"});
  }
  placement::PackWriter out;
  pods.pack(out);
  const std::string body = out.take();
  placement::PackReader in(body);
  pods = RefusedPods();
  pods.unpack(in);
  CHECK(in.done());
  look();
  CHECK_FALSE(look());
  pods.move({after(time), RefusedPods::kForgotten});
  time += RefusedPods::kForgotten;
  CHECK_FALSE(look());
  time += RefusedPods::kForgotten;
  look();
  CHECK(look());
}
