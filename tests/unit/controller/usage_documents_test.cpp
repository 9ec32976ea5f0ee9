// Usage of workloads: how the writer's thread keeps it, its document, and invalid queries.
#include <poll.h>

#include <map>
#include <set>

#include "common/json/value.hpp"
#include "controller/web/store_documents.hpp"
#include "controller/web/usage_json.hpp"
#include "tests/unit/controller/usage_rig.hpp"

using namespace wattle;
using namespace wattle::controller;
using namespace wattle::controller::test;
using namespace wattle::controller::test::usage;
using json = wattle::SortedJson;

TEST_CASE("a document has the requested number of rows, those with the most energy, and one row for the others") {
  const CrashDisk disk;
  StoreFile file = open(in_memory());
  std::vector<WorkloadValues> workloads;
  std::vector<PodFacts> pods;
  for (std::uint64_t i = 1; i <= 20; ++i) {
    workloads.push_back(used("u" + std::to_string(i), i * 1'000'000, 1'000'000));
    pods.push_back(described("u" + std::to_string(i), "space-" + std::to_string(i), "", ""));
  }
  take(file, {whole("a", 1, workloads)}, kNow_s);
  REQUIRE(file.usage().put(pods, kNow_s));
  const json reported = json::parse(report_text(file, {{kNow_s, ReportBy::name_space, {}}, 3, kNow_s + 9}).value());
  REQUIRE(reported["rows"].size() == 3);
  CHECK(reported["rows"][0]["key"] == "space-20");
  CHECK(reported["rest"]["rows"] == 17);
  CHECK(reported["rest"]["measured_j"] == 17 * 18 / 2);
  CHECK(reported["rest"]["workloads"] == 17);
  CHECK(reported["nodes"]["measured_j"] == 20 * 21 / 2 + 4);
  CHECK(reported["from_wall_s"] == kNow_s);
  CHECK_FALSE(reported["cut"].get<bool>());
  CHECK(reported["label"].is_null());
}

TEST_CASE("energy has its cost and CO2 by the tariff in every part of the report, and none without a tariff") {
  const CrashDisk disk;
  StoreFile file = open(in_memory());
  take(file, {whole("a", 1, {used("u", 3'600'000'000, 5)})}, kNow_s);
  ReportQuery query{{kNow_s, ReportBy::node, {}}, 10, kNow_s + 9};
  json reported = json::parse(report_text(file, query).value());
  for (const char* part : {"idle", "unattributed", "missing", "nodes"}) {
    CHECK(reported[part]["cost"].is_null());
    CHECK(reported[part]["currency"].is_null());
    CHECK(reported[part]["co2_g"].is_null());
  }
  query.tariff = {0.25, 400, "EUR"};
  reported = json::parse(report_text(file, query).value());
  const json row = reported["rows"][0];
  CHECK(row["measured_j"] == 3600);
  CHECK(row["cost"].get<double>() == doctest::Approx(0.25 / 1000));
  CHECK(row["co2_g"].get<double>() == doctest::Approx(400.0 / 1000));
  CHECK(row["currency"] == "EUR");
  for (const json& each : {row["drawn"], reported["nodes"], reported["idle"], reported["unattributed"]}) {
    const double kwh = (each["measured_j"].get<double>() + each["estimated_j"].get<double>()) / 3.6e6;
    CHECK(each["cost"].get<double>() == doctest::Approx(0.25 * kwh));
    CHECK(each["co2_g"].get<double>() == doctest::Approx(400 * kwh));
  }
  query.tariff = {std::nullopt, 400, ""};
  reported = json::parse(report_text(file, query).value());
  CHECK(reported["nodes"]["cost"].is_null());
  CHECK(reported["nodes"]["co2_g"].get<double>() > 0);
}

TEST_CASE("nodes are sorted by their energy, which includes the part of their workloads") {
  const CrashDisk disk;
  StoreFile file = open(in_memory());
  take(file, {whole("idles", 1, {}), whole("idles", 2, {}), whole("works", 1, {used("u", 1'000'000, 5)})}, kNow_s);
  const json reported = json::parse(report_text(file, {{kNow_s, ReportBy::node, {}}, 10, kNow_s + 9}).value());
  REQUIRE(reported["rows"].size() == 2);
  CHECK(reported["rows"][0]["key"] == "idles");
  CHECK(reported["rows"][0]["measured_j"] == 0);
  CHECK(reported["rows"][0]["drawn"]["measured_j"] == 8);
  CHECK(reported["rows"][1]["idle"]["measured_j"] == 3);
  CHECK(reported["rows"][1]["measured_j"] == 1);
}

TEST_CASE("an unrecorded pod is not found, and a report without figures is a valid answer") {
  const CrashDisk disk;
  StoreFile file = open(in_memory());
  const auto by_label = [&](const std::string& key) {
    return report_text(file, {{kNow_s, ReportBy::label, key, {}}, 10, kNow_s + 9});
  };
  const auto of_pod = [&](const std::string& pod) {
    return report_text(file, {{kNow_s, ReportBy::container, {}, pod}, 10, kNow_s + 9});
  };
  CHECK(by_label("team"));
  CHECK(of_pod("u"));
  take(file, {whole("a", 1, {used("u", 1'000'000, 5), used("sshd", 10, 5, WorkloadKind::service)})}, kNow_s);
  CHECK(by_label("team"));  // it is not known yet whether the pod has the label
  const std::vector<PodFacts> pods{described("u", "shop", "Deployment/web", "team=red")};
  REQUIRE(file.usage().put(pods, kNow_s));
  CHECK(json::parse(by_label("team").value())["rows"][0]["key"] == "red");
  CHECK(json::parse(by_label("taem").value())["rows"][0]["key"] == "(none)");
  CHECK(of_pod("u"));
  CHECK(of_pod("shop/web").error().code == Errc::not_found);
  CHECK(of_pod("shop/web").error().subject == "pod shop/web");
}

TEST_CASE("the writer stores the owners of workloads before it answers, and at its end") {
  const CrashDisk disk;
  const SystemClock clock;
  const Log log = Log::silent();
  StoreOptions options;
  options.file = in_memory();
  const std::map<std::string, std::string> by_owner{{"by", "owner"}};
  const auto rows = [&](Store& store) {
    auto asked = ask_store(store, "report", by_owner, clock.wall(), {});
    REQUIRE(asked);
    const auto text = asked->get();
    if (!text) FAIL(text.error().message());
    std::set<std::string> keys;
    const json document = json::parse(*text);
    for (const json& row : document["rows"]) keys.insert(row["key"].get<std::string>());
    return keys;
  };
  {
    auto store = Store::start(options, clock, log);
    REQUIRE(store);
    (*store)->add(whole("a", 1, {used("u1", 10), used("u2", 20)}));
    wait_for(**store, 1);
    for (int i = 0; i < 5000; ++i) (*store)->note(described("x" + std::to_string(i), "shop", "", ""));
    (*store)->note(placed("u1", "a", kNow_s, "ReplicaSet/web-5d9"));
    (*store)->note(described("u1", "shop", "Deployment/web", ""));
    CHECK(rows(**store) == std::set<std::string>{"Deployment/web", "(unknown)"});
    (*store)->note(described("u2", "shop", "Job/copy", ""));
  }
  auto store = Store::start(options, clock, log);
  REQUIRE(store);
  CHECK(rows(**store) == std::set<std::string>{"Deployment/web", "Job/copy"});
}

TEST_CASE("owners of workloads wait for a failing disk, within a limit, and the known ones are then stored") {
  CrashDisk disk;
  const SystemClock clock;
  const Log log = Log::silent();
  StoreOptions options;
  options.file = in_memory();
  options.commit_every = options.retry_every = options.decisions_every = std::chrono::milliseconds(1);
  options.pods_queue_bytes = 1000;
  auto store = Store::start(options, clock, log);
  REQUIRE(store);
  SUBCASE("full") { disk.full = true; }
  SUBCASE("failing") { disk.broken = true; }
  for (int i = 0; i < 100; ++i) {
    (*store)->note(placed("first", "a", kNow_s + i));
    ::poll(nullptr, 0, 1);
  }
  (*store)->note(described("first", "shop", "Deployment/web", ""));
  for (int i = 0; i < 100; ++i) (*store)->note(described("later-" + std::to_string(i), "shop", "", ""));
  disk.full = disk.broken = false;
  std::vector<PodFacts> kept;
  while (kept.empty()) {
    auto read = (*store)->read([&](StoreFile& file) -> Result<std::string> {
      WATTLE_CHECK(file.usage().each_pod([&](const PodFacts& pod) { kept.push_back(pod); }));
      return std::string();
    });
    read.wait();
    ::poll(nullptr, 0, 2);
  }
  CHECK(kept.size() < 20);
  CHECK(kept.front() == PodFacts{"first", "shop", "Deployment/web", "", true, "a", kNow_s});
}

TEST_CASE("an invalid query is refused by name, with the fix") {
  const WallTime now = wall_from_ns(kNow_s * 1'000'000'000);
  const auto why = [&](const std::map<std::string, std::string>& arguments) {
    const auto query = parse_report(arguments, now);
    return query ? std::string() : query.error().message();
  };
  CHECK(parse_report({}, now)->usage.since_s == kNow_s - 7 * 86'400);
  CHECK(parse_report({{"label", "team"}}, now)->usage.by == ReportBy::label);
  CHECK(parse_report({{"by", "owner"}, {"limit", "7"}, {"since", "24h"}}, now)->limit == 7);
  const auto refuses = [&](const std::map<std::string, std::string>& arguments, const std::string& subject,
                           const std::string& fix) {
    const std::string text = why(arguments);
    CAPTURE(text);
    CHECK(text.find("argument " + subject) != std::string::npos);
    CHECK(text.find(fix) != std::string::npos);
  };
  refuses({{"since", "soon"}}, "since", "use a duration, for example 90m, 24h or 7d");
  refuses({{"since", "0"}}, "since", "use a duration, for example 90m, 24h or 7d");
  refuses({{"limit", "0"}}, "limit", "1 to 1000");
  refuses({{"by", "pod"}}, "by", "use namespace, owner, node, label or container");
  refuses({{"by", "node"}, {"pod", "web"}}, "pod", "by=container");
  refuses({{"by", "label"}}, "label", "label=team");
  refuses({{"by", "label"}, {"label", ""}}, "label", "label=team");
  refuses({{"by", "label"}, {"label", "team=red"}}, "label", "without a value");
  refuses({{"by", "label"}, {"label", std::string(400, 'x')}}, "label", "label=team");
  refuses({{"by", "node"}, {"label", "team"}}, "label", "by=label");
  CHECK(is_of_store("report", {}));
  CHECK(is_of_store("decisions", {{"since", "7d"}}));
  CHECK_FALSE(is_of_store("decisions", {}));
  const auto nowhere = ask_store(*Store::none(SystemClock(), Log::silent()), "report", {}, now, {});
  REQUIRE_FALSE(nowhere);
  CHECK(nowhere.error().message().find("store.path") != std::string::npos);
}
