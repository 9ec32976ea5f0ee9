// fake_api: a fake API server with lists, watches, bookmarks and expired versions over plain HTTP, for tests.
// Rules    a watch answers with all available events and ends; after half a second without events it sends a bookmark.
//          Only `tokens` are accepted; if there are none, every client is
// Threads  any
#pragma once

#include <doctest/doctest.h>

#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <thread>

#include "common/http/server.hpp"
#include "common/json/value.hpp"
#include "common/parse.hpp"

namespace wattle::controller::test {

using json = wattle::SortedJson;

class FakeApi {
 public:
  explicit FakeApi(const Log& log) : log_(log) { listen(0); }
  ~FakeApi() { close(); }
  std::string url() const { return "http://127.0.0.1:" + std::to_string(port_); }

  // Simulates a crash and restart of the API server at the same address; it keeps its objects.
  void close() {
    {
      const std::lock_guard lock(mutex_);
      closing_ = true;
    }
    changed_.notify_all();
    server_.reset();
  }
  void open() { listen(port_); }

  void let_in(std::set<std::string> tokens) {
    const std::lock_guard lock(mutex_);
    tokens_ = std::move(tokens);
  }
  // Forgets all earlier events: watches from earlier versions get 410.
  void forget_past() {
    const std::lock_guard lock(mutex_);
    log_of_changes_.clear();
    forgotten_ = version_;
  }
  void put(const std::string& path, const std::string& key, json object) {
    {
      const std::lock_guard lock(mutex_);
      object["metadata"]["resourceVersion"] = std::to_string(++version_);
      const bool fresh = !objects_[path].contains(key);
      objects_[path][key] = object;
      log_of_changes_.push_back({version_, path, fresh ? "ADDED" : "MODIFIED", std::move(object)});
    }
    changed_.notify_all();
  }
  void erase(const std::string& path, const std::string& key) {
    {
      const std::lock_guard lock(mutex_);
      json object = objects_[path].at(key);
      objects_[path].erase(key);
      object["metadata"]["resourceVersion"] = std::to_string(++version_);
      log_of_changes_.push_back({version_, path, "DELETED", std::move(object)});
    }
    changed_.notify_all();
  }
  void put_node(const std::string& name, const std::string& cpu, bool cordoned = false) {
    put("/api/v1/nodes", name,
        {{"metadata", {{"name", name}, {"uid", name + "-uid"}, {"labels", {{"zone", "z1"}}}}},
         {"spec", {{"unschedulable", cordoned}}},
         {"status",
          {{"allocatable", {{"cpu", cpu}, {"memory", "8Gi"}, {"pods", "30"}}},
           {"conditions", {{{"type", "Ready"}, {"status", "True"}}}}}}});
  }
  void put_pod(const std::string& uid, const std::string& node, const std::string& scheduler = "default-scheduler",
               json status = json::object()) {
    json spec = {{"schedulerName", scheduler},
                 {"containers", {{{"image", "nginx:1.25"}, {"resources", {{"requests", {{"cpu", "1"}}}}}}}}};
    if (!node.empty()) spec["nodeName"] = node;
    put("/api/v1/pods", uid,
        {{"metadata", {{"name", uid + "-name"}, {"namespace", "shop"}, {"uid", uid}}},
         {"spec", std::move(spec)},
         {"status", std::move(status)}});
  }
  void erase_pod(const std::string& uid) { erase("/api/v1/pods", uid); }
  // The status of the TokenReview for a token.
  void know_token(const std::string& token, json status) {
    const std::lock_guard lock(mutex_);
    reviews_[token] = std::move(status);
  }
  // The body of the last TokenReview request.
  json last_review() const {
    const std::lock_guard lock(mutex_);
    return last_review_;
  }
  std::uint64_t reviews() const {
    const std::lock_guard lock(mutex_);
    return asked_reviews_;
  }
  std::uint64_t lists() const {
    const std::lock_guard lock(mutex_);
    return lists_;
  }

 private:
  struct Change {
    std::uint64_t version;
    std::string path, type;
    json object;
  };

  void listen(std::uint16_t port) {
    closing_ = false;
    http::ServerOptions options;
    options.port = port;
    http::Routes routes;
    const auto answer = [this](const http::Request& request) { return get(request); };
    routes["GET /api/v1/nodes"] = routes["GET /api/v1/pods"] = answer;
    routes["GET /apis/policy/v1/poddisruptionbudgets"] = answer;
    routes["GET /api/v1/namespaces/"] = [this](const http::Request& request) { return one(request); };
    routes["POST /apis/authentication.k8s.io/v1/tokenreviews"] = {
        [this](const http::Request& request) { return review(request); }, 64 << 10};
    auto server = http::Server::start(options, std::move(routes), log_);
    REQUIRE(server);
    server_ = std::make_unique<http::Server>(std::move(*server));
    port_ = server_->port();
  }
  static http::Response status(int code, const std::string& message) {
    return {code, "application/json", json{{"kind", "Status"}, {"message", message}}.dump()};
  }
  bool admitted(const http::Request& request) const {
    if (tokens_.empty()) return true;
    for (const std::string& token : tokens_)
      if (request.authorization == "Bearer " + token) return true;
    return false;
  }
  http::Response get(const http::Request& request) {
    std::unique_lock lock(mutex_);
    if (!admitted(request)) return status(401, "Unauthorized");
    if (!request.query.contains("watch")) {
      ++lists_;
      json items = json::array();
      for (const auto& [key, object] : objects_[request.path]) items.push_back(object);
      return {200, "application/json",
              json{{"metadata", {{"resourceVersion", std::to_string(version_)}}}, {"items", std::move(items)}}.dump()};
    }
    const std::uint64_t from = parse::u64(request.query.at("resourceVersion")).value_or(0);
    if (from < forgotten_) return status(410, "too old resource version");
    std::string lines;
    const auto gather = [&] {
      for (const Change& change : log_of_changes_)
        if (change.version > from && change.path == request.path)
          lines += json{{"type", change.type}, {"object", change.object}}.dump() + "\n";
      return closing_ || !lines.empty();
    };
    if (!changed_.wait_for(lock, std::chrono::milliseconds(500), gather))
      lines = json{{"type", "BOOKMARK"}, {"object", {{"metadata", {{"resourceVersion", std::to_string(version_)}}}}}}
                  .dump() +
              "\n";
    return {200, "application/json", lines};
  }
  // GET /api/v1/namespaces/NAMESPACE/pods/NAME
  http::Response one(const http::Request& request) {
    const std::lock_guard lock(mutex_);
    if (!admitted(request)) return status(401, "Unauthorized");
    for (const auto& [uid, object] : objects_["/api/v1/pods"]) {
      const json& metadata = object["metadata"];
      if (request.path == "/api/v1/namespaces/" + metadata["namespace"].get<std::string>() + "/pods/" +
                              metadata["name"].get<std::string>())
        return {200, "application/json", object.dump()};
    }
    return status(404, "not found");
  }
  http::Response review(const http::Request& request) {
    const std::lock_guard lock(mutex_);
    ++asked_reviews_;
    if (!admitted(request)) return status(401, "Unauthorized");
    last_review_ = json::read(request.body, {64 << 20, 1 << 30});
    const auto found = reviews_.find(last_review_["spec"]["token"].get<std::string>());
    const json answer = found == reviews_.end() ? json{{"error", "invalid bearer token"}} : found->second;
    return {201, "application/json", json{{"kind", "TokenReview"}, {"status", answer}}.dump()};
  }

  const Log& log_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  bool closing_ = false;
  std::uint64_t version_ = 10, forgotten_ = 0, lists_ = 0, asked_reviews_ = 0;
  std::map<std::string, std::map<std::string, json>> objects_;
  std::deque<Change> log_of_changes_;
  std::set<std::string> tokens_;
  std::map<std::string, json> reviews_;
  json last_review_;
  std::uint16_t port_ = 0;
  std::unique_ptr<http::Server> server_;
};

}  // namespace wattle::controller::test
