#include "common/transport/keys.hpp"

#include <sys/stat.h>
#include <zmq.h>

#include <algorithm>
#include <array>
#include <cassert>
#include <cerrno>

#include "common/dir.hpp"
#include "common/parse.hpp"
#include "common/trusted_file.hpp"

namespace wattle::transport {

namespace {
constexpr std::size_t kKeyCharacters = 40;
constexpr std::array<std::pair<Role, std::string_view>, 4> kRoleNames{
    {{Role::agent, "agent"}, {Role::shim, "shim"}, {Role::reader, "reader"}, {Role::operator_, "operator"}}};

bool is_key(std::string_view text) {
  if (text.size() != kKeyCharacters) return false;
  std::array<std::uint8_t, 32> raw{};
  return zmq_z85_decode(raw.data(), std::string(text).c_str()) != nullptr;
}

bool is_name(std::string_view text) {
  const auto fine = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '-' ||
           c == '_';
  };
  return !text.empty() && text.size() <= 253 && std::all_of(text.begin(), text.end(), fine);
}

Result<File> open_at(const std::string& path) {
  auto file = open_file(path);
  if (!file && file.error().code == Errc::not_found) file.error().fix = "create a key pair with `wattle keys new`";
  return file;
}

// Value after "name:" on its own line.
std::string_view value_of(std::string_view text, std::string_view name) {
  std::string_view found;
  parse::for_each_line(text, [&](std::string_view line) {
    if (line.starts_with(name) && line.size() > name.size() && line[name.size()] == ':')
      found = parse::trim(line.substr(name.size() + 1));
  });
  return found;
}

}  // namespace

std::string_view to_string(Role role) {
  for (const auto& [known, name] : kRoleNames)
    if (known == role) return name;
  return "unknown";
}

Result<Role> parse_role(std::string_view text) {
  for (const auto& [role, name] : kRoleNames)
    if (name == text) return role;
  return fail(Errc::malformed, "role", "'" + std::string(text) + "' is unknown", "use agent, shim, reader or operator");
}

std::string Identity::user_id() const { return std::string(to_string(role)) + "/" + name; }

std::optional<Identity> Identity::from_user_id(std::string_view user_id) {
  const auto slash = user_id.find('/');
  if (slash == std::string_view::npos) return std::nullopt;
  const auto role = parse_role(user_id.substr(0, slash));
  const auto name = user_id.substr(slash + 1);
  if (!role || !is_name(name)) return std::nullopt;
  return Identity{*role, std::string(name)};
}

KeyPair KeyPair::generate() {
  const auto plain = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9'); };
  std::array<char, kKeyCharacters + 1> public_key{};
  std::array<char, kKeyCharacters + 1> secret_key{};
  // Z85 includes '@', '-' and similar characters; a leading letter or digit keeps the key a plain word in YAML.
  do {
    const int rc = zmq_curve_keypair(public_key.data(), secret_key.data());
    assert(rc == 0 && "libzmq was built without CURVE");
    if (rc != 0) return {};
  } while (!plain(public_key[0]));
  return {public_key.data(), secret_key.data()};
}

Result<KeyPair> KeyPair::load(const std::string& path) {
  WATTLE_TRY(const File file, open_at(path));
  struct stat info {};
  if (::fstat(file.fd(), &info) != 0) return fail_errno(errno, path);
  WATTLE_CHECK(check_secret(path, info));
  WATTLE_TRY(const std::string text, file.read_all(kMaxKeyFileBytes));
  return parse(text, path);
}

Result<KeyPair> KeyPair::parse(std::string_view text, const std::string& source) {
  KeyPair pair{std::string(value_of(text, "public-key")), std::string(value_of(text, "secret-key"))};
  const auto fix = "create a key pair with `wattle keys new`";
  if (!is_key(pair.public_key))
    return fail(Errc::malformed, source, "public-key is not a Z85 key of 40 characters", fix);
  if (!is_key(pair.secret_key))
    return fail(Errc::malformed, source, "secret-key is not a Z85 key of 40 characters", fix);
  std::array<char, kKeyCharacters + 1> derived{};
  if (zmq_curve_public(derived.data(), pair.secret_key.c_str()) != 0 || pair.public_key != derived.data())
    return fail(Errc::malformed, source, "public-key and secret-key do not match", fix);
  return pair;
}

std::string KeyPair::text() const { return "public-key: " + public_key + "\nsecret-key: " + secret_key + "\n"; }

Status KeyPair::save(const std::string& path) const { return write_file_atomically(path, text(), 0400); }

Result<std::string> load_public_key(const std::string& path) {
  WATTLE_TRY(const File file, open_at(path));
  WATTLE_TRY(const std::string text, file.read_all(kMaxKeyFileBytes));
  const std::string key(parse::trim(text));
  if (!is_key(key))
    return fail(Errc::malformed, path, "is not one line with a Z85 key of 40 characters",
                "copy the server's public key into the file");
  return key;
}

Result<ServerKeys> load_server_keys(const std::string& path) {
  WATTLE_TRY(const File file, open_at(path));
  struct stat info {};
  if (::fstat(file.fd(), &info) != 0) return fail_errno(errno, path);
  WATTLE_CHECK(check_trust_anchor(path, info));
  WATTLE_TRY(const std::string text, file.read_all(kMaxKeyFileBytes));
  ServerKeys keys;
  int number = 0;
  std::string mistake;
  parse::for_each_line(text, [&](std::string_view line) {
    ++number;
    line = parse::trim(line);
    if (line.empty() || !mistake.empty()) return;
    const std::string at = "line " + std::to_string(number);
    if (!is_key(line)) {
      mistake = at + " is not a Z85 key of 40 characters";
    } else if (keys.current.empty()) {
      keys.current = line;
    } else if (keys.next.empty()) {
      keys.next = line;
    } else {
      mistake = at + " contains a third key";
    }
  });
  if (keys.current.empty() && mistake.empty()) mistake = "contains no key";
  if (!mistake.empty())
    return fail(Errc::malformed, path, mistake,
                "copy the server's public key, and at most its next one, into the file");
  if (keys.next == keys.current) keys.next.clear();
  return keys;
}

Result<AllowList> AllowList::load(const std::string& path) {
  auto file = open_at(path);
  if (!file) return fail(file.error().code, path, file.error().what, "allow keys with `wattle keys allow`");
  WATTLE_TRY(const std::string text, file->read_all(kMaxKeyFileBytes));
  return parse(text, path);
}

Result<AllowList> AllowList::parse(std::string_view text, const std::string& name) {
  AllowList list;
  std::map<std::string, int, std::less<>> line_of;
  std::string mistakes;
  int number = 0;
  int count = 0;
  const auto mistake = [&](std::string_view what, std::string_view fix) {
    ++count;
    mistakes += "\n  " + name + ":" + std::to_string(number) + ": " + std::string(what) + " (" + std::string(fix) + ")";
  };
  parse::for_each_line(text, [&](std::string_view line) {
    ++number;
    line = parse::trim(line);
    const auto words = parse::fields(line);
    // A key cannot begin with '#': as the first of five Z85 digits it exceeds 32 bits.
    if (words.empty() || line.front() == '#') return;
    if (words.size() < 3 || (words.size() > 3 && words[3].front() != '#'))
      return mistake("not three words", "write KEY ROLE NAME");
    if (!is_key(words[0])) return mistake("the key is not a Z85 key of 40 characters", "copy the client's public key");
    const auto role = parse_role(words[1]);
    if (!role) return mistake("role " + role.error().what, role.error().fix);
    if (!is_name(words[2]))
      return mistake("the name '" + std::string(words[2]) + "' is not valid", "use letters, digits, '.', '-', '_'");
    if (const auto [at, is_new] = line_of.emplace(words[0], number); !is_new)
      return mistake("duplicate of the key in line " + std::to_string(at->second), "remove one of the two");
    list.allow(std::string(words[0]), {*role, std::string(words[2])});
  });
  if (count != 0)
    return fail(Errc::malformed, name, std::to_string(count) + (count == 1 ? " error" : " errors") + mistakes);
  return list;
}

void AllowList::allow(const std::string& public_key, Identity identity) { by_key_[public_key] = std::move(identity); }

const Identity* AllowList::find(std::string_view public_key) const {
  const auto found = by_key_.find(public_key);
  return found == by_key_.end() ? nullptr : &found->second;
}

std::string AllowList::text() const {
  std::string text;
  for (const auto& [key, identity] : by_key_)
    text += key + " " + std::string(to_string(identity.role)) + " " + identity.name + "\n";
  return text;
}

}  // namespace wattle::transport
