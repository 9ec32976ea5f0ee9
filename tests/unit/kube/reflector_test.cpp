// reflector: for any behaviour of API server and network, the copy converges to the server's state.
#include "common/kube/reflector.hpp"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <deque>
#include <map>
#include <set>
#include <vector>

#include "common/json/value.hpp"

namespace wattle::kube {
namespace {

using json = wattle::SortedJson;

// Versioned objects, a log of changes that is compacted, paged lists and watches, as in the API server.
class Server final : public Api {
 public:
  struct Change {
    std::uint64_t version;
    std::string type, name;
    int value;
  };
  std::map<std::string, int> objects;
  std::uint64_t now = 1;
  std::deque<Change> log;
  std::uint64_t forgotten = 1;  // earlier changes are compacted
  std::deque<std::string> faults;
  std::size_t asked = 0;
  std::size_t most_per_page = 500;
  bool repeats_pages = false;
  std::vector<std::size_t> limits;  // of the pages that were asked for

  void put(const std::string& name, int value) {
    const bool fresh = !objects.contains(name);
    objects[name] = value;
    log.push_back({++now, fresh ? "ADDED" : "MODIFIED", name, value});
  }
  void erase(const std::string& name) {
    if (objects.erase(name) > 0) log.push_back({++now, "DELETED", name, 0});
  }
  void compact() {
    log.clear();
    forgotten = now;
  }

  Result<Reply> get(const std::string& target) override {
    ++asked;
    const std::string fault = next_fault();
    if (fault == "cut") return fail(Errc::unavailable, target, "is cut");
    if (fault == "garbage") return Reply{200, "{\"items\":"};
    if (fault == "500") return Reply{500, R"({"kind":"Status","message":"etcd is away"})"};
    if (fault == "429") return Reply{429, R"({"message":"too many requests"})", std::chrono::seconds(50)};
    limits.push_back(std::stoull(target.substr(target.find("limit=") + 6)));
    if (limits.back() > most_per_page) return fail(Errc::malformed, target, "the answer is larger than the limit");
    const std::size_t from = target.find("continue=");
    // Later pages have the version of the first one; a compaction in between gives 410.
    std::string after;
    std::uint64_t version = now;
    if (from != std::string::npos) {
      const std::string token = target.substr(from + 9);
      version = std::stoull(token.substr(0, token.find('_')));
      after = token.substr(token.find('_') + 1);
      if (version < forgotten || version != now)
        return Reply{410, R"({"message":"the provided continue parameter is too old"})"};
    }
    json page = {{"metadata", {{"resourceVersion", std::to_string(version)}}}, {"items", json::array()}};
    for (auto each = after.empty() ? objects.begin() : objects.upper_bound(after); each != objects.end(); ++each) {
      if (page["items"].size() == 2) {
        page["metadata"]["continue"] =
            std::to_string(version) + "_" + page["items"].back()["metadata"]["name"].get<std::string>();
        break;
      }
      page["items"].push_back(object(each->first, each->second, version));
    }
    if (page["items"].empty()) page["items"] = nullptr;
    if (repeats_pages) page["metadata"]["continue"] = std::to_string(version) + "_";
    return Reply{200, page.dump()};
  }

  Result<Reply> stream(const std::string& target, const std::function<bool(std::string_view)>& line) override {
    ++asked;
    const std::string fault = next_fault();
    if (fault == "cut") return fail(Errc::unavailable, target, "is cut");
    if (fault == "500") return Reply{500, "not JSON"};
    if (fault == "429") return Reply{429, "", std::chrono::seconds(50)};
    if (fault == "event-error" || fault == "event-garbage") {
      line(json{{"type", "BOOKMARK"}, {"object", {{"metadata", {{"resourceVersion", std::to_string(now)}}}}}}.dump());
      line(fault == "event-error" ? R"({"type":"ERROR","object":{"kind":"Status","code":500}})" : R"({"type":"NEW"})");
      return Reply{200, ""};
    }
    if (fault == "garbage") {
      line("{\"type\":\"MOD");
      return Reply{200, ""};
    }
    const std::size_t from = target.find("resourceVersion=") + 16;
    const std::uint64_t version = std::stoull(target.substr(from));
    if (version < forgotten) {
      if (fault == "late") {
        line(R"({"type":"ERROR","object":{"kind":"Status","code":410}})");
        return Reply{200, ""};
      }
      return Reply{410, R"({"message":"too old resource version"})"};
    }
    std::size_t reported = 0;
    for (const Change& change : log) {
      if (change.version <= version) continue;
      if (fault == "half" && ++reported > 1) return fail(Errc::timeout, target, "nothing came");
      if (!line(json{{"type", change.type}, {"object", object(change.name, change.value, change.version)}}.dump()))
        return Reply{200, ""};
    }
    if (fault == "bookmark")
      line(json{{"type", "BOOKMARK"}, {"object", {{"metadata", {{"resourceVersion", std::to_string(now)}}}}}}.dump());
    return Reply{200, ""};
  }

 private:
  static json object(const std::string& name, int value, std::uint64_t version) {
    return {{"metadata", {{"name", name}, {"resourceVersion", std::to_string(version)}}}, {"value", value}};
  }
  std::string next_fault() {
    if (faults.empty()) return {};
    std::string fault = faults.front();
    faults.pop_front();
    return fault;
  }
};

class Copy final : public Sink {
 public:
  std::map<std::string, int> objects;
  void begin_list() override { listed_.clear(); }
  void put(const json& object) override {
    const auto name = object["metadata"]["name"].get<std::string>();
    listed_.insert(name);
    objects[name] = object["value"].get<int>();
  }
  void end_list() override {
    std::erase_if(objects, [&](const auto& each) { return !listed_.contains(each.first); });
  }
  void erase(const json& object) override { objects.erase(object["metadata"]["name"].get<std::string>()); }

 private:
  std::set<std::string> listed_;
};

ReflectorOptions options() {
  ReflectorOptions options;
  options.path = "/api/v1/pods";
  options.limit = 2;
  return options;
}

TEST_CASE("whatever happens on the way, the copy converges to the server's state") {
  CHECK(rc::check([] {
    Server server;
    Copy copy;
    Reflector reflector(server, copy, options());
    const auto rounds = *rc::gen::inRange(1, 30);
    for (int round = 0; round < rounds; ++round) {
      switch (*rc::gen::inRange(0, 6)) {
        case 0:
        case 1:
          server.put("pod-" + std::to_string(*rc::gen::inRange(0, 7)), *rc::gen::inRange(0, 100));
          break;
        case 2:
          server.erase("pod-" + std::to_string(*rc::gen::inRange(0, 7)));
          break;
        case 3:
          server.compact();
          break;
        case 4:
          server.faults.push_back(*rc::gen::element<std::string>("cut", "garbage", "500", "half", "late", "bookmark"));
          break;
        default:
          reflector.step();
      }
    }
    server.faults.clear();
    // At most a list, a watch that is too old, a list and a watch are needed.
    for (int step = 0; step < 4; ++step) reflector.step();
    RC_ASSERT(copy.objects == server.objects);
    RC_ASSERT(reflector.synced());
    RC_ASSERT(reflector.problem().empty());
  }));
}

TEST_CASE("an expired page restarts the list, and half a list does not count") {
  Server server;
  for (int i = 0; i < 5; ++i) server.put("pod-" + std::to_string(i), i);
  Copy copy;
  Reflector reflector(server, copy, options());
  server.faults = {"", "cut"};
  CHECK(reflector.step() > Duration::zero());
  CHECK_FALSE(reflector.synced());
  CHECK(reflector.problem().find("is cut") != std::string::npos);
  server.erase("pod-0");
  CHECK(reflector.step() == Duration::zero());
  CHECK(copy.objects == server.objects);
  CHECK(reflector.figures().lists == 1);
}

TEST_CASE("a refusing server is asked less and less often, at least every 32 s, and at once after it recovers") {
  Server server;
  Copy copy;
  Reflector reflector(server, copy, options());
  double last_s = 0;
  for (int i = 0; i < 12; ++i) {
    server.faults = {"500"};
    last_s = seconds(reflector.step());
    CHECK(last_s <= 32);
  }
  CHECK(last_s >= 16);
  CHECK(reflector.problem() == "/api/v1/pods: HTTP 500: etcd is away");
  CHECK(reflector.figures().failures == 12);
  CHECK(reflector.step() == Duration::zero());
  CHECK(reflector.problem().empty());
}

TEST_CASE("a server whose watches are always too old is not asked in a tight loop") {
  Server server;
  server.put("pod", 1);
  Copy copy;
  Reflector reflector(server, copy, options());
  std::size_t at_once = 0;
  for (int i = 0; i < 20; ++i) {
    at_once += reflector.step() == Duration::zero();
    server.compact();
    server.put("pod", i);
    server.compact();
  }
  // A watch follows each list at once; after the first futile watch there is a pause.
  CHECK(at_once <= 11);
  CHECK(reflector.figures().too_old >= 9);
}

TEST_CASE("a server whose watches fail after an event is not listed in a tight loop") {
  for (const char* fault : {"event-error", "event-garbage"}) {
    Server server;
    Copy copy;
    Reflector reflector(server, copy, options());
    double pauses_s = 0;
    for (int i = 0; i < 10; ++i) {
      pauses_s += seconds(reflector.step());  // a list
      server.faults = {fault};
      pauses_s += seconds(reflector.step());
    }
    CHECK(pauses_s > 60);
    reflector.step();
    server.put("pod", 1);
    CHECK(reflector.step() == Duration::zero());
    server.faults = {fault};
    CHECK(seconds(reflector.step()) <= 1);
  }
}

TEST_CASE("a server that names a time for the next request is not asked earlier") {
  Server server;
  Copy copy;
  Reflector reflector(server, copy, options());
  server.faults = {"429"};
  CHECK(reflector.step() >= std::chrono::seconds(50));
  CHECK(reflector.step() == Duration::zero());
  server.faults = {"429"};
  CHECK(reflector.step() >= std::chrono::seconds(50));
  CHECK(reflector.problem().find("HTTP 429") != std::string::npos);
}

TEST_CASE("a page that is too large to read is asked for with fewer objects") {
  Server server;
  server.most_per_page = 40;
  server.put("pod", 1);
  Copy copy;
  ReflectorOptions wide = options();
  wide.limit = 500;
  Reflector reflector(server, copy, wide);
  for (int i = 0; i < 3; ++i) reflector.step();
  CHECK(server.limits == std::vector<std::size_t>{500, 125, 31});
  CHECK(reflector.synced());
  CHECK(copy.objects == server.objects);
  server.most_per_page = 0;  // even one object
  Reflector stuck(server, copy, wide);
  for (int i = 0; i < 9; ++i) CHECK(stuck.step() > Duration::zero());
  CHECK(server.limits.back() == 1);
}

TEST_CASE("a server that returns the same page again and again is reported, and listed again later") {
  Server server;
  server.put("pod", 1);
  server.repeats_pages = true;
  Copy copy;
  Reflector reflector(server, copy, options());
  CHECK(reflector.step() > Duration::zero());
  CHECK(server.asked == 2);
  CHECK(reflector.problem().find("has no end") != std::string::npos);
  CHECK_FALSE(reflector.synced());
  server.repeats_pages = false;
  reflector.step();
  CHECK(reflector.synced());
  CHECK(copy.objects == server.objects);
}

TEST_CASE("bookmarks advance the version without an event") {
  Server server;
  server.put("pod", 1);
  Copy copy;
  Reflector reflector(server, copy, options());
  reflector.step();
  server.put("other", 1);
  server.erase("other");
  server.faults = {"bookmark"};
  reflector.step();
  CHECK(reflector.figures().bookmarks == 1);
  CHECK(reflector.figures().events == 2);
  server.compact();  // up to the current version: the bookmark's version is still valid
  reflector.step();
  CHECK(reflector.synced());
  CHECK(reflector.figures().too_old == 0);
}

}  // namespace
}  // namespace wattle::kube
