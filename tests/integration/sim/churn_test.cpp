// churn against an API server that binds pods to two nodes in turn, over real HTTP.
#include "sim/live/churn.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <mutex>

#include "common/http/server.hpp"
#include "common/json/value.hpp"

namespace wattle::sim::live {
namespace {

using json = wattle::SortedJson;

// Keeps pods by name, in the order of creation; binds the pending ones at the second list request.
class Server {
 public:
  explicit Server(const Log& log) {
    http::Routes routes;
    const auto locked = [this](http::Response (Server::*what)(const http::Request&)) {
      return [this, what](const http::Request& request) {
        const std::lock_guard lock(mutex_);
        return (this->*what)(request);
      };
    };
    routes["POST /api/v1/namespaces/shop/pods"] = {locked(&Server::create), 1 << 20};
    routes["GET /api/v1/namespaces/shop/pods"] = locked(&Server::list);
    routes["DELETE /api/v1/namespaces/shop/pods"] = locked(&Server::remove_all);
    routes["DELETE /api/v1/namespaces/shop/pods/"] = locked(&Server::remove);
    auto server = http::Server::start({}, std::move(routes), log);
    REQUIRE(server);
    server_ = std::make_unique<http::Server>(std::move(*server));
  }
  kube::ApiServer api() const { return {*kube::parse_url("http://127.0.0.1:" + std::to_string(server_->port())), ""}; }

  std::size_t most = 0, created = 0, refuse_after = 1000;
  bool binds = true;
  std::vector<json> pods;

 private:
  static http::Response said(int status, const json& body) { return {status, "application/json", body.dump()}; }
  http::Response create(const http::Request& request) {
    if (created >= refuse_after) return said(403, {{"message", "pods is forbidden"}});
    json pod = json::parse(request.body);
    pod["metadata"]["uid"] = "uid-" + std::to_string(created++);
    pods.push_back(pod);
    most = std::max(most, pods.size());
    return said(201, pod);
  }
  static bool chosen(const json& pod, const http::Request& request) {
    const std::string selector = request.query.at("labelSelector");
    const std::string value = pod["metadata"]["labels"].value("wattle.dev/churn", "");
    return !value.empty() && (selector == "wattle.dev/churn" || selector == "wattle.dev/churn=" + value);
  }
  http::Response list(const http::Request& request) {
    json items = json::array();
    for (json& pod : pods) {
      if (!chosen(pod, request)) continue;
      items.push_back(pod);
      if (binds) pod["spec"]["nodeName"] = "node-" + std::to_string(bound_++ % 2);
    }
    return said(200, {{"items", items}});
  }
  http::Response remove_all(const http::Request& request) {
    std::erase_if(pods, [&](const json& pod) { return chosen(pod, request); });
    return said(200, json::object());
  }
  http::Response remove(const http::Request& request) {
    const std::string name = request.path.substr(request.path.rfind('/') + 1);
    const auto gone = std::erase_if(pods, [&](const json& pod) { return pod["metadata"]["name"] == name; });
    return said(gone > 0 ? 200 : 404, json::object());
  }
  std::mutex mutex_;
  std::size_t bound_ = 0;
  std::unique_ptr<http::Server> server_;
};

struct ChurnRig {
  ManualClock clock;
  Log log{"test", LogLevel::off, LogFormat::text};
  Server server{log};
  kube::HttpApi api{server.api(), std::chrono::seconds(10), std::chrono::seconds(10)};
  ChurnOptions options;
  int pauses_left = 1000;

  ChurnRig() {
    options.run = "a1";
    options.pod_namespace = "shop";
    options.pods = 6;
    options.turns = 4;
  }
  Churn make() {
    return Churn(options, api, clock, [this](Duration time) {
      clock.advance(time);
      return --pauses_left > 0;
    });
  }
};

TEST_CASE("test1 creates its pods, waits until they are bound, deletes all, and repeats") {
  ChurnRig rig;
  Churn churn = rig.make();
  REQUIRE(churn.run());
  const ChurnFigures& figures = churn.figures();
  CHECK(figures.turns == 4);
  CHECK(figures.created == 24);
  CHECK(figures.bound == 24);
  CHECK(figures.unbound == 0);
  CHECK(rig.server.most == 6);
  CHECK(rig.server.pods.empty());
  CHECK(figures.pods_of_node.size() == 2);
  CHECK(*std::min_element(figures.bound_after_s.begin(), figures.bound_after_s.end()) == doctest::Approx(0.1));
}

TEST_CASE("test2 keeps a window: it deletes the oldest pod and creates a new one") {
  ChurnRig rig;
  rig.options.driver = ChurnDriver::window;
  Churn churn = rig.make();
  REQUIRE(churn.run());
  CHECK(churn.figures().created == 10);
  CHECK(churn.figures().bound == 10);
  CHECK(rig.server.most == 6);
  REQUIRE(rig.server.pods.size() == 6);
  CHECK(rig.server.pods.front()["metadata"]["name"] == "churn-a1-4");
  CHECK(rig.server.pods.front()["spec"]["schedulerName"] == "wattle");
  CHECK(churn.clear().value() == 0);
  CHECK(rig.server.pods.empty());
}

TEST_CASE("pods without a node are counted after the timeout, and all pods are deleted at the end") {
  ChurnRig rig;
  rig.server.binds = false;
  rig.options.turns = 2;
  rig.options.patience_s = 5;
  Churn churn = rig.make();
  REQUIRE(churn.run());
  CHECK(churn.figures().unbound == 12);
  CHECK(churn.figures().bound == 0);
  CHECK(rig.server.pods.empty());
}

TEST_CASE("a stop removes its own pods only, and a sweep removes those of killed runs") {
  ChurnRig rig;
  rig.server.binds = false;
  rig.pauses_left = 3;
  rig.server.pods.push_back({{"metadata", {{"name", "web"}, {"labels", json::object()}}}, {"spec", json::object()}});
  rig.server.pods.push_back(
      {{"metadata", {{"name", "old"}, {"labels", {{"wattle.dev/churn", "b2"}}}}}, {"spec", json::object()}});
  Churn churn = rig.make();
  REQUIRE(churn.run());
  CHECK(churn.figures().turns <= 1);
  CHECK(churn.clear().value() == 0);
  CHECK(rig.server.pods.size() == 2);
  CHECK(churn.sweep().value() == 0);
  REQUIRE(rig.server.pods.size() == 1);
  CHECK(rig.server.pods[0]["metadata"]["name"] == "web");
}

TEST_CASE("a missing right is reported with the API server's message") {
  ChurnRig rig;
  rig.server.refuse_after = 3;
  Churn churn = rig.make();
  const Status ran = churn.run();
  REQUIRE(!ran);
  CHECK(ran.error().code == Errc::denied);
  CHECK(ran.error().message().find("pods is forbidden") != std::string::npos);
  CHECK(churn.clear().value() == 0);
  CHECK(rig.server.pods.empty());
}

}  // namespace
}  // namespace wattle::sim::live
