// host_name: a machine's name as a kubelet writes it.
#include "common/host_name.hpp"

#include <doctest/doctest.h>

using namespace wattle;

TEST_CASE("a machine's name has the form of its node's name") {
  CHECK(node_name_of("Worker-01.Example.COM") == "worker-01.example.com");
  CHECK(node_name_of(" WIN2019\n") == "win2019");
  CHECK(node_name_of("node-1.") == "node-1");
  CHECK(node_name_of("node-1.example..") == "node-1.example");
  CHECK(node_name_of("...").empty());
  CHECK(node_name_of("").empty());
  const std::string long_name(64, 'N');  // the longest that Linux accepts
  CHECK(node_name_of(long_name) == std::string(64, 'n'));
  CHECK(host_name() == node_name_of(host_name()));
}
