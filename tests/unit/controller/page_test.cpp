#include "controller/web/page.hpp"

#include <doctest/doctest.h>

#include <algorithm>

#include "common/dir.hpp"
#include "common/json/value.hpp"
#include "controller/web/assets.hpp"
#include "controller/web/documents.hpp"
#include "controller/web/live.hpp"
#include "tests/unit/common/temp_dir.hpp"
#include "tests/unit/controller/parts_rig.hpp"

using namespace wattle;
using namespace wattle::controller;
using namespace wattle::controller::test;
using namespace std::chrono_literals;
using json = wattle::SortedJson;

namespace {

// n1 to n4 with 100, 200, ... watts; n4 estimates, n3 has pods.
struct PageRig : PartsRig {
  Live live{broadcast};

  PageRig() : PartsRig(Mode::live) {
    for (int i = 1; i <= 4; ++i) state.greet(hello_of("n" + std::to_string(i)));
    all();
  }
  void all() {
    clock.advance(1s);
    ++seq;
    for (std::uint64_t i = 1; i <= 4; ++i) {
      Record record = record_at(seq);
      record.node.energy_uj = i * 100'000'000;
      record.node.cpu_used_cores = static_cast<double>(5 - i);
      if (i == 4) record.node.energy_source = EnergySource::estimated;
      if (i == 3)
        for (const char* uid : {"a", "b", "c"})
          record.workloads.push_back(pod_values(uid, 100'000U * static_cast<unsigned>(*uid - '`')));
      const std::string name = "n" + std::to_string(i);
      const RecordNews reported = state.apply(name, record, clock.mono());
      for (const std::string& uid : reported.appeared) decider->placements().placed(uid, name, false);
    }
    finish(series.sample(parts()));
  }
  std::string names(const std::string& what, const Arguments& arguments, const char* key = "name") {
    const auto found = get(what, arguments);
    REQUIRE(found);
    std::string all_of_them;
    for (const json& item : (*found)[what]) all_of_them += item[key].get<std::string>() + " ";
    return all_of_them;
  }
};

struct Pages {
  http::Routes routes;
  std::set<std::string> open;
  ManualClock clock{MonoTime{}, WallTime{std::chrono::seconds(1'000'000)}};

  explicit Pages(std::optional<http::Token> token = std::nullopt, bool secure = false) {
    add_page(routes, open, {std::move(token), secure, std::make_shared<http::Broadcast>(), clock});
  }
  http::Response ask(const std::string& route, std::map<std::string, std::string> headers = {}, std::string body = {}) {
    http::Request request{"GET", "/", {}, std::move(body), {}};
    request.headers = std::move(headers);
    return routes.at(route).handler(request);
  }
};

std::string header_of(const http::Response& response, const std::string& name) {
  for (const auto& [key, value] : response.headers)
    if (key == name) return value;
  return {};
}

http::Token page_token(const std::string& word) {
  const wattle::test::TempDir dir;
  REQUIRE(write_file_atomically(dir.file("token"), word, 0400));
  auto token = http::Token::load(dir.file("token"));
  REQUIRE(token);
  return *token;
}

struct PageListener final : http::Subscriber {
  void on_event(Text text) override {
    received.push_back(text->substr(7, text->find('\n') - 7)), texts.push_back(*text);
  }
  std::vector<std::string> received, texts;
};

}  // namespace

TEST_CASE("nodes and pods are sorted, filtered and limited as requested, with the total count") {
  PageRig rig;
  CHECK(rig.names("nodes", {}) == "n1 n2 n3 n4 ");
  CHECK(rig.names("nodes", {{"sort", "power_w"}}) == "n4 n3 n2 n1 ");
  CHECK(rig.names("nodes", {{"sort", "power_w"}, {"order", "asc"}}) == "n1 n2 n3 n4 ");
  CHECK(rig.names("nodes", {{"sort", "use_ratio"}, {"limit", "2"}}) == "n1 n2 ");
  CHECK(rig.names("nodes", {{"sort", "use_ratio"}, {"limit", "2"}, {"offset", "1"}}) == "n2 n3 ");
  CHECK(rig.names("nodes", {{"offset", "9"}}).empty());
  CHECK(rig.names("nodes", {{"filter", "N3"}}) == "n3 ");
  CHECK(rig.names("nodes", {{"state", "estimated"}}) == "n4 ");
  CHECK(rig.names("nodes", {{"state", "measured"}, {"order", "desc"}}) == "n3 n2 n1 ");
  CHECK(rig.names("nodes", {{"sort", "latency_ms"}}) == "n1 n2 n3 n4 ");  // unknown: sorted by name
  const auto page = rig.get("nodes", {{"limit", "1"}, {"filter", "n"}});
  CHECK((*page)["matched"] == 4);
  CHECK((*page)["total"] == 4);
  CHECK(rig.names("pods", {}, "uid") == "c b a ");
  CHECK(rig.names("pods", {{"sort", "cpu_cores"}, {"order", "asc"}, {"limit", "2"}}, "uid") == "a b ");
  CHECK(rig.names("pods", {{"filter", "n3"}, {"sort", "name"}}, "uid") == "a b c ");
  CHECK(rig.names("pods", {{"node", "n1"}}, "uid").empty());
  rig.clock.advance(60s);
  rig.state.disconnect("n2");
  CHECK(rig.names("nodes", {{"state", "silent"}}) == "n1 n2 n3 n4 ");
}

TEST_CASE("an invalid argument of a list is named with its fix") {
  PageRig rig;
  for (const auto& [name, value] : std::vector<std::pair<std::string, std::string>>{{"sort", "colour"},
                                                                                    {"order", "up"},
                                                                                    {"limit", "0"},
                                                                                    {"limit", "1001"},
                                                                                    {"offset", "-1"},
                                                                                    {"state", "odd"}}) {
    const auto answer = rig.get("nodes", {{name, value}});
    REQUIRE_FALSE(answer);
    CHECK(answer.error().code == Errc::malformed);
    CHECK(answer.error().subject == "argument " + name);
    CHECK_FALSE(answer.error().fix.empty());
  }
  for (const char* span : {"", "0s", "91d", "often"})
    CHECK(rig.get("history", {{"span", span}}).error().code == Errc::malformed);
  CHECK(rig.get("history", {{"until", "99999999999"}}).error().code == Errc::malformed);
  CHECK(rig.get("history", {{"node", "n1"}, {"span", "often"}}).error().code == Errc::malformed);
  CHECK(rig.get("history", {{"node", "n1"}, {"pod", "a"}}).error().code == Errc::malformed);
  CHECK(rig.get("history", {{"node", "n9"}}).error().code == Errc::not_found);
}

TEST_CASE("the fleet's watts are split into measured and estimated; silent nodes do not count") {
  PageRig rig;
  json fleet = (*rig.get("fleet"))["fleet"];
  CHECK(fleet["measured_w"].get<double>() == doctest::Approx(600));
  CHECK(fleet["estimated_w"].get<double>() == doctest::Approx(400));
  CHECK(fleet["nodes_measured"] == 3);
  CHECK(fleet["nodes_estimated"] == 1);
  CHECK(fleet["cpu_cores"] == 32);
  CHECK(fleet["pods"] == 3);
  CHECK(fleet["decided_by"] == json::object());
  // A workload's watts have the same source as its node's.
  const json source = (*rig.get("node", {{"name", "n3"}}))["node"]["energy_source"];
  const json pods = (*rig.get("pods"))["pods"];
  CHECK(pods.size() == 3);
  for (const json& pod : pods) CHECK(pod["energy_source"] == source);
  rig.state.disconnect("n4");
  fleet = (*rig.get("fleet"))["fleet"];
  CHECK(fleet["estimated_w"].is_null());
  CHECK(fleet["nodes_silent"] == 1);
}

TEST_CASE("the map of nodes has nine bytes per node, in the order of names") {
  PageRig rig;
  const json heat = (*rig.get("heat"))["heat"];
  CHECK(heat["names"] == json{"n1", "n2", "n3", "n4"});
  // 1000 tenths of a watt, utilisation 0.5, pressure and latency unknown, no flag.
  CHECK(heat["cells"].get<std::string>().substr(0, 12) == "6AOIE/////8A");
  CHECK(heat["cells"].get<std::string>().size() == 48);
  CHECK_FALSE(heat.contains("groups"));
  CHECK((*rig.get("heat", {{"label", "zone"}}))["heat"]["groups"] == json{nullptr, nullptr, nullptr, nullptr});
  rig.state.greet(hello_of("n5"));
  CHECK((*rig.get("heat"))["heat"]["edition"] != heat["edition"]);
}

TEST_CASE("a ring keeps the newest rows in order") {
  Ring ring(2, 3);
  for (int i = 0; i < 5; ++i) ring.push(std::array<float, 2>{static_cast<float>(i), static_cast<float>(-i)});
  REQUIRE(ring.size() == 3);
  for (std::size_t row = 0; row < 3; ++row) {
    CHECK(ring.at(row, 0) == static_cast<float>(row + 2));
    CHECK(ring.at(row, 1) == -static_cast<float>(row + 2));
  }
}

TEST_CASE("curves have a point per 5 s for the fleet and per 20 s for a node or pod, at most 400 points for any span") {
  PageRig rig;
  for (int i = 0; i < 130; ++i) rig.all();
  const json hour = (*rig.get("history"))["history"];
  CHECK(hour["step_s"] == 5);
  CHECK(hour["values"]["measured_w"].size() == 27);
  CHECK(hour["values"]["estimated_w"].back() == 400);
  CHECK(hour["pods_by_node"]["n3"].back() == 3);
  CHECK(hour["values"]["nodes_with_pods"].back() == 1);
  const json day = (*rig.get("history", {{"span", "24h"}}))["history"];
  CHECK(day["step_s"] == 5);  // all that is known
  const std::int64_t end_s = hour["end_wall_ns"].get<std::int64_t>() / 1'000'000'000;
  const json past = (*rig.get("history", {{"span", "20s"}, {"until", std::to_string(end_s - 60)}}))["history"];
  CHECK(past["end_wall_ns"] == (end_s - 60) * 1'000'000'000);
  CHECK(past["values"]["measured_w"] == json{600, 600, 600, 600, 600});
  const json node = (*rig.get("history", {{"node", "n3"}}))["history"];
  CHECK(node["values"]["power_w"].size() == 7);
  CHECK(node["values"]["use_ratio"].back().get<double>() == doctest::Approx(0.25));
  CHECK(node["values"]["latency_ms"].back().is_null());
  const json pod = (*rig.get("history", {{"pod", "b"}}))["history"];
  CHECK(pod["values"]["cpu_cores"].back().get<double>() == doctest::Approx(0.2));
  CHECK(pod["marks"].size() == 1);
  const std::int64_t newest_s = node["end_wall_ns"].get<std::int64_t>() / 1'000'000'000;
  const json part =
      (*rig.get("history", {{"node", "n3"}, {"span", "40s"}, {"until", std::to_string(newest_s - 20)}}))["history"];
  CHECK(part["values"]["power_w"].size() == 3);
  CHECK(part["end_wall_ns"] == (newest_s - 20) * 1'000'000'000);
  CHECK(part["marks"] == json::array());
  for (int i = 0; i < 4000; ++i) {
    rig.clock.advance(5s);
    finish(rig.series.sample(rig.parts()));
  }
  CHECK((*rig.get("history"))["history"]["values"]["measured_w"].size() == 361);
  CHECK((*rig.get("history", {{"span", "24h"}}))["history"]["step_s"] == 60);
  // A node or pod has an hour in steps of 20 s, and a day in steps of 10 minutes.
  for (const Arguments& of : {Arguments{{"node", "n3"}}, Arguments{{"pod", "b"}}}) {
    const auto spanning = [&](const char* span) {
      Arguments arguments = of;
      arguments["span"] = span;
      return (*rig.get("history", arguments))["history"];
    };
    CHECK(spanning("1h")["step_s"] == 20);
    CHECK(spanning("1h")["values"]["power_w"].size() == 180);
    CHECK(spanning("1h")["marks"] == json::array());
    CHECK(spanning("24h")["marks"].size() == 1);
    CHECK(spanning("7d")["step_s"] == 600);
    CHECK(spanning("7d")["values"]["power_w"].size() == 33);
  }
}

TEST_CASE("the history marks the start and each change of mode, policy or decision maker") {
  PageRig rig;
  RolloutSpec spec = rig.decider->spec();
  spec.mode = {Mode::shadow};
  rig.decider->take(spec);
  for (int i = 0; i < 6; ++i) rig.all();
  const json marks = (*rig.get("history"))["history"]["marks"];
  REQUIRE(marks.size() >= 2);
  CHECK(marks[0]["kind"] == "start");
  CHECK(marks[0]["text"].get<std::string>().starts_with("the controller starts in mode live"));
  CHECK(marks[1]["kind"] == "mode");
  CHECK(marks[1]["text"] == "mode live -> shadow");
}

TEST_CASE("without a listener no event is built; a listener gets all at once, then every 2 s, the map every 4 s") {
  PageRig rig;
  const auto page_listener = std::make_shared<PageListener>();
  const auto turns = [&](int count, Duration each) {
    page_listener->received.clear();
    for (int i = 0; i < count; ++i) {
      rig.clock.advance(each);
      finish(rig.live.turn(rig.parts(), rig.clock.mono()));
    }
    return std::count(page_listener->received.begin(), page_listener->received.end(), "heat") * 100 +
           std::count(page_listener->received.begin(), page_listener->received.end(), "fleet");
  };
  CHECK(turns(50, 100ms) == 0);
  rig.all();
  rig.decider->asks().ask(ask_for("before", {"n1", "n2"}));
  REQUIRE(rig.broadcast.join(page_listener, {"127.0.0.1", true}));
  CHECK(turns(1, 100ms) == 101);
  CHECK(std::count(page_listener->received.begin(), page_listener->received.end(), "decisions") == 0);
  rig.all();
  rig.decider->asks().ask(ask_for("p1", {"n1", "n2"}));
  CHECK(turns(80, 100ms) == 204);
  REQUIRE(std::count(page_listener->received.begin(), page_listener->received.end(), "decisions") == 1);
  const auto reported = std::find_if(page_listener->texts.begin(), page_listener->texts.end(),
                                     [](const std::string& t) { return t.starts_with("event: decisions"); });
  const std::string data = reported->substr(reported->find("data: ") + 6);
  CHECK(json::parse(data)["decisions"].size() == 1);
  CHECK(json::parse(data)["decisions"][0]["pod_uid"] == "p1");
  CHECK(std::count(data.begin(), data.end(), '\n') == 2);  // one line, and the end of the event
}

TEST_CASE("the page's files are compressed, allow no external sources, and are revalidated by ETag") {
  Pages pages;
  std::size_t bytes = 0;
  for (const Asset& asset : assets()) {
    bytes += asset.bytes.size();
    CHECK(pages.open.contains(std::string(asset.path)));
    const std::string route = "GET " + std::string(asset.path);
    const auto plain = pages.ask(route);
    CHECK(plain.status == 406);
    CHECK(plain.body.find("gzip") != std::string::npos);
    const auto packed = pages.ask(route, {{"accept-encoding", "br, gzip"}});
    CHECK(packed.status == 200);
    CHECK(packed.body.starts_with("\x1f\x8b"));
    CHECK(header_of(packed, "Content-Encoding") == "gzip");
    const std::string policy = header_of(packed, "Content-Security-Policy");
    CHECK(policy.starts_with("default-src 'none'"));
    CHECK(policy.find("unsafe") == std::string::npos);
    CHECK(policy.find("http") == std::string::npos);
    CHECK(header_of(packed, "X-Content-Type-Options") == "nosniff");
    const auto same = pages.ask(route, {{"accept-encoding", "gzip"}, {"if-none-match", header_of(packed, "ETag")}});
    CHECK(same.status == 304);
    CHECK(same.body.empty());
  }
  CHECK(assets().size() > 8);
  CHECK(bytes <= 200'000);
}

TEST_CASE("a token becomes a cookie of 30 days, HttpOnly and SameSite, for the page's own requests only") {
  const http::Token token = page_token("correct-horse-battery");
  Pages pages(token, true);
  const std::map<std::string, std::string> own{{"x-wattle", "page"}};
  const std::string right = R"({"token": "correct-horse-battery"})";
  CHECK(json::parse(pages.ask("GET /page/pass").body) ==
        json{{"token_needed", true}, {"open", false}, {"changes", false}});
  CHECK(pages.ask("POST /page/pass", {}, right).status == 403);
  const auto another = pages.ask("POST /page/pass", own, R"({"token": "another-horse-battery"})");
  CHECK(another.status == 401);
  CHECK(another.refused == http::Refused::token);
  for (const char* odd : {"", "[]", "{}", R"({"token": 1})", "\xff"})
    CHECK(pages.ask("POST /page/pass", own, odd).status == 400);
  const auto given = pages.ask("POST /page/pass", own, right);
  CHECK(given.status == 200);
  const std::string cookie = header_of(given, "Set-Cookie");
  CHECK(cookie.ends_with("; Path=/; Max-Age=2592000; HttpOnly; SameSite=Strict; Secure"));
  const std::string shown = cookie.substr(0, cookie.find(';'));
  CHECK(token.admits_pass(shown, pages.clock.wall()));
  CHECK(json::parse(pages.ask("GET /page/pass", {{"cookie", shown}}).body)["open"] == true);
  pages.clock.step_wall(std::chrono::hours(30 * 24));
  CHECK(json::parse(pages.ask("GET /page/pass", {{"cookie", shown}}).body)["open"] == false);
  CHECK(pages.ask("DELETE /page/pass").status == 403);
  CHECK(header_of(pages.ask("DELETE /page/pass", own), "Set-Cookie").starts_with("wattle_pass=; Path=/; Max-Age=0"));
  Pages free;
  CHECK(json::parse(free.ask("GET /page/pass").body) ==
        json{{"token_needed", false}, {"open", true}, {"changes", false}});
}
