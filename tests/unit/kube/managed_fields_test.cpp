#include "common/kube/managed_fields.hpp"

#include <doctest/doctest.h>

#include <string>

#include "common/json/value.hpp"

using namespace wattle;
using kube::without_fields;

TEST_CASE("the fields of managers are removed, and their names stay") {
  CHECK(without_fields(R"({"metadata":{"managedFields":[)"
                       R"({"manager":"a","fieldsV1":{"f:spec":{"k:{\"uid\":\"}{\"}":{".":{}}}},"operation":"Update"},)"
                       R"({"manager":"b","fieldsV1":{}}],"name":"x"}})") ==
        R"({"metadata":{"managedFields":[{"manager":"a","fieldsV1":null,"operation":"Update"},)"
        R"({"manager":"b","fieldsV1":null}],"name":"x"}})");
}

TEST_CASE("the same text inside a string, or at the end of another key, is kept") {
  for (const std::string text : {R"({"a":"\"fieldsV1\":{","b":1})", R"({"x\"fieldsV1":{"b":1}})", R"({"fieldsV1":1})",
                                 R"({"fieldsV1":"{"})", R"({})", ""}) {
    CAPTURE(text);
    CHECK(without_fields(text) == text);
  }
}

TEST_CASE("a truncated object is left unchanged, so that the parser refuses it") {
  for (const std::string text :
       {R"({"fieldsV1":{)", R"({"fieldsV1":{"a":{})", R"({"fieldsV1":{"a\)", R"({"fieldsV1":{"})"}) {
    CAPTURE(text);
    CHECK(without_fields(text) == text);
    CHECK(SortedJson::read(without_fields(text), {1 << 20, 1 << 20}).is_discarded());
  }
}
