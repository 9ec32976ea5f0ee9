// slow_systemd: with a systemd that answers late, the state and the originals of a unit are kept.
#include <doctest/doctest.h>

#include "actuator/governor.hpp"
#include "actuator/unit_limits.hpp"
#include "fake_systemd.hpp"

using namespace wattle;
using namespace wattle::actuator;
using namespace wattle::actuator::test;
using actuation::State;

namespace {
const std::string kSlowUnit = "a.service";

// Answers when the case permits. The first write takes effect then; no other call is made meanwhile, as in UnitHelper.
class LateManager final : public FakeManager {
 public:
  using FakeManager::FakeManager;
  Result<std::string> cgroup_of(const std::string& unit) override {
    if (late) return no_answer(unit);
    return FakeManager::cgroup_of(unit);
  }
  Result<std::uint64_t> read(const std::string& unit, UnitProperty property) override {
    if (late) return no_answer(unit);
    return FakeManager::read(unit, property);
  }
  Status write(const std::string& unit, UnitProperty property, std::uint64_t value) override {
    if (!late && !late_from_write) return FakeManager::write(unit, property, value);
    if (!late) asked = {property, value};
    late = true;
    return no_answer(unit);
  }
  void answer() {
    late = late_from_write = false;
    if (asked) REQUIRE(FakeManager::write(kSlowUnit, asked->first, asked->second));
    asked.reset();
  }

  bool late = false, late_from_write = false;
  std::optional<std::pair<UnitProperty, std::uint64_t>> asked;

 private:
  static tl::unexpected<Error> no_answer(const std::string& unit) {
    return fail(Errc::timeout, unit, "systemd has not answered yet");
  }
};

// One unit of two cores on a node of four.
struct Slow {
  Slow()
      : systemd(tree), manager(systemd), cgroups(tree.mounts(), os), limits(cgroups, &manager, systemd.control_dir()) {
    systemd.add(kSlowUnit, 2'000'000, kNoLimit);
    overwrite(tree.path() + "/proc/stat", "cpu 10 0 0 990 0 0 0 0 0 0\n");
    auto journal = Journal::open_(tree.state(), "boot-1", os);
    REQUIRE(journal);
    ledger.emplace(std::move(*journal), limits);
    auto load = NodeLoad::open_(tree.path() + "/proc", 4);
    REQUIRE(load);
    governor.emplace(cgroups, limits, *ledger, std::move(*load), Rules{});
    governor->orders().own({{FakeSystemd::cgroup(kSlowUnit), actuation::Level::limits}});
  }
  void pass(int for_s, double cores) {
    for (int i = 0; i < for_s * 10; ++i) {
      now += std::chrono::milliseconds(100);
      used_us += static_cast<std::uint64_t>(cores * 100'000);
      overwrite(
          tree.root() + FakeSystemd::cgroup(kSlowUnit) + "/cpu.stat",
          "usage_usec " + std::to_string(used_us) + "\nnr_periods " + std::to_string(++periods) + "\nnr_throttled 0\n");
      governor->tick(now);
      learning = learning || state() == State::learning;
    }
  }
  State state() const { return governor->report().grants.at(0).state; }
  double margin() const { return governor->margin_ratio(FakeSystemd::cgroup(kSlowUnit)).value(); }
  std::uint64_t quota() const { return systemd.get(kSlowUnit, UnitProperty::quota); }
  bool puts_back() {
    governor->orders().own({});
    governor->tick(now += std::chrono::milliseconds(100));
    return quota() == 2'000'000 && ledger->held() == 0 && governor->report().foreign == 0;
  }

  KernelTree tree;
  KernelOs os;
  FakeSystemd systemd;
  LateManager manager;
  CgroupLimits cgroups;
  UnitLimits limits;
  std::optional<Ledger> ledger;
  std::optional<Governor> governor;
  MonoTime now{std::chrono::hours(1)};
  std::uint64_t used_us = 0, periods = 0;
  bool learning = false;
};
}  // namespace

TEST_CASE("while systemd does not answer, a unit keeps its limit, its record and its learned state") {
  Slow slow;
  slow.pass(150, 0.5);
  REQUIRE(slow.state() == State::set);
  const double margin = slow.margin();
  REQUIRE(margin < 0.1);  // the margin has moved
  const std::uint64_t quota = slow.quota();
  const std::size_t held = slow.ledger->held();
  slow.governor->take_troubles();
  slow.learning = false;
  slow.manager.late = true;
  slow.pass(30, 1);
  CHECK(slow.state() == State::trouble);
  CHECK(slow.quota() == quota);
  CHECK(slow.ledger->held() == held);
  CHECK(slow.governor->take_troubles().size() == 1);
  slow.manager.answer();
  slow.pass(3, 1);
  CHECK(slow.state() == State::set);
  CHECK(slow.quota() > quota * 3 / 2);
  CHECK(slow.margin() == margin);
  CHECK_FALSE(slow.learning);
  CHECK(slow.puts_back());
}

TEST_CASE("a write that takes effect late is ours and not a foreign write") {
  Slow slow;
  slow.pass(20, 0.5);
  slow.learning = false;
  slow.manager.late_from_write = true;
  slow.pass(10, 1);
  REQUIRE(slow.manager.asked);
  CHECK(slow.state() == State::trouble);
  slow.manager.answer();
  slow.pass(3, 1);
  CHECK(slow.state() == State::set);
  CHECK(slow.quota() >= 1'000'000);
  CHECK_FALSE(slow.learning);
  CHECK(slow.puts_back());
}

TEST_CASE("the original survives a silence over the limit, and is restored at its end") {
  Slow slow;
  slow.pass(20, 0.5);
  slow.manager.late_from_write = true;
  slow.pass(90, 1);
  REQUIRE(slow.manager.asked);
  CHECK(slow.state() == State::trouble);
  CHECK(slow.ledger->held() > 0);
  slow.manager.answer();
  slow.pass(2, 1);
  CHECK(slow.quota() == 2'000'000);
  CHECK(slow.ledger->held() == 0);
  slow.pass(60, 1);
  CHECK(slow.state() == State::set);
  CHECK(slow.quota() < 1'500'000);
  CHECK(slow.puts_back());
}

TEST_CASE("a unit that is no longer managed is restored once systemd answers") {
  Slow slow;
  slow.pass(20, 0.5);
  slow.manager.late = true;
  slow.governor->orders().own({});
  slow.governor->tick(slow.now += std::chrono::seconds(1));
  CHECK(slow.quota() < 2'000'000);
  CHECK(slow.ledger->held() > 0);
  slow.manager.answer();
  slow.governor->tick(slow.now += std::chrono::seconds(1));
  CHECK(slow.quota() == 2'000'000);
  CHECK(slow.ledger->held() == 0);
}
