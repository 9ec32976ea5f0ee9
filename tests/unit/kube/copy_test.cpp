// copy: the changes that it gives its owner add up to the server's state, however late the owner reads.
#include "common/kube/copy.hpp"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <map>

#include "common/json/value.hpp"

namespace wattle::kube {
namespace {

using json = wattle::SortedJson;

json pod_json(const std::string& uid, const std::string& node) {
  return {{"metadata", {{"uid", uid}, {"name", uid + "-name"}}}, {"spec", {{"nodeName", node}}}};
}

struct Owner {
  int woken = 0;
  Copy<Pod> copy{read_pod, [this] { ++woken; }};
  std::map<std::string, std::string> nodes;  // by UID
  void look() {
    for (const auto& change : copy.take()) {
      if (change.now)
        nodes[change.key] = change.now->node_name;
      else
        nodes.erase(change.key);
    }
  }
};

}  // namespace

TEST_CASE("an owner that reads at any times knows the server's state") {
  CHECK(rc::check([] {
    Owner owner;
    std::map<std::string, std::string> server;
    const auto steps = *rc::gen::container<std::vector<std::tuple<int, int, int>>>(
        rc::gen::tuple(rc::gen::inRange(0, 5), rc::gen::inRange(0, 4), rc::gen::inRange(0, 3)));
    for (const auto& [step, pod, node] : steps) {
      const std::string uid = "u" + std::to_string(pod), where = "n" + std::to_string(node);
      if (step == 0) {
        server[uid] = where;
        owner.copy.put(pod_json(uid, where));
      } else if (step == 1) {
        server.erase(uid);
        owner.copy.erase(pod_json(uid, where));
      } else if (step == 2) {
        owner.look();
        RC_ASSERT(owner.nodes == server);
      } else {
        // A list after a time without events; an aborted list does not count.
        owner.copy.begin_list();
        if (step == 4) {
          owner.copy.begin_list();
          server.clear();
          server[uid] = where;
        }
        for (const auto& [each, at] : server) owner.copy.put(pod_json(each, at));
        owner.copy.end_list();
      }
    }
    owner.look();
    RC_ASSERT(owner.nodes == server);
    RC_ASSERT(owner.copy.size() == server.size());
  }));
}

TEST_CASE("a list gives earlier state; a watch gives new events; a repetition gives nothing") {
  Owner owner;
  owner.copy.begin_list();
  owner.copy.put(pod_json("u1", "n1"));
  CHECK(owner.woken == 0);
  owner.copy.end_list();
  CHECK(owner.woken == 1);
  auto changes = owner.copy.take();
  REQUIRE(changes.size() == 1);
  CHECK_FALSE(changes[0].followed);
  json again = pod_json("u1", "n1");
  again["status"]["phase"] = "Running";
  owner.copy.put(again);
  CHECK(owner.copy.take().empty());
  owner.copy.put(pod_json("u2", ""));
  owner.copy.put(pod_json("u2", "n2"));
  changes = owner.copy.take();
  REQUIRE(changes.size() == 1);
  CHECK(changes[0].followed);
  CHECK(changes[0].now->node_name == "n2");
  owner.copy.put(json::object());  // an object without a name is ignored
  owner.copy.erase(pod_json("u9", ""));
  CHECK(owner.copy.take().empty());
}

}  // namespace wattle::kube
