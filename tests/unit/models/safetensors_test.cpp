#include "models/frozen/safetensors.hpp"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <cstring>
#include <limits>

#include "observations.hpp"

namespace wattle::models {

using namespace test;

namespace {

std::string file(const std::string& header, std::size_t data_bytes) {
  const std::uint64_t length = header.size();
  std::string bytes(8, '\0');
  std::memcpy(bytes.data(), &length, 8);
  return bytes + header + std::string(data_bytes, '\0');
}

std::string message(const std::string& bytes) {
  const auto parsed = parse_safetensors(bytes, "odd.safetensors");
  REQUIRE_FALSE(parsed);
  CHECK(parsed.error().subject == "odd.safetensors");
  return parsed.error().message();
}

std::string entry(const std::string& offsets, const std::string& shape = "[1]", const std::string& dtype = "F32") {
  return R"({"dtype":")" + dtype + R"(","shape":)" + shape + R"(,"data_offsets":)" + offsets + "}";
}

}  // namespace

TEST_CASE("tensors and metadata survive a round trip, and equal content gives equal bytes") {
  CHECK(rc::check([] {
    Random random(*rc::gen::arbitrary<std::uint64_t>());
    Safetensors content{initial_weights(random()), {{"step", "12"}, {"note", "quotes \" and \n lines"}}};
    content.tensors["scalar"] = {{}, {std::numeric_limits<float>::denorm_min()}};
    content.tensors["empty"] = {{3, 0}, {}};
    const std::string bytes = to_safetensors(content);
    const auto back = parse_safetensors(bytes, "test");
    RC_ASSERT(back.has_value());
    RC_ASSERT(back->metadata == content.metadata);
    RC_ASSERT(back->tensors.size() == content.tensors.size());
    for (const auto& [name, tensor] : content.tensors) {
      RC_ASSERT(back->tensors.at(name).shape == tensor.shape);
      RC_ASSERT(back->tensors.at(name).values == tensor.values);
    }
    RC_ASSERT(to_safetensors(*back) == bytes);
  }));
}

TEST_CASE("a file truncated at any point is refused") {
  const std::string bytes = to_safetensors({{{"a", {{2, 2}, {1, 2, 3, 4}}}, {"b", {{1}, {5}}}}, {{"k", "v"}}});
  REQUIRE(parse_safetensors(bytes, "whole"));
  for (std::size_t size = 0; size < bytes.size(); ++size) CHECK_FALSE(message(bytes.substr(0, size)).empty());
  CHECK(message(bytes + "x").find("1 bytes after the last tensor") != std::string::npos);
}

TEST_CASE("random bytes are refused or read") {
  CHECK(rc::check([] {
    const auto bytes = *rc::gen::container<std::string>(rc::gen::arbitrary<char>());
    const auto parsed = parse_safetensors(bytes, "random");
    if (!parsed) RC_ASSERT(parsed.error().subject == "random");
  }));
}

TEST_CASE("a header that contradicts itself or its data is refused by the tensor's name") {
  CHECK(message(file("[]", 0)).find("JSON object") != std::string::npos);
  CHECK(message(file("{", 0)).find("JSON object") != std::string::npos);
  CHECK(message(file(std::string((1U << 20U) + 1, ' '), 0)).find("1 MiB") != std::string::npos);
  CHECK(message(file("{\"a\":" + entry("[0,4]") + ",\"a\":" + entry("[0,4]") + "}", 4)).find("distinct keys") !=
        std::string::npos);
  CHECK(message(file("{\"a\":" + entry("[0,4]", "[1]", "F16") + "}", 4)).find("tensor a: dtype is not F32") !=
        std::string::npos);
  CHECK(message(file("{\"a\":" + entry("[0,8]") + "}", 8)).find("tensor a: data_offsets do not match") !=
        std::string::npos);
  CHECK(message(file("{\"a\":" + entry("[4,0]") + "}", 4)).find("tensor a: data_offsets do not match") !=
        std::string::npos);
  CHECK(message(file("{\"a\":" + entry("[4,8]") + "}", 8)).find("tensor a: leaves a gap") != std::string::npos);
  CHECK(message(file("{\"a\":" + entry("[0,4]") + ",\"b\":" + entry("[0,4]") + "}", 4)).find("overlaps") !=
        std::string::npos);
  CHECK(message(file("{\"a\":" + entry("[0,4]") + "}", 3)).find("tensor a: reaches beyond the end") !=
        std::string::npos);
  CHECK(message(file("{\"a\":" + entry("[0,4]", "[-1]") + "}", 4)).find("tensor a: shape") != std::string::npos);
  CHECK(message(file("{\"a\":" + entry("[0,4]", "[4294967296,4294967296,4294967296]") + "}", 4)).find("too large") !=
        std::string::npos);
  CHECK(message(file("{\"a\":" + entry("[0,18446744073709551612]", "[4611686018427387903]") + "}", 4))
            .find("too large") != std::string::npos);
  CHECK(message(file("{\"a\":" + entry("[0,4.0]") + "}", 4)).find("not [begin, end]") != std::string::npos);
  CHECK(message(file("{\"a\":{\"dtype\":\"F32\"}}", 4)).find("tensor a: must have") != std::string::npos);
  CHECK(message(file(R"({"__metadata__":{"k":1}})", 0)).find("__metadata__ k") != std::string::npos);
}

}  // namespace wattle::models
