#include "common/yaml_tree.hpp"

#include <doctest/doctest.h>

#include "common/base64.hpp"
#include "common/json/value.hpp"

using namespace wattle;
using Json = wattle::OrderedJson;

TEST_CASE("YAML's plain scalars have types, and quoted ones are text") {
  const auto read = parse_yaml(
      "a: 1\nb: '1'\nc: true\nd: \"true\"\ne: 1.5\nf:\ng: ~\nh: 200ms\ni: -3\nj: 1.35.4\nk: [x, {y: z}]\nl: +\n", "it");
  REQUIRE(read);
  CHECK(read->at(0) == Json{{"a", 1},
                            {"b", "1"},
                            {"c", true},
                            {"d", "true"},
                            {"e", 1.5},
                            {"f", nullptr},
                            {"g", nullptr},
                            {"h", "200ms"},
                            {"i", -3},
                            {"j", "1.35.4"},
                            {"k", {"x", {{"y", "z"}}}},
                            {"l", "+"}});
}

TEST_CASE("every document of a stream is read, and JSON is YAML") {
  const auto read = parse_yaml("a: 1\n---\n---\n{\"b\": [2, \"x\"]}\n", "it");
  REQUIRE(read);
  REQUIRE(read->size() == 2);
  CHECK(read->at(1)["b"][1] == "x");
  CHECK(parse_yaml("", "it")->empty());
}

TEST_CASE("text that is not YAML, or too large, is an error that names the place") {
  const auto broken = parse_yaml("a: 1\nb: [", "it");
  REQUIRE_FALSE(broken);
  CHECK(broken.error().code == Errc::malformed);
  CHECK(broken.error().subject.starts_with("it:"));
  CHECK(parse_yaml("a: 1\na: 2\n", "it").error().subject == "it:2");
  CHECK_FALSE(parse_yaml("[a]: 1\n", "it"));
  CHECK_FALSE(parse_yaml("a: \xff\n", "it"));
  CHECK_FALSE(parse_yaml(std::string("a\0:\0 \0b\0", 8), "it"));
  CHECK(parse_yaml(std::string(100, '['), "it").error().code != Errc::io);
  CHECK_FALSE(load_yaml("/nonexistent/file.yaml"));
}

TEST_CASE("aliases are followed within a limit") {
  CHECK(parse_yaml("a: &x [1]\nb: *x\n", "it")->at(0)["b"] == Json{1});
  std::string bomb = "a: &a [1, 1, 1, 1, 1, 1, 1, 1, 1, 1]\n";
  for (char c = 'b'; c <= 'j'; ++c) {
    bomb += std::string(1, c) + ": &" + c + " [";
    for (int i = 0; i < 10; ++i) bomb += std::string(i == 0 ? "*" : ", *") + static_cast<char>(c - 1);
    bomb += "]\n";
  }
  CHECK(parse_yaml(bomb, "it").error().code == Errc::out_of_range);
}

TEST_CASE("base64 is decoded only with its padding") {
  CHECK(base64_decode("") == "");
  CHECK(base64_decode("Zg==") == "f");
  CHECK(base64_decode("Zm8=") == "fo");
  CHECK(base64_decode("Zm9vYg==") == "foob");
  CHECK(base64_decode("+/+/") == "\xfb\xff\xbf");
  for (const char* text : {"Z", "Zg=", "Zg", "Zm9v\n", "Zh==", "Z===", "====", "-_-_"}) {
    CAPTURE(text);
    CHECK_FALSE(base64_decode(text));
  }
}
