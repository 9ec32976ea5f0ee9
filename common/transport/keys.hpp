// keys: CURVE key pairs and the allow list that says whose key may do what.
// Source   key files made by `wattle keys new`; the allow list file "<Z85 public key> <role> <name>", '#' comments
// Units    keys are Z85 text, 40 characters
// Errors   not_found, denied (a secret that others may read), malformed (names file and line)
// Threads  values; AllowList single owner
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/result.hpp"

namespace wattle::transport {

// A file of keys, or a list of them, that is larger is none.
inline constexpr std::size_t kMaxKeyFileBytes = 16 << 20;

enum class Role : std::uint8_t { agent, shim, reader, operator_ };
std::string_view to_string(Role role);
Result<Role> parse_role(std::string_view text);

// Who a key speaks for. It travels in ZAP's metadata as "role/name".
struct Identity {
  Role role = Role::reader;
  std::string name;  // of the node for an agent
  std::string user_id() const;
  bool operator==(const Identity&) const = default;
  static std::optional<Identity> from_user_id(std::string_view user_id);
};

struct KeyPair {
  std::string public_key;
  std::string secret_key;
  static KeyPair generate();
  // A file "public-key: ...\nsecret-key: ...\n", mode 0400; refused when group or others may read it.
  static Result<KeyPair> load(const std::string& path);
  Status save(const std::string& path) const;
  std::string text() const;  // what the file holds: a secret
};

// A public key as people pass it on: one line, Z85.
Result<std::string> load_public_key(const std::string& path);

// The server's public keys as clients keep them: its present one and, on a second line while keys are rotated, the one
// that it will have.
struct ServerKeys {
  std::string current;
  std::string next;  // empty: none
};
Result<ServerKeys> load_server_keys(const std::string& path);

class AllowList {
 public:
  static Result<AllowList> load(const std::string& path);
  static Result<AllowList> parse(std::string_view text, const std::string& name);
  void allow(const std::string& public_key, Identity identity);
  const Identity* find(std::string_view public_key) const;
  std::size_t size() const { return by_key_.size(); }
  const std::map<std::string, Identity, std::less<>>& entries() const { return by_key_; }
  // As the file has it; parse(text()) gives the same list.
  std::string text() const;

 private:
  std::map<std::string, Identity, std::less<>> by_key_;
};

}  // namespace wattle::transport
