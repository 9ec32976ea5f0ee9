#include <doctest/doctest.h>
#include <sys/stat.h>

#include <fstream>

#include "common/json/value.hpp"
#include "common/transport/keys.hpp"
#include "surroundings.hpp"

using namespace wattle;
using namespace wattle::cli::test;

namespace {
std::string text_of(const std::string& path) {
  std::ifstream in(path);
  std::stringstream all;
  all << in.rdbuf();
  return all.str();
}
}  // namespace

TEST_CASE("keys new writes a pair that only its owner can read, and its public half beside it") {
  const Folder folder;
  Outside outside;
  const std::string file = folder / "me";
  REQUIRE(outside.run({"keys", "new", file}) == 0);
  const auto pair = transport::KeyPair::load(file);
  REQUIRE(pair);
  CHECK(transport::load_public_key(file + ".pub").value() == pair->public_key);
  struct stat info {};
  REQUIRE(::stat(file.c_str(), &info) == 0);
  CHECK((info.st_mode & 0777U) == 0400U);
  CHECK(outside.out.str().find(pair->secret_key) == std::string::npos);
}

TEST_CASE("keys new overwrites neither half") {
  const Folder folder;
  Outside outside;
  const std::string file = folder / "me";
  REQUIRE(outside.run({"keys", "new", file}) == 0);
  const std::string before = text_of(file);
  CHECK(outside.run({"keys", "new", file}) == 1);
  CHECK(outside.complains_of(file + ": already exists"));
  CHECK(text_of(file) == before);
  std::filesystem::remove(file);
  CHECK(outside.run({"keys", "new", file}) == 1);
  CHECK(outside.complains_of(file + ".pub"));
  CHECK_FALSE(std::filesystem::exists(file));
}

TEST_CASE("keys allow and revoke keep the rest of the allow list, comments included") {
  const Folder folder;
  Outside outside;
  const std::string list = folder / "allow";
  REQUIRE(outside.run({"keys", "new", folder / "a", folder / "b"}) == 0);
  const auto key = transport::load_public_key(folder / "b.pub").value();
  std::ofstream(list) << "# who may\n";
  REQUIRE(outside.run({"keys", "allow", folder / "a.pub", "agent", "worker-1", "--allow-list", list}) == 0);
  REQUIRE(outside.run({"keys", "allow", key, "reader", "ops", "--allow-list", list}) == 0);
  CHECK(outside.run({"keys", "allow", key, "reader", "ops", "--allow-list", list}) == 0);  // repetition changes nothing
  auto loaded = transport::AllowList::load(list);
  REQUIRE(loaded);
  CHECK(loaded->size() == 2);
  CHECK(loaded->find(key)->user_id() == "reader/ops");

  REQUIRE(outside.run({"keys", "list", "--allow-list", list, "-o", "json"}) == 0);
  const auto listed = wattle::SortedJson::parse(outside.out.str());
  REQUIRE(listed["keys"].size() == 2);
  CHECK(listed["keys"][1]["name"] == "ops");

  REQUIRE(outside.run({"keys", "revoke", "worker-1", "--allow-list", list}) == 0);
  const auto a = transport::load_public_key(folder / "a.pub").value();
  CHECK(text_of(list) == "# who may\n# revoked " + a + " agent worker-1\n" + key + " reader ops\n");
  REQUIRE(outside.run({"keys", "revoke", key, "--allow-list", list}) == 0);
  CHECK(transport::AllowList::load(list)->size() == 0);
  CHECK(outside.run({"keys", "revoke", key, "--allow-list", list}) == 1);
  REQUIRE(outside.run({"keys", "allow", a, "agent", "worker-1", "--allow-list", list}) == 0);
  CHECK(text_of(list) == "# who may\n# revoked " + key + " reader ops\n" + a + " agent worker-1\n");
}

TEST_CASE("keys allow refuses an invalid key, role or name, and leaves the list unchanged") {
  const Folder folder;
  Outside outside;
  const std::string list = folder / "allow";
  REQUIRE(outside.run({"keys", "new", folder / "a"}) == 0);
  CHECK(outside.run({"keys", "allow", folder / "a.pub", "boss", "x", "--allow-list", list}) == 2);
  CHECK(outside.complains_of("'boss' is unknown"));
  CHECK(outside.run({"keys", "allow", folder / "a.pub", "agent", "no name", "--allow-list", list}) == 2);
  CHECK(outside.complains_of("no name: is not a valid name"));
  CHECK(outside.run({"keys", "allow", folder / "a.pub", "agent", "x #y", "--allow-list", list}) == 2);
  CHECK(outside.run({"keys", "allow", folder / "a.pub", "agent", "x\ny", "--allow-list", list}) == 2);
  CHECK(outside.run({"keys", "allow", folder / "a", "agent", "x", "--allow-list", list}) == 2);
  CHECK(outside.complains_of("a.pub"));
  CHECK(outside.run({"keys", "allow", folder / "none", "agent", "x", "--allow-list", list}) == 2);
  CHECK(outside.complains_of(folder / "none"));
  CHECK_FALSE(std::filesystem::exists(list));
  std::ofstream(list) << "garbage\n";
  CHECK(outside.run({"keys", "allow", folder / "a.pub", "agent", "x", "--allow-list", list}) == 2);
  CHECK(outside.complains_of("allow:1"));
  CHECK(text_of(list) == "garbage\n");
}

TEST_CASE("keys allow and revoke read a file even if its path looks like a key") {
  const Folder folder;
  Outside outside;
  const std::string list = folder / "allow", file = "forty.characters.of.a.path/to.a.key.pub1";
  REQUIRE(file.size() == 40);
  REQUIRE(outside.run({"keys", "new", folder / "a"}) == 0);
  const auto before = std::filesystem::current_path();
  std::filesystem::current_path(folder.path);
  std::filesystem::create_directory("forty.characters.of.a.path");
  // Without a file of that name the argument is a key.
  CHECK(outside.run({"keys", "allow", file, "agent", "x", "--allow-list", list}) == 0);
  CHECK(outside.run({"keys", "revoke", "x", "--allow-list", list}) == 0);
  std::filesystem::copy_file(folder / "a.pub", file);
  const std::string key = transport::load_public_key(file).value();
  CHECK(outside.run({"keys", "allow", file, "agent", "y", "--allow-list", list}) == 0);
  CHECK(text_of(list).find("\n" + key + " agent y\n") != std::string::npos);
  CHECK(outside.run({"keys", "revoke", file, "--allow-list", list}) == 0);
  CHECK(transport::AllowList::load(list)->size() == 0);
  // A file without a key is an error, even if its path looks like a key.
  std::ofstream(file) << "no key\n";
  CHECK(outside.run({"keys", "allow", file, "agent", "z", "--allow-list", list}) == 2);
  CHECK(outside.complains_of(file));
  std::filesystem::current_path(before);
}

TEST_CASE("keys revoke accepts the file of a key, and prefers a name to a file of that name") {
  const Folder folder;
  Outside outside;
  const std::string list = folder / "allow";
  REQUIRE(outside.run({"keys", "new", folder / "a", folder / "b"}) == 0);
  for (const char* one : {"a", "b"})
    REQUIRE(outside.run({"keys", "allow", folder / one + ".pub", "agent", "worker-" + std::string(one), "--allow-list",
                         list}) == 0);
  REQUIRE(outside.run({"keys", "revoke", folder / "a.pub", "--allow-list", list}) == 0);
  CHECK(text_of(list).find("# revoked " + transport::load_public_key(folder / "a.pub").value() + " agent worker-a\n") ==
        0);
  CHECK(outside.run({"keys", "revoke", folder / "a.pub", "--allow-list", list}) == 1);
  CHECK(outside.complains_of(
      "not found: the list has no such key or name, and no file of that name contains a key of the list"));
  CHECK(outside.run({"keys", "revoke", folder / "b", "--allow-list", list}) == 1);  // the secret half is not read
  CHECK(transport::AllowList::load(list)->size() == 1);
}

TEST_CASE("a key with another name must be revoked first") {
  const Folder folder;
  Outside outside;
  const std::string list = folder / "allow";
  REQUIRE(outside.run({"keys", "new", folder / "a"}) == 0);
  REQUIRE(outside.run({"keys", "allow", folder / "a.pub", "agent", "x", "--allow-list", list}) == 0);
  CHECK(outside.run({"keys", "allow", folder / "a.pub", "operator", "y", "--allow-list", list}) == 1);
  CHECK(outside.complains_of("revoke it first"));
}

TEST_CASE("keys rotate creates the next pair beside the current one, and names both to clients") {
  const Folder folder;
  Outside outside;
  const std::string file = folder / "controller.key";
  REQUIRE(outside.run({"keys", "new", file}) == 0);
  const auto before = transport::KeyPair::load(file);
  REQUIRE(before);
  CHECK(outside.run({"keys", "rotate", "--switch", file}) == 1);
  CHECK(outside.complains_of("wattle keys rotate " + file));
  REQUIRE(outside.run({"keys", "rotate", file}) == 0);
  const auto next = transport::KeyPair::load(file + ".next");
  REQUIRE(next);
  auto known = transport::load_server_keys(file + ".pub");
  REQUIRE(known);
  CHECK(known->current == before->public_key);
  CHECK(known->next == next->public_key);
  REQUIRE(outside.run({"keys", "rotate", file}) == 0);  // a repetition changes nothing
  CHECK(transport::KeyPair::load(file + ".next")->public_key == next->public_key);
  CHECK(transport::KeyPair::load(file)->public_key == before->public_key);

  REQUIRE(outside.run({"keys", "rotate", "--switch", file}) == 0);
  CHECK(transport::KeyPair::load(file)->public_key == next->public_key);
  CHECK(transport::KeyPair::load(file + ".previous")->public_key == before->public_key);
  CHECK_FALSE(std::filesystem::exists(file + ".next"));
  known = transport::load_server_keys(file + ".pub");
  REQUIRE(known);
  CHECK(known->current == next->public_key);
  CHECK(known->next.empty());
  for (const std::string& secret : {before->secret_key, next->secret_key}) {
    CHECK(outside.out.str().find(secret) == std::string::npos);
    CHECK(outside.err.str().find(secret) == std::string::npos);
  }
}

TEST_CASE("keys list marks a name with several keys") {
  const Folder folder;
  Outside outside;
  const std::string list = folder / "allow";
  REQUIRE(outside.run({"keys", "new", folder / "a", folder / "b", folder / "c"}) == 0);
  REQUIRE(outside.run({"keys", "allow", folder / "a.pub", "agent", "w", "--allow-list", list}) == 0);
  REQUIRE(outside.run({"keys", "allow", folder / "b.pub", "agent", "w", "--allow-list", list}) == 0);
  REQUIRE(outside.run({"keys", "allow", folder / "c.pub", "reader", "w", "--allow-list", list}) == 0);
  REQUIRE(outside.run({"keys", "list", "--allow-list", list, "-o", "json"}) == 0);
  const auto keys = wattle::SortedJson::parse(outside.out.str())["keys"];
  CHECK(keys[0]["keys_of_this_name"] == 2);
  CHECK(keys[1]["keys_of_this_name"] == 2);
  CHECK(keys[2]["keys_of_this_name"] == 1);
  REQUIRE(outside.run({"keys", "list", "--allow-list", list}) == 0);
  CHECK(outside.out.str().find("one of 2 keys of this name") != std::string::npos);
}

TEST_CASE("keys token creates a token that only its file contains, lists it, and revokes it") {
  const Folder folder;
  Outside outside;
  const std::string tokens = folder / "tokens", file = folder / "token";
  REQUIRE(outside.run({"keys", "token", "new", "--tokens", tokens, "worker-1", file, "--valid", "7d"}) == 0);
  struct stat info {};
  REQUIRE(::stat(file.c_str(), &info) == 0);
  CHECK((info.st_mode & 0777) == 0400);
  const std::string token = text_of(file).substr(0, text_of(file).find('\n'));
  CHECK(token.size() > 64);
  CHECK(outside.out.str().find(token) == std::string::npos);
  CHECK(text_of(tokens).find(token) == std::string::npos);
  REQUIRE(outside.run({"keys", "token", "new", "--tokens", tokens, "worker-2", folder / "b", "--replace"}) == 0);
  REQUIRE(outside.run({"keys", "token", "list", "--tokens", tokens, "-o", "json"}) == 0);
  const auto listed = wattle::SortedJson::parse(outside.out.str());
  REQUIRE(listed["tokens"].size() == 2);
  CHECK(listed["tokens"][0]["node"] == "worker-1");
  CHECK(listed["tokens"][0]["state"] == "open");
  CHECK(listed["tokens"][1]["replace"] == true);
  REQUIRE(outside.run({"keys", "token", "revoke", "--tokens", tokens, "worker-1"}) == 0);
  CHECK(outside.run({"keys", "token", "revoke", "--tokens", tokens, "worker-1"}) == 1);
  REQUIRE(outside.run({"keys", "token", "revoke", "--tokens", tokens, listed["tokens"][1]["id"].get<std::string>()}) ==
          0);
  CHECK(text_of(tokens).empty());
}

TEST_CASE("keys token refuses an invalid node or time, and leaves no file") {
  const Folder folder;
  Outside outside;
  const std::string tokens = folder / "tokens";
  CHECK(outside.run({"keys", "token", "new", "--tokens", tokens, "no name", folder / "t"}) == 2);
  for (const char* valid : {"soon", "0s", "400d", "-1d", "d"})
    CHECK(outside.run({"keys", "token", "new", "--tokens", tokens, "n", folder / "t", "--valid", valid}) == 2);
  CHECK_FALSE(std::filesystem::exists(folder / "t"));
  CHECK_FALSE(std::filesystem::exists(tokens));
  CHECK(outside.run({"keys", "token", "new", "--config", folder / "none", "n", folder / "t"}) == 2);
}
