#include "actuator/journal.hpp"

#include <doctest/doctest.h>

#include <random>

#include "kernel_tree.hpp"

using namespace wattle;
using namespace wattle::actuator;
using namespace wattle::actuator::test;

namespace {
const Target kA{Seam::cgroup2, "/a b.service", 0xffff'ffff'0000'0001ULL};
const Target kB{Seam::cgroup1, "/b", 7};
}  // namespace

TEST_CASE("what was taken and intended is there after the process, and what was done is not") {
  const KernelTree tree;
  Os os;
  {
    auto journal = Journal::open_(tree.state(), "boot-1", os);
    REQUIRE(journal);
    REQUIRE(journal->take(kA, Knob::quota_us, kUnlimited));
    REQUIRE(journal->intend(kA, Knob::quota_us, kUnlimited, 5'000));
    journal->settle(kA, Knob::quota_us, true);
    REQUIRE(journal->intend(kA, Knob::quota_us, 5'000, 6'000));
    REQUIRE(journal->take(kB, Knob::burst_us, 0));
    REQUIRE(journal->done(kB, Knob::burst_us));
  }
  auto journal = Journal::open_(tree.state(), "boot-1", os);
  REQUIRE(journal);
  REQUIRE(journal->records().all().size() == 1);
  const Record* record = journal->records().find(kA, Knob::quota_us);
  REQUIRE(record != nullptr);
  CHECK(*record == Record{kUnlimited, 5'000, 6'000});
  CHECK(record->ours(5'000));
  CHECK_FALSE(record->ours(kUnlimited));
}

TEST_CASE("a write that was refused leaves the value before it as ours") {
  const KernelTree tree;
  Os os;
  auto journal = Journal::open_(tree.state(), "boot-1", os);
  REQUIRE(journal);
  REQUIRE(journal->take(kA, Knob::quota_us, 9'000));
  REQUIRE(journal->intend(kA, Knob::quota_us, 9'000, 5'000));
  journal->settle(kA, Knob::quota_us, false);
  CHECK(*journal->records().find(kA, Knob::quota_us) == Record{9'000, 9'000, 9'000});
}

TEST_CASE(
    "of a write that nobody knows the end of both values are ours, and the one that is seen is what the next comes "
    "after") {
  const KernelTree tree;
  Os os;
  auto journal = Journal::open_(tree.state(), "boot-1", os);
  REQUIRE(journal);
  REQUIRE(journal->take(kA, Knob::quota_us, 9'000));
  REQUIRE(journal->intend(kA, Knob::quota_us, 9'000, 5'000));
  CHECK(journal->records().find(kA, Knob::quota_us)->ours(9'000));
  REQUIRE(journal->intend(kA, Knob::quota_us, 5'000, 6'000));
  CHECK(*journal->records().find(kA, Knob::quota_us) == Record{9'000, 5'000, 6'000});
}

TEST_CASE("what was planted is known to the next process until it is pulled, also after the file was written anew") {
  const KernelTree tree;
  Os os;
  const Target unit{Seam::unit, "/system.slice/a.service", 0};
  {
    auto journal = Journal::open_(tree.state(), "boot-1", os);
    REQUIRE(journal);
    REQUIRE(journal->plant(unit, Knob::quota_us, kUnlimited));
    REQUIRE(journal->plant(unit, Knob::high_bytes, 4096));
    REQUIRE(journal->pull(unit, Knob::high_bytes));
    REQUIRE(journal->take(kA, Knob::quota_us, 9'000));
    for (std::int64_t i = 1; i <= 20'000; ++i) REQUIRE(journal->intend(kA, Knob::quota_us, 9'000, 9'000));
  }
  auto journal = Journal::open_(tree.state(), "boot-1", os);
  REQUIRE(journal);
  CHECK(text_of(tree.state() + "/originals").size() < 1'500'000);
  CHECK(journal->planted() == Planted{{{unit, Knob::quota_us}, kUnlimited}});
}

TEST_CASE("the record of another boot is void: its limits went with it") {
  const KernelTree tree;
  Os os;
  {
    auto journal = Journal::open_(tree.state(), "boot-1", os);
    REQUIRE(journal);
    REQUIRE(journal->take(kA, Knob::quota_us, 1));
  }
  auto journal = Journal::open_(tree.state(), "boot-2", os);
  REQUIRE(journal);
  CHECK(journal->records().all().empty());
}

TEST_CASE("two actuators cannot have one journal") {
  const KernelTree tree;
  Os os;
  auto first = Journal::open_(tree.state(), "boot-1", os);
  REQUIRE(first);
  const auto second = Journal::open_(tree.state(), "boot-1", os);
  REQUIRE_FALSE(second);
  CHECK(second.error().code == Errc::conflict);
}

TEST_CASE("a journal that grows large is written anew, with the same records") {
  const KernelTree tree;
  Os os;
  std::size_t size = 0;
  {
    auto journal = Journal::open_(tree.state(), "boot-1", os);
    REQUIRE(journal);
    REQUIRE(journal->take(kA, Knob::quota_us, 80'000));
    for (std::int64_t i = 1; i <= 20'000; ++i) {
      REQUIRE(journal->intend(kA, Knob::quota_us, i == 1 ? 80'000 : i - 1, i));
      journal->settle(kA, Knob::quota_us, true);
    }
    size = text_of(tree.state() + "/originals").size();
  }
  CHECK(size < 1'500'000);
  auto journal = Journal::open_(tree.state(), "boot-1", os);
  REQUIRE(journal);
  CHECK(*journal->records().find(kA, Knob::quota_us) == Record{80'000, 19'999, 20'000});
}

TEST_CASE("a full disk: what is not written down is not written to the kernel, and later lines count again") {
  class FullOs final : public Os {
   public:
    ssize_t append(int fd, std::string_view text) override {
      if (!full) return Os::append(fd, text);
      static_cast<void>(Os::append(fd, text.substr(0, 10)));
      return 10;
    }
    bool full = false;
  };
  const KernelTree tree;
  FullOs os;
  {
    auto journal = Journal::open_(tree.state(), "boot-1", os);
    REQUIRE(journal);
    os.full = true;
    const auto refused = journal->take(kA, Knob::quota_us, 1);
    REQUIRE_FALSE(refused);
    CHECK(refused.error().code == Errc::exhausted);
    CHECK(journal->records().all().empty());
    os.full = false;
    REQUIRE(journal->take(kB, Knob::quota_us, 2));
  }
  auto journal = Journal::open_(tree.state(), "boot-1", os);
  REQUIRE(journal);
  CHECK(journal->damaged() == 1);
  CHECK(journal->records().find(kA, Knob::quota_us) == nullptr);
  CHECK(journal->records().find(kB, Knob::quota_us) != nullptr);
}

TEST_CASE("any bytes are read as a journal; only whole lines count") {
  std::mt19937_64 random(7);
  const KernelTree tree;
  Os os;
  {
    auto journal = Journal::open_(tree.state(), "boot-1", os);
    REQUIRE(journal);
    REQUIRE(journal->take(kA, Knob::quota_us, 80'000));
    REQUIRE(journal->intend(kA, Knob::quota_us, 80'000, 5'000));
  }
  const std::string whole = text_of(tree.state() + "/originals");
  for (int i = 0; i < 5'000; ++i) {
    std::string text = whole;
    const auto kind = random() % 3;
    if (kind == 0) text.resize(random() % (text.size() + 1));
    if (kind == 1) text[random() % text.size()] = static_cast<char>(random());
    if (kind == 2)
      for (auto& c : text) c = static_cast<char>(random());
    const JournalText parsed = parse_journal(text);
    const Record* record = parsed.records.find(kA, Knob::quota_us);
    if (record != nullptr) CHECK(record->original == 80'000);
    if (text == whole) CHECK(record->next == 5'000);
  }
}
