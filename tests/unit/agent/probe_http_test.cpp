#include "agent/collect/probe_http.hpp"

#include <doctest/doctest.h>
#include <rapidcheck.h>

using namespace wattle::agent;

TEST_CASE("a request is for one connection and names its host in HTTP's form") {
  const auto request = http_request("web.example", 8080, "/healthz?x=1");
  CHECK(request.starts_with("GET /healthz?x=1 HTTP/1.1\r\nHost: web.example:8080\r\n"));
  CHECK(request.find("\r\nConnection: close\r\n") != std::string::npos);
  CHECK(request.ends_with("\r\n\r\n"));
  CHECK(http_request("::1", 80, "/").find("\r\nHost: [::1]\r\n") != std::string::npos);
}

TEST_CASE("a path that would break the request line is refused") {
  CHECK(valid_http_path("/"));
  CHECK(valid_http_path("/a%20b?c=d"));
  for (const char* bad : {"", "a", "/a b", "/a\r\nX: y", "/\x7f"}) CHECK_FALSE(valid_http_path(bad));
  CHECK_FALSE(valid_http_path("/" + std::string(1024, 'a')));
}

TEST_CASE("an answer is good if its status is below 500, and judged by its first line only") {
  for (const char* good :
       {"HTTP/1.1 200 OK\r\n", "HTTP/1.1 204\r\n", "HTTP/1.0 302 Found\r\nLocation: /", "HTTP/1.1 404 \n"})
    CHECK_MESSAGE(judge_http_answer(good) == HttpAnswer::good, good);
  for (const char* bad :
       {"HTTP/1.1 500 Oops\r\n", "HTTP/1.1 503\r\n", "SSH-2.0-OpenSSH_9.2\r\n", "HTTP/2 200\r\n", "\r\n",
        "HTTP/1.1 20\r\n", "HTTP/1.1 2000 x\r\n", "HTTP/1.1 600 x\r\n", "HTTP/1.1 000 x\r\n", "h"})
    CHECK_MESSAGE(judge_http_answer(bad) == HttpAnswer::bad, bad);
  for (const char* more : {"", "H", "HTTP/1.1 ", "HTTP/1.1 200", "HTTP/1.1 200\r", "HTTP/1.1 500 Internal"})
    CHECK_MESSAGE(judge_http_answer(more) == HttpAnswer::incomplete, more);
}

TEST_CASE("interim answers are skipped, and a head without a status is no answer") {
  CHECK(judge_http_answer("HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n") == HttpAnswer::incomplete);
  CHECK(judge_http_answer("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\n") == HttpAnswer::good);
  CHECK(judge_http_answer("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 500 x\r\n") == HttpAnswer::bad);
  CHECK(judge_http_answer("HTTP/1.1 100 Continue\r\n\r\nnothing\r\n") == HttpAnswer::bad);
  CHECK(judge_http_answer("HTTP/1.1 200 " + std::string(kMaxAnswerHead, 'x')) == HttpAnswer::bad);
}

TEST_CASE("a verdict from the first bytes is not changed by later ones") {
  CHECK(rc::check([](const std::string& tail) {
    const auto cut = *rc::gen::inRange<std::size_t>(0, 24);
    const std::string whole = std::string("HTTP/1.1 200 OK\r\nServer: x").substr(0, cut) + tail;
    HttpAnswer before = HttpAnswer::incomplete;
    for (std::size_t size = 0; size <= whole.size(); ++size) {
      const auto now = judge_http_answer(whole.substr(0, size));
      if (before != HttpAnswer::incomplete) RC_ASSERT(now == before);
      before = now;
    }
  }));
}
