#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <string>

#include "shim/standby_process.hpp"

using wattle::shim::body_bytes;
using wattle::shim::standby_reply;

namespace {

std::string post(const std::string& path, const std::string& body) {
  return "POST " + path + " HTTP/1.1\r\nHost: 127.0.0.1\r\ncontent-LENGTH: " + std::to_string(body.size()) +
         "\r\n\r\n" + body;
}

std::string body_of(const std::string& reply) { return reply.substr(reply.find("\r\n\r\n") + 4); }

}  // namespace

TEST_CASE("the standby scores no node, passes all nodes, and keeps all victims") {
  CHECK(body_of(standby_reply(post("/prioritize", R"({"Pod":{},"NodeNames":["a","b"]})"))) == "[]");
  const std::string passed = body_of(standby_reply(post("/filter", R"({"Pod":7,"NodeNames":["a","b"]})")));
  CHECK(passed.find(R"("NodeNames":["a","b"])") != std::string::npos);
  const std::string whole = body_of(standby_reply(post("/filter", R"({"Pod":{},"Nodes":{"items":[{"x":1}]}})")));
  CHECK(whole.find(R"({"items":[{"x":1}]})") != std::string::npos);
  const std::string victims = R"({"a":{"Pods":[{"UID":"u1"}],"NumPDBViolations":1}})";
  const std::string kept =
      body_of(standby_reply(post("/preempt", R"({"Pod":{},"NodeNameToMetaVictims":)" + victims + "}")));
  CHECK(kept.find(victims) != std::string::npos);
}

TEST_CASE("the standby refuses every other request with 503, so that a probe detects the hang") {
  for (const std::string& request :
       {std::string("GET /livez HTTP/1.1\r\n\r\n"), std::string("GET /prioritize HTTP/1.1\r\n\r\n"),
        post("/filter", "{}"), post("/preempt", "no JSON"), post("/elsewhere", "{}"), std::string("garbage")}) {
    CAPTURE(request);
    CHECK(standby_reply(request).starts_with("HTTP/1.1 503 "));
  }
}

TEST_CASE("a header announces its body in any letter case; a value that is not a number is ignored") {
  CHECK(body_bytes("POST / HTTP/1.1\r\nContent-Length:  17 \r\n\r\n") == 17);
  CHECK(body_bytes("POST / HTTP/1.1\r\nX-Content-Length: 17\r\n\r\n") == 0);
  CHECK(body_bytes("POST / HTTP/1.1\r\ncontent-length: -1\r\n\r\n") == 0);
  CHECK(rc::check("any bytes get one whole answer", [] {
    const auto bytes = *rc::gen::arbitrary<std::string>();
    const std::string reply = standby_reply(post("/filter", bytes));
    RC_ASSERT(reply.starts_with("HTTP/1.1 "));
    RC_ASSERT(body_bytes(reply) == body_of(reply).size());
  }));
}
