// An in-process API server with the parts that the laws of marks need: nodes with versions, evictions with budgets,
// Events, and three tokens. It reports version 1.37.
#include <doctest/doctest.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <mutex>

#include "common/http/server.hpp"
#include "common/json/value.hpp"
#include "tests/integration/marks/place.hpp"
#include "tests/unit/common/temp_dir.hpp"
#include "tests/unit/controller/power/node_merge.hpp"

namespace wattle::controller::power::test {
namespace {

using json = SortedJson;

http::Response said(int status, const json& body) { return {status, "application/json", body.dump(), {}, nullptr}; }
http::Response refusal(int status, const std::string& message) {
  return said(status, json::object({{"message", message}}));
}

class FakePlace final : public Place {
 public:
  FakePlace() {
    http::Routes routes;
    for (const char* method : {"GET", "POST", "PATCH", "DELETE"})
      for (const char* root : {"/api/", "/apis/"})
        routes[std::string(method) + " " + root] = {[this](const http::Request& request) { return answer(request); },
                                                    1 << 20};
    routes["GET /version"] = [](const http::Request&) { return said(200, json{{"major", "1"}, {"minor", "37"}}); };
    auto server = http::Server::start({}, std::move(routes), log_);
    REQUIRE(server);
    server_ = std::make_unique<http::Server>(std::move(*server));
    for (const char* name : {"admin", "wattle", "stranger"}) std::ofstream(dir_.file(name)) << name;
  }
  kube::ApiServer admin() const override { return as("admin"); }
  kube::ApiServer wattle() const override { return as("wattle"); }
  kube::ApiServer stranger() const override { return as("stranger"); }

 private:
  kube::ApiServer as(const std::string& name) const {
    return {*kube::parse_url("http://127.0.0.1:" + std::to_string(server_->port())), dir_.file(name)};
  }
  static bool may(const http::Request& request) {
    if (request.authorization == "Bearer admin") return true;
    if (request.authorization != "Bearer wattle") return false;
    const bool node =
        request.path.starts_with("/api/v1/nodes/") && (request.method == "GET" || request.method == "PATCH");
    const bool pod = request.method == "GET" && request.path.find("/pods/") != std::string::npos;
    return node || pod ||
           (request.method == "POST" && (request.path.ends_with("/eviction") || request.path.ends_with("/events")));
  }
  http::Response answer(const http::Request& request) {
    const std::lock_guard lock(mutex_);
    if (!may(request)) return refusal(403, "forbidden: " + request.method + " " + request.path);
    if (request.method == "POST") return post(request);
    if (request.method == "PATCH") return patch(request);
    if (request.method == "GET" && request.path.ends_with("/events")) return said(200, list(request.path));
    const auto found = objects_.find(request.path);
    if (found == objects_.end()) return refusal(404, request.path + " not found");
    const json object = found->second;
    if (request.method == "DELETE") objects_.erase(found);
    return said(200, object);
  }
  json list(const std::string& path) const {
    json items = json::array();
    for (const auto& [key, object] : objects_)
      if (key.starts_with(path + "/")) items.push_back(object);
    json out = json::object();
    out["items"] = items;
    return out;
  }
  void store(const std::string& path, json object) {
    object["metadata"]["resourceVersion"] = std::to_string(++version_);
    objects_[path] = std::move(object);
  }
  http::Response post(const http::Request& request) {
    json body = json::parse(request.body);
    if (request.path.ends_with("/eviction")) return evict(request.path.substr(0, request.path.rfind('/')), body);
    const std::string path = request.path + "/" + body["metadata"]["name"].string();
    if (objects_.contains(path)) return refusal(409, path + " already exists");
    body["metadata"]["uid"] = "uid-" + std::to_string(version_);
    store(path, body);
    return said(201, objects_[path]);
  }
  http::Response patch(const http::Request& request) {
    const bool status = request.path.ends_with("/status");
    const std::string path = status ? request.path.substr(0, request.path.rfind('/')) : request.path;
    const auto found = objects_.find(path);
    if (found == objects_.end()) return refusal(404, path + " not found");
    const json body = json::parse(request.body);
    const json& wanted = body["metadata"]["resourceVersion"];
    if (wanted.is_string() && wanted != found->second["metadata"]["resourceVersion"])
      return refusal(409, "the object has been modified");
    json part = json::object();
    for (const auto& [key, value] : body.items())
      if ((key == "status") == status) part[key] = value;
    const json after = merged(found->second, part);
    if (!(after == found->second)) store(path, after);
    return said(200, objects_[path]);
  }
  static bool selects(const json& budget, const json& pod) {
    for (const auto& [key, value] : budget["spec"]["selector"]["matchLabels"].items())
      if (!(pod["metadata"]["labels"][key] == value)) return false;
    return true;
  }
  http::Response evict(const std::string& path, const json& body) {
    const auto found = objects_.find(path);
    if (found == objects_.end()) return refusal(404, "pods not found");
    // Like the server, it takes a disruption from the budget before it looks at the precondition.
    for (auto& [key, object] : objects_) {
      if (!(object["kind"] == "PodDisruptionBudget") || !selects(object, found->second)) continue;
      if (const int allowed = object["status"]["disruptionsAllowed"].get<int>(); allowed > 0) {
        object["status"]["disruptionsAllowed"] = allowed - 1;
        continue;
      }
      json refused = json::object();
      refused["message"] = "Cannot evict pod as it would violate the pod's disruption budget.";
      refused["details"]["causes"].push_back(json{{"reason", "DisruptionBudget"}, {"message", "needs 1 healthy pod"}});
      return said(429, refused);
    }
    if (!(body["deleteOptions"]["preconditions"]["uid"] == found->second["metadata"]["uid"]))
      return refusal(409, "Precondition failed");
    if (found->second["spec"]["terminationGracePeriodSeconds"].get<int>() == 0) {
      objects_.erase(found);
      return said(201, json::object());
    }
    found->second["metadata"]["deletionTimestamp"] = "2026-12-01T00:00:00Z";
    found->second["status"]["conditions"].push_back(
        json{{"type", "DisruptionTarget"}, {"status", "True"}, {"reason", "EvictionByEvictionAPI"}});
    return said(201, json::object());
  }

  wattle::test::TempDir dir_;
  Log log_ = Log::silent();
  std::mutex mutex_;
  std::uint64_t version_ = 1;
  std::map<std::string, json> objects_;  // by path
  std::unique_ptr<http::Server> server_;
};

}  // namespace

std::unique_ptr<Place> make_place() { return std::make_unique<FakePlace>(); }

}  // namespace wattle::controller::power::test
