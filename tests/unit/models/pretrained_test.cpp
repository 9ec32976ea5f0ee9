#include "models/frozen/pretrained.hpp"

#include <doctest/doctest.h>

#include "models/frozen/layout.hpp"
#include "models/frozen/safetensors.hpp"

using namespace wattle;
using namespace wattle::models;

namespace {

Safetensors some_network() {
  Safetensors model{initial_weights(3), {}};
  model.metadata = {
      {"feature_schema", "abc"}, {"reward", "weighted"}, {"network_sha256", network_digest(model.tensors)}};
  return model;
}

Errc refused(const Safetensors& model) {
  const auto read = parse_pretrained(to_safetensors(model), "x.safetensors", "abc", "weighted");
  REQUIRE_FALSE(read);
  CHECK(read.error().subject.find("x.safetensors") != std::string::npos);
  return read.error().code;
}

}  // namespace

TEST_CASE("a shipped network is read whole, and its digest is that of its weights alone") {
  const Safetensors model = some_network();
  const auto read = parse_pretrained(to_safetensors(model), "x.safetensors", "abc", "weighted");
  if (!read) FAIL(read.error().message());
  CHECK(read->network_sha256 == network_digest(initial_weights(3)));
  for (const auto& [name, tensor] : model.tensors) CHECK(read->weights.at(name).values == tensor.values);
}

TEST_CASE("a network of other features, of another preset or without a certificate is refused with the file's name") {
  Safetensors other = some_network();
  other.metadata["feature_schema"] = "abd";
  CHECK(refused(other) == Errc::conflict);
  other = some_network();
  other.metadata["reward"] = "ee";
  CHECK(refused(other) == Errc::conflict);
  for (const char* key : {"feature_schema", "reward", "network_sha256"}) {
    other = some_network();
    other.metadata.erase(key);
    CHECK(refused(other) == Errc::malformed);
  }
  other = some_network();
  other.tensors.erase("value.weight");
  other.metadata["network_sha256"] = network_digest(other.tensors);
  CHECK(refused(other) == Errc::malformed);
  CHECK(read_pretrained("/nowhere/x.safetensors", "abc", "weighted").error().code == Errc::not_found);
}

TEST_CASE("a single flipped bit anywhere in the file is detected") {
  const std::string bytes = to_safetensors(some_network());
  const std::size_t every = 97;  // of 148,000 bytes; prime, so that all positions within a number occur
  for (std::size_t at = 0; at < bytes.size(); at += every) {
    std::string damaged = bytes;
    damaged[at] = static_cast<char>(damaged[at] ^ (1 << (at % 8)));
    if (parse_pretrained(damaged, "x.safetensors", "abc", "weighted"))
      CHECK(bytes[at] == ' ');  // in the header's padding another blank is equivalent
  }
  for (std::size_t length = 0; length < bytes.size(); length += 1009)
    CHECK_FALSE(parse_pretrained(bytes.substr(0, length), "x.safetensors", "abc", "weighted"));
}
