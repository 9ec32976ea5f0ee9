#include "actuator/ledger.hpp"

#include <doctest/doctest.h>

#include <functional>
#include <utility>

#include "kernel_tree.hpp"

using namespace wattle;
using namespace wattle::actuator;
using namespace wattle::actuator::test;

namespace {
struct Rig {
  explicit Rig(bool v2 = true) : tree(v2), limits(tree.mounts(), os) {
    tree.add("/a", v2 ? "200000" : "-1", "50000", "max");
    auto journal = Journal::open_(tree.state(), "boot-1", os);
    REQUIRE(journal);
    ledger.emplace(std::move(*journal), limits);
    auto found = limits.find("/a");
    REQUIRE(found);
    target = *found;
  }
  Outcome set(std::optional<std::int64_t> quota, std::optional<std::int64_t> burst,
              std::optional<std::int64_t> high = {}) {
    Values wanted;
    wanted[Knob::quota_us] = quota;
    wanted[Knob::burst_us] = burst;
    wanted[Knob::high_bytes] = high;
    const auto outcome = ledger->set(target, wanted, now);
    REQUIRE(outcome);
    return *outcome;
  }
  std::string get(Knob knob) const { return tree.get("/a", knob); }

  KernelTree tree;
  // Another program writes while our record is being written to disk.
  class MeddledOs : public KernelOs {
   public:
    ssize_t append(int fd, std::string_view text) override {
      const ssize_t done = KernelOs::append(fd, text);
      if (auto meddle = std::exchange(meanwhile, {})) meddle();
      return done;
    }
    std::function<void()> meanwhile;
  };
  MeddledOs os;
  CgroupLimits limits;
  std::optional<Ledger> ledger;
  Target target;
  MonoTime now;
};
}  // namespace

TEST_CASE("a foreign write during our disk write stays: our value is dropped, and the limit is left alone") {
  for (const bool held : {false, true}) {
    Rig rig;
    if (held) CHECK(rig.set(30'000, 20'000) == Outcome::done);
    rig.os.meanwhile = [&] { CHECK(rig.tree.put("/a", Knob::quota_us, "70000")); };
    CHECK(rig.set(40'000, 20'000) == Outcome::hands_off);
    CHECK(rig.get(Knob::quota_us) == "70000 100000");
    CHECK(rig.get(Knob::burst_us) == "50000");
    CHECK(rig.ledger->foreign() == 1);
    CHECK(rig.set(40'000, 20'000) == Outcome::hands_off);
    CHECK(rig.ledger->restore_all().failed.empty());
    CHECK(rig.get(Knob::quota_us) == "70000 100000");
    CHECK(rig.ledger->held() == 0);
  }
}

TEST_CASE("limits are set and the originals restored in an order that the kernel accepts") {
  for (const bool v2 : {true, false}) {
    Rig rig(v2);
    CHECK(rig.set(30'000, 20'000, v2 ? std::optional<std::int64_t>(4'099'999) : std::nullopt) == Outcome::done);
    CHECK(rig.get(Knob::quota_us) == (v2 ? "30000 100000" : "30000"));
    CHECK(rig.get(Knob::burst_us) == "20000");
    if (v2) CHECK(rig.get(Knob::high_bytes) == "4096000");
    CHECK(rig.set(5'000, 5'000) == Outcome::done);
    CHECK(rig.get(Knob::quota_us) == (v2 ? "5000 100000" : "5000"));
    if (v2) CHECK(rig.get(Knob::high_bytes) == "max");  // no longer wanted
    const Restored restored = rig.ledger->restore_all();
    CHECK(restored.failed.empty());
    CHECK(restored.put_back == 2);
    CHECK(rig.get(Knob::quota_us) == (v2 ? "200000 100000" : "-1"));
    CHECK(rig.get(Knob::burst_us) == "50000");
    CHECK(rig.ledger->held() == 0);
  }
}

TEST_CASE("an unchanged value is not written, and a quota below the existing burst lowers the burst too") {
  Rig rig;
  rig.set(200'000, 50'000);
  CHECK(rig.ledger->writes() == 0);
  CHECK(rig.ledger->held() == 0);
  rig.set(30'000, std::nullopt);
  CHECK(rig.get(Knob::burst_us) == "30000");
  rig.set(std::nullopt, std::nullopt);
  CHECK(rig.get(Knob::quota_us) == "200000 100000");
  CHECK(rig.ledger->restore_all().failed.empty());
  CHECK(rig.get(Knob::burst_us) == "50000");
}

TEST_CASE("a foreign write stays, the rest is restored, a minute without writes follows, and it becomes the original") {
  Rig rig;
  rig.set(30'000, 20'000, 8'192'000);
  REQUIRE(rig.tree.put("/a", Knob::quota_us, "150000 100000"));
  CHECK(rig.set(40'000, 20'000) == Outcome::hands_off);
  CHECK(rig.get(Knob::quota_us) == "150000 100000");
  CHECK(rig.get(Knob::burst_us) == "50000");
  CHECK(rig.get(Knob::high_bytes) == "max");
  CHECK(rig.ledger->foreign() == 1);
  rig.now += std::chrono::seconds(59);
  CHECK(rig.set(40'000, 20'000) == Outcome::hands_off);
  rig.now += std::chrono::seconds(1);
  CHECK(rig.set(40'000, 20'000) == Outcome::done);
  CHECK(rig.get(Knob::quota_us) == "40000 100000");
  CHECK(rig.ledger->restore_all().failed.empty());
  CHECK(rig.get(Knob::quota_us) == "150000 100000");
}

TEST_CASE("a check finds a foreign write without a write of ours") {
  Rig rig;
  rig.set(30'000, 20'000);
  CHECK(*rig.ledger->look(rig.target, rig.now) == Outcome::done);
  REQUIRE(rig.tree.put("/a", Knob::burst_us, "10"));
  CHECK(*rig.ledger->look(rig.target, rig.now) == Outcome::hands_off);
  CHECK(rig.get(Knob::quota_us) == "200000 100000");
  CHECK(rig.get(Knob::burst_us) == "10");
}

TEST_CASE("a burst above another writer's quota waits until it is allowed") {
  Rig rig;
  rig.set(30'000, 10'000);
  REQUIRE(rig.tree.put("/a", Knob::quota_us, "20000"));
  CHECK(*rig.ledger->look(rig.target, rig.now) == Outcome::hands_off);
  CHECK(rig.get(Knob::burst_us) == "20000");
  CHECK(rig.ledger->restore_all().waiting == 1);
  REQUIRE(rig.tree.put("/a", Knob::quota_us, "max"));
  CHECK(rig.ledger->restore_all().waiting == 0);
  CHECK(rig.get(Knob::burst_us) == "50000");
}

TEST_CASE("a workload that ends is not an error, and a new one at its path is another workload") {
  Rig rig;
  rig.set(30'000, 10'000);
  rig.tree.remove("/a");
  rig.tree.add("/other", "max", "0", "max");  // may get the same inode
  rig.tree.add("/a", "77000", "0", "max");
  CHECK(rig.set(40'000, 10'000) == Outcome::gone);
  CHECK(rig.ledger->held() == 0);
  CHECK(rig.get(Knob::quota_us) == "77000 100000");
}

TEST_CASE("a limit that cannot be restored keeps its record and is tried again") {
  Rig rig;
  rig.set(30'000, 10'000);
  class RefusingLimits final : public Limits {
   public:
    explicit RefusingLimits(Limits& real) : real_(real) {}
    Result<Target> find(const std::string& path) override { return real_.find(path); }
    Result<std::int64_t> read(const Target& target, Knob knob, std::optional<std::int64_t> ours) override {
      return real_.read(target, knob, ours);
    }
    Status write(const Target& target, Knob knob, std::int64_t value) override {
      if (refuses) return fail(Errc::out_of_range, target.name, "refused");
      return real_.write(target, knob, value);
    }
    std::int64_t fitted(const Target& target, Knob knob, std::int64_t value) const override {
      return real_.fitted(target, knob, value);
    }
    void forget(const Target& target) override { real_.forget(target); }
    bool refuses = true;

   private:
    Limits& real_;
  };
  rig.ledger.reset();
  RefusingLimits limits(rig.limits);
  auto journal = Journal::open_(rig.tree.state(), "boot-1", rig.os);
  REQUIRE(journal);
  Ledger ledger(std::move(*journal), limits);
  CHECK(ledger.restore_all().failed.size() == 2);
  CHECK(ledger.held() == 1);
  limits.refuses = false;
  CHECK(ledger.restore_all().failed.empty());
  CHECK(rig.get(Knob::quota_us) == "200000 100000");
}

TEST_CASE("a damaged record: known limits are restored, possible ones are reported with the original and stay") {
  Rig rig;
  CHECK(rig.set(30'000, 20'000) == Outcome::done);
  rig.ledger.reset();
  const std::string path = rig.tree.state() + "/originals";
  std::string text = text_of(path);
  // The only line that says that 30000 is ours.
  const auto at = text.find("200000 30000");
  REQUIRE(at != std::string::npos);
  text[at] = '9';
  REQUIRE(write_file_atomically(path, text));
  for (int start = 0; start < 2; ++start) {
    auto journal = Journal::open_(rig.tree.state(), "boot-1", rig.os);
    REQUIRE(journal);
    Ledger ledger(std::move(*journal), rig.limits);
    const Restored restored = ledger.restore_all();
    CHECK(restored.damage);
    REQUIRE(restored.failed.size() == 1);
    CHECK(restored.failed[0].what.find("was 200000") != std::string::npos);
    CHECK(rig.get(Knob::quota_us) == "30000 100000");
    CHECK(rig.get(Knob::burst_us) == "30000");
  }
}
