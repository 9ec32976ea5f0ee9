#include "common/http/hosts.hpp"

#include <doctest/doctest.h>

#include "common/http/access.hpp"

using wattle::http::Hosts;

TEST_CASE("addresses, names without a dot, a cluster's services, the machine and configured names are a server's own") {
  const Hosts hosts({"wattle.example.org", ".lab.example.org"}, "Node7.example.net");
  for (const char* own :
       {"127.0.0.1", "127.0.0.1:8050", "10.0.0.7:9101", "[::1]", "[fd00::7]:8050", "localhost", "localhost:8050",
        "LOCALHOST", "page.localhost:1", "node7", "node7.example.net", "NODE7.example.net.:80",
        "wattle-controller.wattle.svc:8050", "wattle-controller.wattle.svc.cluster.local", "Wattle.Example.org:443",
        "a.lab.example.org", "a.b.lab.example.org"})
    CHECK_MESSAGE(hosts.admit(own), own);
}

TEST_CASE("any other name, and an invalid one, is not a server's own") {
  const Hosts hosts({"wattle.example.org", ".lab.example.org"}, "node7.example.net");
  for (const char* other : {"",
                            ":8050",
                            ".",
                            "..",
                            "evil.example",
                            "evil.example:8050",
                            "127.0.0.1.evil.example",
                            "localhost.evil.example",
                            "svc.evil.example",
                            "wattle.svc.evil.example",
                            "evilwattle.example.org",
                            "a.wattle.example.org",
                            "lab.example.org",
                            "evillab.example.org",
                            "node7.evil.example",
                            "127.0.0.1@evil.example",
                            "[::1",
                            "[::1]evil.example",
                            "[evil.example]",
                            "::1",
                            "localhost:80:80",
                            "localhost:x",
                            "localhost:123456",
                            "a b",
                            "localhost/evil.example",
                            ".localhost"})
    CHECK_FALSE_MESSAGE(hosts.admit(other), other);
}

TEST_CASE("loopback addresses are this machine's, and a name that only starts like one is not") {
  for (const char* own : {"127.0.0.1", "127.9.8.7", "::1"}) CHECK_MESSAGE(wattle::http::is_loopback(own), own);
  for (const char* other : {"127.example.org", "127.0.0.1.example.org", "127.0.0", "10.0.0.1", "::2", "localhost", ""})
    CHECK_FALSE_MESSAGE(wattle::http::is_loopback(other), other);
}
