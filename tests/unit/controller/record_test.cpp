// The record of a cluster's pods, as the store keeps it and serves it in pages: ask, request, usage and end of each
// pod.
#include <array>
#include <map>
#include <optional>

#include "common/json/value.hpp"
#include "controller/web/record_json.hpp"
#include "controller/web/store_documents.hpp"
#include "tests/unit/controller/usage_rig.hpp"

using namespace wattle;
using namespace wattle::controller;
using namespace wattle::controller::test;
using namespace wattle::controller::test::usage;
using json = wattle::SortedJson;

namespace {

PodFacts asked_for(const std::string& uid, const std::string& node, std::int64_t placed_s) {
  PodFacts pod = placed(uid, node, placed_s, "ReplicaSet/web-5d9f8c7b6");
  pod.app = "ReplicaSet/web-5d9f8c7b6 nginx:1.25";
  pod.cpu_millicores = 500;
  pod.memory_bytes = 1 << 28;
  return pod;
}
PodFacts ended(const std::string& uid, std::int64_t at_s) {
  PodFacts pod;
  pod.uid = uid;
  pod.ended_s = at_s;
  return pod;
}

json page(StoreFile& file, bool pods, const std::string& after, std::int64_t now_s) {
  const WallTime now = wall_from_ns(now_s * 1'000'000'000);
  std::map<std::string, std::string> arguments{{"of", pods ? "pods" : "hours"}, {"since", "30d"}};
  if (!after.empty()) arguments["after"] = after;
  const auto query = parse_record(arguments, now);
  REQUIRE(query);
  const auto text = record_text(file, *query);
  REQUIRE(text);
  return json::parse(*text);
}

}  // namespace

TEST_CASE("an ended pod's request, lifetime and hourly usage are served, also after a restart") {
  const CrashDisk disk;
  std::optional<StoreFile> file(open(in_memory()));
  REQUIRE(file->usage().put(std::array{asked_for("u1", "a", kNow_s + 1800), placed("daemon", "a", kNow_s)}, kNow_s));
  take(*file, {whole("a", 1, {used("u1", 1'000'000, 900'000'000)})}, kNow_s + 2400);
  take(*file, {whole("a", 2, {used("u1", 2'000'000, 1'800'000'000)})}, kNow_s + kHour_s + 60);
  file.reset();
  file.emplace(open(in_memory()));
  REQUIRE(file->usage().put(std::array{ended("u1", kNow_s + kHour_s + 1800)}, kNow_s + kHour_s + 1800));
  const json reported = page(*file, true, "", kNow_s + 2 * kHour_s);
  REQUIRE(reported["rows"].size() == 1);  // no decision chose the other pod's node
  CHECK(reported["next"].is_null());
  const json& pod = reported["rows"][0];
  CHECK(pod["owner"] == "ReplicaSet/web");
  CHECK(pod["image"] == "nginx:1.25");
  CHECK(pod["node"] == "a");
  CHECK(pod["cpu_cores"] == 0.5);
  CHECK(pod["memory_bytes"] == 1 << 28);
  CHECK(pod["placed_s"] == kNow_s + 1800);
  CHECK(pod["ended_s"] == kNow_s + kHour_s + 1800);
  REQUIRE(pod["used_cores"].size() == 2);
  CHECK(pod["used_cores"][0].get<double>() == doctest::Approx(0.5));
  CHECK(pod["used_cores"][1].get<double>() == doctest::Approx(1.0));
  const json hours = page(*file, false, "", kNow_s + 2 * kHour_s);
  REQUIRE(hours["rows"].size() == 2);
  CHECK(hours["rows"][0]["node"] == "a");
  CHECK(hours["rows"][0]["from_s"] == kNow_s);
  CHECK(hours["rows"][0]["measured_j"] == 5);
  CHECK(hours["rows"][1]["measured_j"] == 6);
  CHECK(hours["next"].is_null());
}

TEST_CASE("a running pod has no end; one without reports for hours has ended; one that is placed again runs") {
  const CrashDisk disk;
  StoreFile file = open(in_memory());
  REQUIRE(file.usage().put(std::array{asked_for("runs", "a", kNow_s), asked_for("lost", "a", kNow_s - 9 * kHour_s)},
                           kNow_s));
  REQUIRE(file.usage().put(std::array{asked_for("moved", "a", kNow_s)}, kNow_s));
  REQUIRE(file.usage().put(std::array{ended("moved", kNow_s + 60)}, kNow_s + 60));
  REQUIRE(file.usage().put(std::array{asked_for("moved", "b", kNow_s + 120)}, kNow_s + 120));
  json rows = page(file, true, "", kNow_s + 600)["rows"];
  REQUIRE(rows.size() == 3);
  for (const json& row : rows) CHECK(row["ended_s"].is_null());
  CHECK(rows[1]["node"] == "b");
  rows = page(file, true, "", kNow_s + 3 * kHour_s)["rows"];
  for (const json& row : rows) CHECK(row["ended_s"].get<std::int64_t>() >= row["placed_s"].get<std::int64_t>());
}

TEST_CASE("pages follow each other until all pods and all hours were sent once") {
  const CrashDisk disk;
  StoreFile file = open(in_memory());
  std::vector<PodFacts> pods;
  for (std::size_t i = 0; i < kMostRecordRows + 7; ++i)
    pods.push_back(asked_for("u" + std::to_string(100'000 + i), "a", kNow_s));
  REQUIRE(file.usage().put(pods, kNow_s));
  const json first = page(file, true, "", kNow_s + 60);
  REQUIRE(first["rows"].size() == kMostRecordRows);
  const json second = page(file, true, first["next"].get<std::string>(), kNow_s + 60);
  CHECK(second["rows"].size() == 7);
  CHECK(second["next"].is_null());
}

TEST_CASE("the newest facts of a pending pod are kept, and a new start clears an earlier end") {
  PodFacts pod = asked_for("u", "a", kNow_s);
  pod.merge(ended("u", kNow_s + 5));
  CHECK(pod.ended_s == kNow_s + 5);
  CHECK(pod.cpu_millicores == 500);
  CHECK(pod.placed_s == kNow_s);
  pod.merge(asked_for("u", "b", kNow_s + 9));
  CHECK(pod.ended_s == 0);
  CHECK(pod.node == "b");
}

TEST_CASE("an invalid record query is refused, and the error names a valid one") {
  const WallTime now = wall_from_ns(kNow_s * 1'000'000'000);
  CHECK(is_of_store("record", {{"of", "pods"}}));
  CHECK_FALSE(is_of_store("record", {{"of", "nodes"}}));
  for (const std::map<std::string, std::string>& wrong : {std::map<std::string, std::string>{},
                                                          {{"of", "wishes"}},
                                                          {{"of", "hours"}, {"after", "7"}},
                                                          {{"of", "hours"}, {"after", "x:y"}},
                                                          {{"of", "pods"}, {"since", "-1d"}}}) {
    const auto parsed = parse_record(wrong, now);
    REQUIRE_FALSE(parsed);
    CHECK(parsed.error().code == Errc::malformed);
  }
  CHECK(ask_store(*Store::none(SystemClock(), Log::silent()), "record", {{"of", "pods"}}, now, {}).error().code ==
        Errc::not_found);
  const CrashDisk disk;
  StoreFileOptions none = in_memory();
  none.usage.max_bytes = 0;
  StoreFile file = open(none);
  CHECK(record_text(file, parse_record({{"of", "pods"}}, now).value()).error().code == Errc::not_found);
}
