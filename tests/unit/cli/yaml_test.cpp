#include "cli/yaml.hpp"

#include <doctest/doctest.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "common/json/value.hpp"

using namespace wattle::cli;
using Json = wattle::OrderedJson;

TEST_CASE("lists and maps nest by indentation, in order") {
  const auto value = Json::parse(R"({"nodes":[{"name":"b","psi":{"x":null},"l":[]},{"a":[1,[2,3]]}],"e":{}})");
  CHECK(to_yaml(value) ==
        "nodes:\n"
        "  - name: b\n"
        "    psi:\n"
        "      x: null\n"
        "    l: []\n"
        "  - a:\n"
        "      - 1\n"
        "      - - 2\n"
        "        - 3\n"
        "e: {}\n");
}

TEST_CASE("a text that a parser could take for another type is quoted") {
  for (const char* text :
       {"",           "null", "True", "NO", "on", "y",  "1",  "1e3", "0x10", ".inf", "~",  "- a",   "a: b", "a #b",
        "2024-11-21", " a",   "a ",   "*a", "&a", "!a", "%a", "@a",  "`a",   "{a",   "[a", "12:30", "=",    "<<"})
    CHECK_MESSAGE(yaml_text(text).front() == '"', text);
  CHECK(yaml_text("worker-1.local") == "worker-1.local");
  CHECK(yaml_text("no powercap zones") == "no powercap zones");
  CHECK(yaml_text("/sys/class") == "/sys/class");
}

TEST_CASE("quoted texts escape what YAML does not permit") {
  CHECK(yaml_text("a\"b\\c\nd\te\x01") == R"("a\"b\\c\nd\te\x01")");
  CHECK(yaml_text("\xf0\x9f\x98\x80") == R"("\U0001f600")");
  CHECK(yaml_text("\xe2\x80\xa8") == R"("\u2028")");
  CHECK(yaml_text("\xff") == R"("\ufffd")");
}

TEST_CASE("a float keeps its point, so that YAML 1.1 reads it as a number") {
  CHECK(to_yaml(Json(1e-7)) == "1.0e-07\n");
  CHECK(to_yaml(Json(1.5)) == "1.5\n");
  CHECK(to_yaml(Json(2.0)) == "2.0\n");
}

TEST_CASE("PyYAML reads back the written value") {
  if (std::system("python3 -c 'import yaml' 2>/dev/null") != 0) {
    MESSAGE("python3-yaml is not installed: not compared");
    return;
  }
  Json value = Json::parse(R"({"a":[1,-2.5,1e-7,1e22,true,null,"x"],"key: odd":{"on":"off","":[]},"deep":[[[{"k":{}}]]],
                              "big":1732166400000000000,"n":[{"a":1,"b":[{"c":2}]},"- x"]})");
  for (int c = 1; c < 0x250; ++c) {
    std::string text;
    if (c < 0x80)
      text = static_cast<char>(c);
    else
      text = {static_cast<char>(0xC0 | (c >> 6)), static_cast<char>(0x80 | (c & 0x3F))};
    value["texts"].push_back(text);
    value["texts"].push_back("a" + text);
    value["texts"].push_back(text + "b");
  }
  for (const char* text :
       {"\xf0\x9f\x98\x80", "\xe2\x80\xa9", "\xef\xbb\xbf", "\xee\x80\x80", "日本", "yes", "a, b (c)"})
    value["texts"].push_back(text);
  std::string folder = (std::filesystem::temp_directory_path() / "wattle-yaml-XXXXXX").string();
  REQUIRE(::mkdtemp(folder.data()) != nullptr);
  std::ofstream(folder + "/value.json") << value.dump();
  std::ofstream(folder + "/value.yaml") << to_yaml(value);
  const std::string compare =
      "cd '" + folder +
      "' && python3 -c \"import json, yaml; "
      "a = json.load(open('value.json')); b = yaml.safe_load(open('value.yaml', encoding='utf-8')); "
      "assert a == b, [(x, y) for x, y in zip(a['texts'], b['texts']) if x != y]\"";
  CHECK(std::system(compare.c_str()) == 0);
  std::filesystem::remove_all(folder);
}
