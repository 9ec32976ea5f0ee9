#include "common/transport/keys.hpp"

#include <doctest/doctest.h>
#include <sys/stat.h>

#include "common/dir.hpp"
#include "tests/unit/common/temp_dir.hpp"

using namespace wattle;
using namespace wattle::transport;
using wattle::test::TempDir;

namespace {
unsigned mode_of(const std::string& path) {
  struct stat info {};
  REQUIRE(::stat(path.c_str(), &info) == 0);
  return info.st_mode & 07777U;
}
}  // namespace

TEST_CASE("a key pair is read back from its file, which only its owner may read") {
  const TempDir dir;
  const KeyPair pair = KeyPair::generate();
  CHECK(pair.public_key.size() == 40);
  CHECK(pair.public_key != KeyPair::generate().public_key);
  const std::string path = dir.file("agent.key");
  REQUIRE(pair.save(path));
  CHECK(mode_of(path) == 0400);
  const auto back = KeyPair::load(path);
  REQUIRE(back);
  CHECK(back->public_key == pair.public_key);
  CHECK(back->secret_key == pair.secret_key);
}

TEST_CASE("a key file that group or others may access is refused, judged only by its mode bits") {
  const TempDir dir;
  const std::string path = dir.file("agent.key");
  REQUIRE(KeyPair::generate().save(path));
  for (const unsigned mode : {0444U, 0440U, 0640U, 0604U, 0620U, 0601U}) {
    REQUIRE(::chmod(path.c_str(), mode) == 0);
    const auto refused = KeyPair::load(path);
    REQUIRE_FALSE(refused);
    CHECK(refused.error().code == Errc::denied);
    CHECK(refused.error().subject == path);
    CHECK(refused.error().fix == "chmod 0400 " + path);
  }
  REQUIRE(::chmod(path.c_str(), 0600) == 0);
  CHECK(KeyPair::load(path));
}

TEST_CASE("a missing, truncated or mixed-up key file is refused by name") {
  const TempDir dir;
  const std::string path = dir.file("agent.key");
  CHECK(KeyPair::load(path).error().code == Errc::not_found);
  CHECK(KeyPair::load(dir.file("none/agent.key")).error().code == Errc::not_found);
  REQUIRE(write_file_atomically(path, "public-key: short\n", 0400));
  CHECK(KeyPair::load(path).error().code == Errc::malformed);
  const KeyPair one = KeyPair::generate();
  const KeyPair other = KeyPair::generate();
  REQUIRE(KeyPair{one.public_key, other.secret_key}.save(path));
  const auto mixed = KeyPair::load(path);
  REQUIRE_FALSE(mixed);
  CHECK(mixed.error().what.find("do not match") != std::string::npos);
}

TEST_CASE("the server's public key is one line") {
  const TempDir dir;
  const std::string path = dir.file("server.pub");
  const KeyPair pair = KeyPair::generate();
  REQUIRE(write_file_atomically(path, pair.public_key + "\n"));
  CHECK(load_public_key(path).value() == pair.public_key);
  REQUIRE(write_file_atomically(path, "not a key\n"));
  CHECK(load_public_key(path).error().code == Errc::malformed);
  CHECK(load_public_key(dir.file("none.pub")).error().code == Errc::not_found);
}

TEST_CASE("an identity is its user id, in both directions") {
  for (const Role role : {Role::agent, Role::shim, Role::reader, Role::operator_}) {
    const Identity identity{role, "node-1.example"};
    const auto back = Identity::from_user_id(identity.user_id());
    REQUIRE(back);
    CHECK(back->role == role);
    CHECK(back->name == identity.name);
  }
  for (const char* text : {"", "agent", "agent/", "nobody/x", "agent/a b", "agent/a/b"})
    CHECK_FALSE(Identity::from_user_id(text));
}

TEST_CASE("an allow list may have comments, and its text gives the same list") {
  const std::string first = KeyPair::generate().public_key;
  const std::string second = KeyPair::generate().public_key;
  const auto list = AllowList::parse("# who may talk\n\n" + first + " agent node-1\n" + second +
                                         "  operator  ops # on call\n#" + first + " reader was-here\n",
                                     "allow");
  REQUIRE(list);
  CHECK(list->size() == 2);
  REQUIRE(list->find(first) != nullptr);
  CHECK(list->find(first)->user_id() == "agent/node-1");
  REQUIRE(list->find(second) != nullptr);
  CHECK(list->find(second)->user_id() == "operator/ops");
  CHECK(list->find("nobody") == nullptr);
  const auto again = AllowList::parse(list->text(), "again");
  REQUIRE(again);
  CHECK(again->text() == list->text());
}

TEST_CASE("every error in an allow list is reported with file and line") {
  const TempDir dir;
  const std::string path = dir.file("allow");
  const std::string key = KeyPair::generate().public_key;
  REQUIRE(write_file_atomically(path, key + " agent node-1\n" + "short agent node-2\n" + key + " agent node-3\n" +
                                          KeyPair::generate().public_key + " king node-4\n" +
                                          KeyPair::generate().public_key + " agent no/de\n" + "words\n"));
  const auto list = AllowList::load(path);
  REQUIRE_FALSE(list);
  CHECK(list.error().code == Errc::malformed);
  CHECK(list.error().subject == path);
  for (const char* line : {":2: the key", ":3: duplicate of the key in line 1", ":4: role 'king'",
                           ":5: the name 'no/de'", ":6: not three words"})
    CHECK(list.error().what.find(path + line) != std::string::npos);
  CHECK(list.error().what.find("5 errors\n") == 0);
  CHECK(AllowList::load(dir.file("none")).error().code == Errc::not_found);
}

TEST_CASE("a client keeps the server's current key and at most its next one") {
  const TempDir dir;
  const std::string path = dir.file("server.pub");
  const std::string one = KeyPair::generate().public_key, two = KeyPair::generate().public_key;
  REQUIRE(write_file_atomically(path, one + "\n"));
  CHECK(load_server_keys(path)->current == one);
  CHECK(load_server_keys(path)->next.empty());
  REQUIRE(write_file_atomically(path, "\n" + one + "\r\n" + two + "\n"));
  CHECK(load_server_keys(path)->current == one);
  CHECK(load_server_keys(path)->next == two);
  REQUIRE(write_file_atomically(path, one + "\n" + one + "\n"));
  CHECK(load_server_keys(path)->next.empty());
  REQUIRE(write_file_atomically(path, one + "\n" + two + "\n" + one + "\n"));
  CHECK(load_server_keys(path).error().message().find("line 3 contains a third key") != std::string::npos);
  REQUIRE(write_file_atomically(path, one + "\nno key\n"));
  CHECK(load_server_keys(path).error().message().find(path + ": line 2 is not a Z85 key") != std::string::npos);
  REQUIRE(write_file_atomically(path, "\n"));
  CHECK(load_server_keys(path).error().code == Errc::malformed);
}
