#include "sim/live/extender.hpp"

#include <doctest/doctest.h>

#include "common/json/value.hpp"
#include "sim/live/cgroup_pods.hpp"
#include "sim/world/workload.hpp"

using namespace wattle;
using namespace wattle::sim::live;
using json = wattle::SortedJson;

TEST_CASE("ExtenderArgs have Go names outside, lower camel case in the pod, and names only") {
  placement::PodSpec pod;
  pod.uid = "u-1";
  pod.name = "web-1";
  pod.pod_namespace = "default";
  pod.app = "web";
  pod.request = {0.25, 67108864};
  pod.latency_soft_ms = 20;
  pod.latency_hard_ms = 30.5;
  const json args = json::parse(extender_args(pod, {"a", "b"}));
  CHECK(args["Nodes"].is_null());
  CHECK(args["NodeNames"] == json::array({"a", "b"}));
  const json& metadata = args["Pod"]["metadata"];
  CHECK(metadata["uid"] == "u-1");
  CHECK(metadata["annotations"]["wattle.dev/latency-soft-ms"] == "20");
  CHECK(metadata["annotations"]["wattle.dev/latency-hard-ms"] == "30.5");
  CHECK(metadata["ownerReferences"][0]["kind"] == "ReplicaSet");
  const json& requests = args["Pod"]["spec"]["containers"][0]["resources"]["requests"];
  CHECK(requests["cpu"] == "250m");
  CHECK(requests["memory"] == "67108864");
}

TEST_CASE("priorities are returned in the requested order; missing hosts score 0") {
  const auto scores = parse_priorities(R"([{"Host":"b","Score":10},{"Host":"a","Score":3}])", {"a", "b", "c"});
  REQUIRE(scores);
  CHECK(*scores == std::vector<std::int64_t>{3, 10, 0});
}

TEST_CASE("a request that kube-scheduler would reject is malformed, and the message names it") {
  for (const auto& [body, part] :
       std::vector<std::pair<std::string, std::string>>{{"", "list"},
                                                        {"{}", "list"},
                                                        {"[1]", "Host"},
                                                        {R"([{"Host":"a"}])", "Score"},
                                                        {R"([{"Host":"a","Score":9.5}])", "integer"},
                                                        {R"([{"Host":"a","Score":11}])", "0 to 10"},
                                                        {R"([{"Host":"a","Score":-1}])", "0 to 10"},
                                                        {R"([{"Host":"stranger","Score":1}])", "stranger"}}) {
    const auto scores = parse_priorities(body, {"a"});
    REQUIRE_FALSE(scores);
    CHECK(scores.error().message().find(part) != std::string::npos);
  }
}

TEST_CASE("addresses are http, host and port") {
  const auto address = parse_http_address("http://127.0.0.1:8888/");
  REQUIRE(address);
  CHECK(address->host == "127.0.0.1");
  CHECK(address->port == 8888);
  for (const char* bad : {"", "127.0.0.1:8888", "https://a:1", "http://a", "http://:1", "http://a:0", "http://a:99999"})
    CHECK_FALSE(parse_http_address(bad));
}

TEST_CASE("a marked UID is a UUID that identifies its creator") {
  const std::string uid = marked_pod_uid(0xabcdef, 32767, 70'000);
  CHECK(uid.size() == 36);
  CHECK(process_of_marked_uid(uid) == 32767);
  CHECK(process_of_marked_uid("77617474_6c65_4001_8002_000000ff0001") == 255);
  CHECK(process_of_marked_uid("0f7c6a52-3c55-4c6f-9d0e-0b2a5f7a3c11") == 0);
  CHECK(process_of_marked_uid("77617474-6c65-4001-8002-zzzzzzzz0001") == 0);
  CHECK(process_of_marked_uid("") == 0);
}

TEST_CASE("the cgroup2 mount is found beside version 1 mounts, and its absence is reported") {
  const auto mount = find_cgroup2_mount(
      "cgroup /sys/fs/cgroup/cpu cgroup rw,cpu 0 0\ncgroup2 /sys/fs/cgroup/unified cgroup2 rw 0 0\n");
  REQUIRE(mount);
  CHECK(*mount == "/sys/fs/cgroup/unified");
  CHECK(find_cgroup2_mount("proc /proc proc rw 0 0\n").error().code == Errc::not_found);
}
