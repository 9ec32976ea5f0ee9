// static_pods: a pod's annotation gives it the UID of a static pod only if no other pod can have that UID, in any order
// of events.
#include "common/kube/static_pods.hpp"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <map>

#include "common/json/value.hpp"

namespace wattle::kube {
namespace {

using json = wattle::SortedJson;

constexpr const char* kHash = "0123abcd0123abcd0123abcd0123abcd";

json plain_pod(const std::string& uid, const std::string& node) {
  return {{"metadata", {{"uid", uid}, {"name", uid + "-name"}}}, {"spec", {{"nodeName", node}}}};
}

// A mirror pod as a kubelet writes it.
json mirror_pod(const std::string& uid, const std::string& node, const std::string& claimed,
                const std::string& created = "2026-01-01T00:00:00Z") {
  json pod = plain_pod(uid, node);
  pod["metadata"]["creationTimestamp"] = created;
  pod["metadata"]["annotations"] = {{"kubernetes.io/config.mirror", claimed}, {"kubernetes.io/config.source", "file"}};
  pod["metadata"]["ownerReferences"] = {
      {{"apiVersion", "v1"}, {"kind", "Node"}, {"name", node}, {"uid", node + "-uid"}, {"controller", true}}};
  return pod;
}

Change<Node> node(const std::string& name, const std::string& uid) {
  auto made = std::make_shared<Node>();
  made->name = name;
  made->uid = uid;
  return {name, made, false};
}

// The pods that an owner knows, by their effective UID.
struct Known {
  StaticPods pods;
  std::map<std::string, std::string> names;
  std::vector<std::string> released;

  explicit Known(const std::vector<Change<Node>>& nodes = {node("n1", "n1-uid"), node("n2", "n2-uid")}) {
    take(nodes, {});
  }
  void take(const std::vector<Change<Node>>& nodes, const std::vector<Change<Pod>>& changes) {
    const ResolvedPods news = pods.resolve(nodes, changes);
    released = news.released;
    for (const std::string& uid : news.released) names.erase(uid);
    for (const Change<Pod>& change : news.pods)
      if (!change.now) names.erase(change.key);
    for (const Change<Pod>& change : news.pods) {
      if (!change.now) continue;
      CHECK(change.key == change.now->uid);
      names[change.key] = change.now->name;
    }
  }
  void put(const json& object) {
    auto pod = std::make_shared<const Pod>(read_pod(object));
    const std::string key = key_of(*pod);
    take({}, {{key, std::move(pod), true}});
  }
  void erase(const std::string& uid) { take({}, {{uid, nullptr, true}}); }
};

using Names = std::map<std::string, std::string>;

}  // namespace

TEST_CASE("a mirror pod has the UID of its static pod; the object alone keeps the API server's UID") {
  const Pod read = read_pod(mirror_pod("m1", "n1", kHash));
  CHECK(read.uid == "m1");
  CHECK(read.mirror.uid == kHash);
  CHECK(read.daemonset);
  Known known;
  known.put(mirror_pod("m1", "n1", kHash));
  CHECK(known.names == Names{{kHash, "m1-name"}});
  known.erase("m1");
  CHECK(known.names.empty());
  CHECK(known.released == std::vector<std::string>{kHash});  // the kubelet may create the mirror again
  known.put(mirror_pod("m2", "n1", kHash));
  CHECK(known.names == Names{{kHash, "m2-name"}});
}

TEST_CASE("an annotation that no kubelet wrote is ignored") {
  const auto claimed = [](auto change) {
    json pod = mirror_pod("m1", "n1", kHash);
    change(pod);
    return read_pod(pod).mirror.uid;
  };
  CHECK(claimed([](json&) {}) == kHash);
  CHECK(claimed([](json& pod) { pod["metadata"].erase("ownerReferences"); }).empty());
  CHECK(claimed([](json& pod) { pod["metadata"]["ownerReferences"] = "Node"; }).empty());
  CHECK(claimed([](json& pod) { pod["metadata"]["ownerReferences"][0]["name"] = "n2"; }).empty());
  CHECK(claimed([](json& pod) { pod["metadata"]["ownerReferences"][0]["kind"] = "ReplicaSet"; }).empty());
  CHECK(claimed([](json& pod) { pod["metadata"]["ownerReferences"][0].erase("controller"); }).empty());
  CHECK(claimed([](json& pod) { pod["spec"]["nodeName"] = ""; }).empty());
  CHECK(claimed([](json& pod) { pod["metadata"]["annotations"]["kubernetes.io/config.source"] = "api"; }).empty());
  CHECK(claimed([](json& pod) { pod["metadata"]["annotations"]["kubernetes.io/config.mirror"] = 7; }).empty());
  CHECK(claimed([](json& pod) {
          pod["metadata"]["annotations"]["kubernetes.io/config.mirror"] = std::string(257, 'a');
        }).empty());
  // Annotations alone do not make a pod static.
  json pod = mirror_pod("m1", "n1", kHash);
  pod["metadata"].erase("ownerReferences");
  CHECK_FALSE(read_pod(pod).daemonset);
}

TEST_CASE(
    "the controlling Node of a mirror pod is identified by the API server's UID; it may appear later, and leave") {
  Known known{std::vector<Change<Node>>{}};
  known.put(mirror_pod("m1", "n1", kHash));
  CHECK(known.names == Names{{"m1", "m1-name"}});
  known.take({node("n1", "another")}, {});
  CHECK(known.names == Names{{"m1", "m1-name"}});
  known.take({node("n1", "n1-uid")}, {});
  CHECK(known.names == Names{{kHash, "m1-name"}});
  known.take({{"n1", nullptr, true}}, {});
  CHECK(known.names == Names{{"m1", "m1-name"}});
}

TEST_CASE("the UID of another pod is never taken over, in either order, nor after that pod has ended") {
  for (const bool forged_first : {false, true}) {
    CAPTURE(forged_first);
    Known known;
    if (!forged_first) known.put(plain_pod("victim", "n1"));
    known.put(mirror_pod("forged", "n1", "victim"));
    if (forged_first) known.put(plain_pod("victim", "n1"));
    CHECK(known.names == Names{{"victim", "victim-name"}, {"forged", "forged-name"}});
    // Earlier facts about the UID are dropped.
    CHECK(known.released == (forged_first ? std::vector<std::string>{"victim"} : std::vector<std::string>{}));
    known.erase("victim");
    CHECK(known.names == Names{{"forged", "forged-name"}});
    known.put(mirror_pod("forged", "n1", "victim", "2026-01-02T00:00:00Z"));
    known.put(mirror_pod("again", "n2", "victim"));
    CHECK(known.names == Names{{"forged", "forged-name"}, {"again", "again-name"}});
  }
  // After a restart, the UID of a pod that ended earlier and is in no list; a kubelet creates the mirror of its static
  // pod again.
  for (const bool forged : {true, false}) {
    CAPTURE(forged);
    Known known;
    known.pods.recall(forged ? "victim" : kHash, forged ? "shop" : "kube-system");
    json pod = mirror_pod("m1", "n1", forged ? "victim" : kHash);
    pod["metadata"]["namespace"] = forged ? "tenant" : "kube-system";
    known.put(pod);
    CHECK(known.names == Names{{forged ? "m1" : kHash, "m1-name"}});
  }
  // Both in one list.
  Known known;
  std::vector<Change<Pod>> both;
  for (const json& object : {mirror_pod("forged", "n1", "victim"), plain_pod("victim", "n1")})
    both.push_back(
        {object["metadata"]["uid"].get<std::string>(), std::make_shared<const Pod>(read_pod(object)), false});
  known.take({}, both);
  CHECK(known.names == Names{{"victim", "victim-name"}, {"forged", "forged-name"}});
}

TEST_CASE("the older of two mirror pods with one UID has it, in either order") {
  for (const bool forged_first : {false, true}) {
    CAPTURE(forged_first);
    Known known;
    if (!forged_first) known.put(mirror_pod("m1", "n1", kHash));
    known.put(mirror_pod("forged", "n1", kHash, "2026-01-01T00:00:01Z"));
    if (forged_first) known.put(mirror_pod("m1", "n1", kHash));
    CHECK(known.names == Names{{kHash, "m1-name"}, {"forged", "forged-name"}});
  }
}

TEST_CASE("a static pod's UID stays in its namespace while its mirror pod is deleted and created again") {
  const auto in_namespace = [](json pod, const char* name) {
    pod["metadata"]["namespace"] = name;
    return pod;
  };
  Known known;
  known.put(in_namespace(mirror_pod("m1", "n1", kHash), "kube-system"));
  known.put(in_namespace(mirror_pod("forged", "n1", kHash, "2026-01-01T00:00:01Z"), "tenant"));
  known.erase("m1");
  CHECK(known.names == Names{{"forged", "forged-name"}});
  known.put(in_namespace(mirror_pod("m2", "n1", kHash, "2026-01-01T00:00:02Z"), "kube-system"));
  CHECK(known.names == Names{{kHash, "m2-name"}, {"forged", "forged-name"}});
}

TEST_CASE("a mirror pod that claims its own UID, or a mirror's, keeps its own UID") {
  Known known;
  known.put(mirror_pod("own", "n1", "own"));
  CHECK(known.names == Names{{"own", "own-name"}});
  known.put(mirror_pod("m1", "n1", kHash));
  known.put(mirror_pod("m2", "n1", "m1"));
  CHECK(known.names == Names{{"own", "own-name"}, {kHash, "m1-name"}, {"m2", "m2-name"}});
}

TEST_CASE("no order of events gives one UID to two pods, or a pod's UID to another") {
  CHECK(rc::check([] {
    Known known{std::vector<Change<Node>>{}};
    std::map<std::string, json> server;
    const auto steps = *rc::gen::container<std::vector<std::tuple<int, int, int>>>(
        rc::gen::tuple(rc::gen::inRange(0, 5), rc::gen::inRange(0, 5), rc::gen::inRange(0, 7)));
    for (const auto& [step, which, claim] : steps) {
      const std::string uid = "u" + std::to_string(which), claimed = "u" + std::to_string(claim);
      if (step == 0) {
        server[uid] = plain_pod(uid, "n1");
      } else if (step == 1) {
        server[uid] = mirror_pod(uid, "n1", claimed, std::to_string(claim + which));
      } else if (step == 2) {
        server.erase(uid);
        known.erase(uid);
        continue;
      } else {
        known.take({node("n1", step == 3 ? "n1-uid" : "another")}, {});
        continue;
      }
      known.put(server[uid]);
    }
    RC_ASSERT(known.names.size() == server.size());
    for (const auto& [uid, name] : known.names)
      if (server.contains(uid)) RC_ASSERT(name == uid + "-name");
  }));
}

}  // namespace wattle::kube
