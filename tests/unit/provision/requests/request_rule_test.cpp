// request_rule: suggested requests of pods: old usage fades, rises apply at once, falls late, and a restart changes
// nothing.
#include "provision/requests/request_rule.hpp"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <cmath>
#include <functional>
#include <limits>
#include <vector>

namespace wattle::placement {
namespace {

constexpr double kMinute_s = 60, kHour_s = 3600;
constexpr double kStart_s = 1'700'000'000;
constexpr double kMiB = 1 << 20;

// A workload of one pod, minute by minute, with its initial requests.
struct Played {
  RequestRule rule;
  Resources original{2, 1024 * kMiB};
  double now_s = kStart_s;

  explicit Played(RequestOptions options = {}) : rule(options) {}
  // Returns true if an update was due.
  bool minute(double cores, double bytes = 256 * kMiB) {
    now_s += kMinute_s;
    rule.add_cpu(cores, kMinute_s, now_s);
    rule.add_memory(bytes, now_s);
    return rule.look(original, now_s);
  }
  void hours(double hours, double cores, double bytes = 256 * kMiB) {
    for (double passed_s = 0; passed_s < hours * kHour_s; passed_s += kMinute_s) minute(cores, bytes);
  }
};

template <class Law>
void holds(const char* name, Law law) {
  CHECK_MESSAGE(rc::check(name, law), name);
}

// Minutes of cores, constant for stretches.
std::vector<double> some_load() {
  std::vector<double> load;
  for (const auto& [tenths, minutes] : *rc::gen::container<std::vector<std::pair<int, int>>>(
           rc::gen::pair(rc::gen::inRange(0, 60), rc::gen::inRange(1, 90))))
    load.insert(load.end(), static_cast<std::size_t>(minutes), tenths * 0.1);
  return load;
}

TEST_CASE("a pod's need is its usage plus its waiting, at most twice its usage") {
  CHECK(needed_cores({1, std::nullopt, std::nullopt}) == 1);
  CHECK(needed_cores({1, 0.25, 0.9}) == doctest::Approx(1.25));  // pressure includes throttling
  CHECK(needed_cores({1, std::nullopt, 0.5}) == doctest::Approx(1.5));
  CHECK(needed_cores({1, 7, std::nullopt}) == 2);
  CHECK(needed_cores({1, std::numeric_limits<double>::quiet_NaN(), std::nullopt}) == 1);
  CHECK(needed_bytes({100, 40, false, false}) == 60);
  CHECK(needed_bytes({100, 40, true, false}) == 100);
  CHECK(needed_bytes({100, 400, false, false}) == 0);
  CHECK(needed_bytes({100, 40, false, true}) == doctest::Approx(120));
}

TEST_CASE("there is no suggestion before an hour, and no lower one before half a day") {
  Played idle;
  idle.hours(0.9, 0.2);
  CHECK_FALSE(idle.rule.cpu_cores());
  CHECK(idle.rule.raise_needs_s() > 0);
  idle.hours(10, 0.2);
  CHECK(*idle.rule.cpu_cores() == 2);
  CHECK(idle.rule.lower_needs_s() == doctest::Approx(1.1 * kHour_s).epsilon(0.05));
  idle.hours(2, 0.2);
  CHECK(idle.rule.lower_needs_s() == 0);
  CHECK(*idle.rule.cpu_cores() < 0.25);
  CHECK(*idle.rule.cpu_cores() >= 0.2);
  CHECK(*idle.rule.memory_bytes() < 320 * kMiB);
  CHECK(*idle.rule.memory_bytes() >= 256 * kMiB);
  Played busy;
  busy.hours(1.3, 3);
  CHECK(*busy.rule.cpu_cores() >= 3);
}

TEST_CASE("hours without reports do not count as observed") {
  Played away;
  away.hours(0.5, 1);
  away.now_s += 20 * kHour_s;
  away.hours(0.25, 1);
  CHECK(away.rule.observed_s() < 0.8 * kHour_s);
}

TEST_CASE("raised at the next update, lowered after half an hour") {
  Played played;
  played.hours(13, 0.5);
  REQUIRE(*played.rule.cpu_cores() < 0.6);
  double minutes = 0;
  while (*played.rule.cpu_cores() < 1.5 && minutes < 120) {
    played.minute(1.6);
    ++minutes;
  }
  CHECK(minutes <= 50);  // until one minute in twelve by weight is busy
  const double raised_s = played.now_s, high = *played.rule.cpu_cores();
  while (*played.rule.cpu_cores() == high && played.now_s < raised_s + 48 * kHour_s) played.minute(0.1);
  CHECK(played.now_s - raised_s >= played.rule.options().hold_s);
  CHECK(*played.rule.cpu_cores() < high);
}

TEST_CASE("one OOM kill applies at once, however rare it is, and for eight days") {
  RequestOptions no_rises;
  no_rises.rises_after_days = 14;
  Played played(no_rises);
  played.hours(48, 0.5);
  REQUIRE(*played.rule.memory_bytes() < 320 * kMiB);
  played.rule.add_memory(400 * kMiB, played.now_s, true);
  CHECK(played.minute(0.5));  // whenever the last update was
  CHECK(*played.rule.memory_bytes() == 400 * kMiB);
  Played without(no_rises);
  without.hours(48, 0.5);
  without.rule.add_memory(400 * kMiB, without.now_s);
  without.hours(1, 0.5);
  CHECK(*without.rule.memory_bytes() < 320 * kMiB);
  played.hours(7.9 * 24, 0.5);
  CHECK(*played.rule.memory_bytes() == 400 * kMiB);
  PackWriter out;
  played.rule.pack(out);
  const std::string bytes = out.take();
  Played again(no_rises);
  PackReader in(bytes);
  again.rule.unpack(in);
  CHECK(again.rule.wanted_bytes() == played.rule.wanted_bytes());
  played.hours(0.2 * 24, 0.5);
  CHECK(*played.rule.memory_bytes() < 320 * kMiB);
}

TEST_CASE("if rises are known an OOM kill counts for a day, and then its memory is covered") {
  for (const double seen_mib : {300.0, 120.0}) {  // limited by the request, or killed before the next reading
    Played played;
    played.hours(5 * 24, 0.5);
    REQUIRE(*played.rule.memory_bytes() < 310 * kMiB);
    played.rule.add_memory(seen_mib * 1.2 * kMiB, played.now_s, true);
    CHECK(played.minute(0.5));
    CHECK(*played.rule.memory_bytes() >= seen_mib * 1.2 * kMiB);
    played.hours(23, 0.5);
    CHECK(*played.rule.memory_bytes() >= seen_mib * 1.2 * kMiB);
    played.hours(48, 0.5);
    CHECK(*played.rule.memory_bytes() >= seen_mib * 1.02 * kMiB);
    CHECK(*played.rule.memory_bytes() < 350 * kMiB);
  }
}

TEST_CASE("memory that is no longer needed is lowered within two hours, including its known rise") {
  Played played;
  for (int day = 0; day < 5; ++day) {
    played.hours(23.5, 0.5, 800 * kMiB);
    played.hours(0.5, 0.5, 1000 * kMiB);
  }
  CHECK(*played.rule.memory_bytes() >= 1000 * kMiB);
  played.hours(2, 0.5, 400 * kMiB);
  CHECK(*played.rule.memory_bytes() >= 600 * kMiB);
  CHECK(*played.rule.memory_bytes() < 680 * kMiB);
}

TEST_CASE("the need of a time of day applies in advance once three days are known") {
  const auto cores_at = [](double now_s) { return std::fmod(now_s, 86'400) < 12 * kHour_s ? 0.4 : 1.6; };
  RequestOptions no_days;
  no_days.daily_after_days = 8;
  Played played, never(no_days);
  const auto play_until = [&](Played& each, double end_s) {
    while (each.now_s < end_s) each.minute(cores_at(each.now_s));
  };
  const double midnight_s = std::floor(kStart_s / 86'400) * 86'400;
  for (Played* each : {&played, &never}) {
    play_until(*each, midnight_s + 5 * 86'400 + 12 * kHour_s - 900);
    CHECK(*each->rule.cpu_cores() > 0.4);
  }
  CHECK(*played.rule.cpu_cores() >= 1.6);  // a quarter of an hour before noon
  CHECK(*never.rule.cpu_cores() < 1.9);
  for (Played* each : {&played, &never}) play_until(*each, midnight_s + 6 * 86'400 + 3 * kHour_s);
  CHECK(*played.rule.cpu_cores() < 0.5);  // three hours after midnight
  CHECK(*played.rule.lasting_cores() >= 1.6);
  CHECK(*never.rule.cpu_cores() >= 1.6);
}

TEST_CASE("a truncated history is refused, and the rule is unchanged") {
  Played played, other;
  played.hours(13, 0.5);
  played.rule.add_memory(900 * kMiB, played.now_s, true);
  other.hours(1, 0.2);
  PackWriter out, before;
  played.rule.pack(out);
  other.rule.pack(before);
  const std::string bytes = out.take();
  for (const std::size_t cut : {std::size_t{8}, bytes.size() / 2, bytes.size() - 8}) {
    PackReader in(std::string_view(bytes).substr(0, bytes.size() - cut));
    other.rule.unpack(in);
    CHECK_FALSE(in.done());
  }
  PackWriter after;
  other.rule.pack(after);
  CHECK(after.take() == before.take());
}

TEST_CASE("a request is never below the original, unless the pod allows it") {
  CHECK(floor_of(0.5, 2, false) == 2);
  CHECK(floor_of(0.5, 2, true) == 0.5);
  CHECK(floor_of(3, 2, false) == 3);
  CHECK(floor_of(3, 2, true) == 3);
}

TEST_CASE("laws of suggestions") {
  holds("no suggestion falls within half an hour of another change", [] {
    Played played;
    played.hours(12.5, 1);
    std::optional<double> before = played.rule.cpu_cores();
    double changed_s = played.now_s - kHour_s;
    for (const double cores : some_load()) {
      played.minute(cores);
      const auto value = played.rule.cpu_cores();
      if (value == before) continue;
      if (*value < *before) RC_ASSERT(played.now_s - changed_s >= played.rule.options().hold_s);
      changed_s = played.now_s;
      before = value;
    }
  });
  holds("a suggestion is at no look below what the histogram wants, once more may be suggested", [] {
    Played played;
    played.hours(1.5, 1);
    for (const double cores : some_load())
      if (played.minute(cores)) RC_ASSERT(*played.rule.cpu_cores() >= *played.rule.wanted_cores());
  });
  holds("who needs more in each minute is never told to request less", [] {
    Played low, high;
    for (const double cores : some_load()) {
      low.minute(cores);
      high.minute(cores * 1.3 + 0.1);
      if (const auto wanted = low.rule.wanted_cores()) RC_ASSERT(*high.rule.wanted_cores() >= *wanted);
    }
  });
  holds("what is kept goes on as if nothing had happened", [] {
    Played played;
    played.hours(12.2, 0.7);
    const std::vector<double> load = some_load();
    for (std::size_t i = 0; i < load.size() / 2; ++i) played.minute(load[i]);
    PackWriter out;
    played.rule.pack(out);
    const std::string bytes = out.take();
    Played again;
    PackReader in(bytes);
    again.rule.unpack(in);
    RC_ASSERT(in.done());
    again.now_s = played.now_s;
    for (std::size_t i = load.size() / 2; i < load.size(); ++i) {
      played.minute(load[i]);
      again.minute(load[i]);
      RC_ASSERT(again.rule.cpu_cores() == played.rule.cpu_cores());
      RC_ASSERT(again.rule.memory_bytes() == played.rule.memory_bytes());
      RC_ASSERT(again.rule.lasting_cores() == played.rule.lasting_cores());
      RC_ASSERT(again.rule.lasting_bytes() == played.rule.lasting_bytes());
      RC_ASSERT(again.rule.observed_s() == played.rule.observed_s());
    }
  });
}

TEST_CASE("bytes that are not a rule's leave the rule unchanged") {
  Played played;
  played.hours(13, 0.5);
  PackWriter out;
  played.rule.pack(out);
  std::string bytes = out.take();
  const auto value = played.rule.cpu_cores();
  for (const std::string& bad : {bytes.substr(0, bytes.size() / 2), std::string(bytes.size(), '\xff'), std::string()}) {
    PackReader in(bad);
    played.rule.unpack(in);
    CHECK_FALSE(in.done());
    CHECK(played.rule.cpu_cores() == value);
  }
}

TEST_CASE("a clock that is set back or far ahead stops nothing") {
  Played played;
  played.hours(13, 0.5);
  played.now_s -= 5 * kHour_s;
  played.hours(3, 0.2);
  CHECK(*played.rule.cpu_cores() < 0.6);
  played.now_s += 20 * 365 * 24 * kHour_s;
  played.hours(1, 0.2);
  CHECK(*played.rule.cpu_cores() < 0.25);
}

}  // namespace
}  // namespace wattle::placement
