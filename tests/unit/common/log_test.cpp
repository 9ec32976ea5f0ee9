#include "common/log.hpp"

#include "common/json/value.hpp"
#include "log_lines.hpp"

using namespace wattle;

using wattle::test::lines_of;

TEST_CASE("a JSON line is one object with time, level, program, event and typed fields") {
  const auto lines = lines_of([] {
    const Log log("wattle-test", LogLevel::info, LogFormat::json);
    log.info("test.happened", "it \"happened\"",
             {{"n", 3}, {"w", 1.5}, {"ok", true}, {"who", "a\nb"}, {"error", Error{Errc::denied, "x", "no", ""}}});
    log.debug("test.hidden", "not this");
    log.warn("test.bytes", "bytes", {{"text", std::string("\xff\xfe")}});
  });
  REQUIRE(lines.size() == 2);
  const auto first = wattle::SortedJson::parse(lines[0]);
  CHECK(first["level"] == "info");
  CHECK(first["program"] == "wattle-test");
  CHECK(first["event"] == "test.happened");
  CHECK(first["message"] == "it \"happened\"");
  CHECK(first["n"] == 3);
  CHECK(first["w"] == 1.5);
  CHECK(first["ok"] == true);
  CHECK(first["who"] == "a\nb");
  CHECK(first["error"] == "denied: x: no");
  CHECK(first["time"].get<std::string>().size() == std::string("2026-01-01T00:00:00.000Z").size());
  CHECK(wattle::SortedJson::parse(lines[1])["level"] == "warn");
}

TEST_CASE("a text line has the event and its fields, quoted if they contain blanks") {
  const auto lines = lines_of([] {
    const Log log("wattle-test", LogLevel::warn, LogFormat::text);
    log.error("test.event", "a message", {{"a", "x"}, {"b", "x y"}, {"c", ""}, {"d", 7}});
    log.info("test.hidden", "not this");
  });
  REQUIRE(lines.size() == 1);
  CHECK(lines[0].find("test.event: a message  a=x  b=\"x y\"  c=\"\"  d=7") != std::string::npos);
}

TEST_CASE("a peer's text in a field moves no cursor, starts no line and reverses no text") {
  const std::string hostile =
      "a\x1b[2J\nb\xe2\x80\xae"
      "c\xe2\x80\x8b"
      "d\x7f\xff";
  const auto text = lines_of([&] {
    Log("p", LogLevel::info, LogFormat::text).info("test.event", hostile, {{"who", hostile}});
  });
  REQUIRE(text.size() == 1);
  CHECK(text[0].find("a?[2J?b?c?d?\xef\xbf\xbd") != std::string::npos);
  CHECK(text[0].find("who=a?[2J\\nb?c?d?\xef\xbf\xbd") != std::string::npos);
  const auto json = lines_of([&] {
    Log("p", LogLevel::info, LogFormat::json).info("test.event", "x", {{"who", hostile}});
  });
  REQUIRE(json.size() == 1);
  CHECK(json[0].find("a\\u001b[2J\\nb\\u202ec\\u200bd\\u007f\\ufffd") != std::string::npos);
}

TEST_CASE("a silent log writes nothing, and standard error that is not a terminal gets JSON") {
  CHECK(lines_of([] { Log::silent().error("test.event", "x"); }).empty());
  const auto lines = lines_of([] { Log("p", LogLevel::debug, LogFormat::automatic).debug("test.event", "x"); });
  REQUIRE(lines.size() == 1);
  CHECK(wattle::SortedJson::parse(lines[0])["event"] == "test.event");
}

TEST_CASE("levels and formats are parsed by name") {
  CHECK(parse_log_level("warn").value() == LogLevel::warn);
  CHECK(parse_log_level("loud").error().fix == "use debug, info, warn, error or off");
  CHECK(parse_log_format("json").value() == LogFormat::json);
  CHECK_FALSE(parse_log_format("xml"));
}
