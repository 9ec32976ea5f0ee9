#include "shim/plugin_wire.hpp"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <fstream>
#include <map>
#include <sstream>

#include "tests/places.hpp"

using namespace wattle;
using namespace wattle::shim;

namespace {

// The frames that scheduler/link/codec_test.go reads too.
std::map<std::string, std::string> golden() {
  std::map<std::string, std::string> found;
  std::ifstream file(tests::source_dir() + "/tests/fixtures/plugin/messages.txt");
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string name, digits;
    words >> name >> digits;
    if (name == "#") continue;
    for (std::size_t i = 0; i + 1 < digits.size(); i += 2)
      found[name] += static_cast<char>(std::stoi(digits.substr(i, 2), nullptr, 16));
  }
  return found;
}

std::string message_of(const std::string& frame) { return frame.substr(kPluginLengthBytes); }

std::string refused(const std::string& message) {
  const auto request = decode_plugin_request(message);
  REQUIRE_FALSE(request);
  return request.error().message();
}

bool mentions(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("the plugin's golden requests are readable") {
  const auto frames = golden();
  REQUIRE(frames.size() == 5);
  for (const auto& [name, frame] : frames) CHECK(*plugin_length(frame) == frame.size() - kPluginLengthBytes);

  const auto nodes = decode_plugin_request(message_of(frames.at("nodes_wanted")));
  REQUIRE(nodes);
  CHECK(std::get<NodesWanted>(*nodes).request_id == 7);
  CHECK(std::get<NodesWanted>(*nodes).cpu_request_cores == 0.25);
  CHECK(std::get<NodesWanted>(*nodes).most == 100);

  const auto scores = decode_plugin_request(message_of(frames.at("scores_wanted")));
  REQUIRE(scores);
  const auto& wanted = std::get<ScoresWanted>(*scores);
  CHECK(wanted.request_id == 300);
  CHECK(wanted.pod.starts_with(R"({"metadata":{"name":"web")"));
  CHECK(wanted.candidates == std::vector<std::string>{"a", "node-with-a-name-of-more-than-31-bytes"});
}

TEST_CASE("answers equal the golden bytes") {
  const auto frames = golden();
  CHECK(encode_nodes(7, std::vector<std::string>{"a", "b"}) == frames.at("nodes"));
  CHECK(encode_scores(300, std::vector<std::int64_t>{10, 0, 4}) == frames.at("scores"));
  std::string other = message_of(frames.at("nodes_wanted"));
  other[1] = 9;
  const auto request = decode_plugin_request(other);
  REQUIRE_FALSE(request);
  CHECK(encode_plugin_refusal(request.error()) == frames.at("refusal"));
}

TEST_CASE("an invalid request is refused with the field's name") {
  using namespace std::string_literals;
  CHECK(mentions(refused(""), "ends too early"));
  CHECK(mentions(refused("\x92\x01\x01"s), "version, kind and request_id"));
  CHECK(mentions(refused("\x93\x01\x02\x07"s), "kind: is 2"));
  CHECK(mentions(refused("\x93\x01\xa1\x41\x07"s), "kind: is not a positive number"));
  CHECK(mentions(refused("\x94\x01\x01\x07\xcb\x7f\xf0\x00\x00\x00\x00\x00\x00"s), "cpu_request_cores"));
  CHECK(mentions(refused("\x95\x01\x03\x07\xa2{}\x92\xa1\x61\x05"s), "candidates[1]"));
  CHECK(mentions(refused("\x95\x01\x03\x07\xa2{}\xdd\xff\xff\xff\xff"s), "candidates"));
  CHECK(mentions(refused("\x95\x01\x03\x07\xa2{}\x91\xa1\xff"s), "candidates[0]"));
  CHECK(mentions(refused("\x93\x01\x01\x07\x00"s), "after its end"));
}

TEST_CASE("fields of a newer plugin are skipped, and missing ones have their defaults") {
  using namespace std::string_literals;
  const auto newer = decode_plugin_request("\x96\x01\x01\x07\x02\x05\x92\x01\xa1x"s);
  REQUIRE(newer);
  CHECK(std::get<NodesWanted>(*newer).most == 5);
  const auto older = decode_plugin_request("\x93\x01\x03\x07"s);
  REQUIRE(older);
  CHECK(std::get<ScoresWanted>(*older).candidates.empty());
}

TEST_CASE("a frame is 1 byte to 4 MiB long") {
  using namespace std::string_literals;
  CHECK(*plugin_length("\x00\x40\x00\x00"s) == 4U << 20);
  CHECK_FALSE(plugin_length("\x00\x40\x00\x01"s));
  CHECK_FALSE(plugin_length("\xff\xff\xff\xff"s));
  CHECK_FALSE(plugin_length("\x00\x00\x00\x00"s));
}

TEST_CASE("a request with changed bytes is parsed or refused") {
  const auto frames = golden();
  CHECK(rc::check([&](bool first, std::uint8_t byte) {
    std::string message = message_of(frames.at(first ? "nodes_wanted" : "scores_wanted"));
    message[*rc::gen::inRange<std::size_t>(0, message.size())] = static_cast<char>(byte);
    message.resize(*rc::gen::inRange<std::size_t>(0, message.size() + 1));
    const auto request = decode_plugin_request(message);
    RC_ASSERT(request || !request.error().subject.empty());
  }));
}
