// keys: CURVE key pairs, and the allow list with the role and name of each key.
// Source   key files written by `wattle keys new`; the allow list file "<Z85 public key> <role> <name>", '#' comments
// Units    keys are Z85 text, 40 characters
// Errors   not_found, denied (a secret that others may read), malformed (names file and line)
// Threads  values; AllowList single owner
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "common/result.hpp"

namespace wattle::transport {

// Maximum size of a key file or allow list.
inline constexpr std::size_t kMaxKeyFileBytes = 16 << 20;

enum class Role : std::uint8_t { agent, shim, reader, operator_ };
std::string_view to_string(Role role);
Result<Role> parse_role(std::string_view text);

// Role and name of a key's owner. Travels in ZAP's metadata as "role/name".
struct Identity {
  Role role = Role::reader;
  std::string name;  // for an agent, its node
  std::string user_id() const;
  bool operator==(const Identity&) const = default;
  static std::optional<Identity> from_user_id(std::string_view user_id);
};

struct KeyPair {
  std::string public_key;
  std::string secret_key;
  static KeyPair generate();
  // Reads "public-key: ...\nsecret-key: ...\n". Errors name `source`.
  static Result<KeyPair> parse(std::string_view text, const std::string& source);
  // Reads a file of mode 0400; denied if group or others may read it.
  static Result<KeyPair> load(const std::string& path);
  Status save(const std::string& path) const;
  std::string text() const;  // content of the file; secret
};

// Reads a public key as people exchange it: one line of Z85.
Result<std::string> load_public_key(const std::string& path);

// Public keys of the server as clients keep them: the current one and, during a rotation, the next one on a second
// line.
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
  // Text of the file; parse(text()) gives the same list.
  std::string text() const;

 private:
  std::map<std::string, Identity, std::less<>> by_key_;
};

}  // namespace wattle::transport
