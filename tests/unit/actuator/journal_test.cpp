#include "actuator/journal.hpp"

#include <doctest/doctest.h>

#include <filesystem>
#include <random>

#include "kernel_tree.hpp"

using namespace wattle;
using namespace wattle::actuator;
using namespace wattle::actuator::test;

namespace {
const Target kA{Seam::cgroup2, "/a b.service", 0xffff'ffff'0000'0001ULL};
const Target kB{Seam::cgroup1, "/b", 7};
}  // namespace

TEST_CASE("taken and intended writes survive the process, and completed restores are gone") {
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

TEST_CASE("a refused write leaves the previous value as ours") {
  const KernelTree tree;
  Os os;
  auto journal = Journal::open_(tree.state(), "boot-1", os);
  REQUIRE(journal);
  REQUIRE(journal->take(kA, Knob::quota_us, 9'000));
  REQUIRE(journal->intend(kA, Knob::quota_us, 9'000, 5'000));
  journal->settle(kA, Knob::quota_us, false);
  CHECK(*journal->records().find(kA, Knob::quota_us) == Record{9'000, 9'000, 9'000});
}

TEST_CASE("after a write with unknown result both values are ours, and the next write follows the observed one") {
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

TEST_CASE("a planted drop-in is known to the next process until it is pulled, also after the file was rewritten") {
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

TEST_CASE("a record of another boot is void, because its limits ended with the boot") {
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

TEST_CASE("two actuators cannot share a journal") {
  const KernelTree tree;
  Os os;
  auto first = Journal::open_(tree.state(), "boot-1", os);
  REQUIRE(first);
  const auto second = Journal::open_(tree.state(), "boot-1", os);
  REQUIRE_FALSE(second);
  CHECK(second.error().code == Errc::conflict);
}

TEST_CASE("a journal that grows large is rewritten with the same records") {
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

TEST_CASE("a full disk: a write that is not recorded is not made, and later lines count again") {
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
  CHECK_FALSE(journal->damage());
  CHECK(journal->records().find(kA, Knob::quota_us) == nullptr);
  CHECK(journal->records().find(kB, Knob::quota_us) != nullptr);
}

namespace {
// Writes a record in which two workloads are limited, as a killed process leaves it.
void write_record(const KernelTree& tree, Os& os) {
  auto journal = Journal::open_(tree.state(), "boot-1", os);
  REQUIRE(journal);
  for (const Target& target : {kA, kB}) {
    REQUIRE(journal->take(target, Knob::quota_us, 150'000));
    for (const std::int64_t quota : {9'000, 8'500}) {
      REQUIRE(journal->intend(target, Knob::quota_us, quota == 9'000 ? 150'000 : 9'000, quota));
      journal->settle(target, Knob::quota_us, true);
    }
  }
}

std::string record_of(const KernelTree& tree) { return text_of(tree.state() + "/originals"); }

std::string without(std::string text, const std::string& word) {
  const auto at = text.find(word);
  REQUIRE(at != std::string::npos);
  text[at] = '#';
  return text;
}
}  // namespace

TEST_CASE("a damaged record is reported until it is removed, and each of its complete lines counts") {
  Os os;
  const KernelTree whole_tree;
  write_record(whole_tree, os);
  const std::string whole = record_of(whole_tree);
  struct Case {
    const char* name;
    std::string text;
    bool original_of_a, ours_of_a;
  };
  const std::size_t cut = whole.find("write cgroup1");
  for (const Case& one :
       {Case{"the first line", without(whole, "boot"), true, true}, Case{"a take", without(whole, "take"), true, true},
        Case{"the last write of a workload", without(whole, "write cgroup2 18446744069414584321 quota_us 9000"), true,
             false},
        Case{"cut between lines", whole.substr(0, whole.rfind('\n', cut) + 1), true, true},
        Case{"cut in a line", whole.substr(0, cut + 5), true, true}, Case{"empty", "", false, false},
        Case{"zeros", std::string(whole.size(), '\0'), false, false},
        Case{"of something else", "{}\n", false, false}}) {
    CAPTURE(one.name);
    const KernelTree tree;
    write_record(tree, os);
    REQUIRE(write_file_atomically(tree.state() + "/originals", one.text));
    for (int start = 0; start < 2; ++start) {
      CHECK(Journal::damage_at(tree.state(), "boot-1"));
      auto journal = Journal::open_(tree.state(), "boot-1", os);
      REQUIRE(journal);
      REQUIRE(journal->damage());
      CHECK(journal->damage()->subject == tree.state() + "/originals");
      CHECK(journal->damage()->fix.find("remove") != std::string::npos);
      const Record* record = journal->records().find(kA, Knob::quota_us);
      CHECK((record != nullptr) == one.original_of_a);
      if (record == nullptr) continue;
      CHECK(record->original == 150'000);
      CHECK(record->ours(8'500) == one.ours_of_a);
    }
    auto other = Journal::open_(tree.state(), "boot-2", os);
    REQUIRE(other);
    CHECK_FALSE(other->damage());
  }
  // The record is removed while its note remains.
  std::filesystem::remove(whole_tree.state() + "/originals");
  CHECK(Journal::damage_at(whole_tree.state(), "boot-1"));
  std::filesystem::remove(whole_tree.state() + "/lock");
  CHECK_FALSE(Journal::damage_at(whole_tree.state(), "boot-1"));
}

TEST_CASE("a line that a killed process left incomplete is not damage, and is removed at the next start") {
  Os os;
  const KernelTree tree;
  write_record(tree, os);
  const std::string whole = record_of(tree);
  REQUIRE(write_file_atomically(tree.state() + "/originals", whole + "0123456789abcdef wri"));
  const auto journal = Journal::open_(tree.state(), "boot-1", os);
  REQUIRE(journal);
  CHECK_FALSE(journal->damage());
  CHECK(record_of(tree) == whole);
}

TEST_CASE("a change of any byte of the record is reported, and a value of ours never becomes an original") {
  Os os;
  const KernelTree tree;
  write_record(tree, os);
  const std::string whole = record_of(tree);
  std::mt19937_64 random(11);
  for (int i = 0; i < 2'000; ++i) {
    std::string text = whole;
    text[random() % text.size()] ^= static_cast<char>(1U << (random() % 8));
    REQUIRE(write_file_atomically(tree.state() + "/originals", text));
    CHECK(Journal::damage_at(tree.state(), "boot-1"));
    for (const Target& target : {kA, kB})
      if (const JournalText parsed = parse_journal(text);
          const Record* record = parsed.records.find(target, Knob::quota_us))
        CHECK(record->original == 150'000);
  }
}

TEST_CASE("any bytes can be read as a journal; only complete lines count") {
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
