#include "common/transport/allow_edit.hpp"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <sys/stat.h>

#include <fstream>
#include <thread>

#include "tests/unit/common/temp_dir.hpp"

using namespace wattle;
using namespace wattle::transport;

namespace {

const std::vector<std::string>& keys() {
  static const std::vector<std::string> made = [] {
    std::vector<std::string> out;
    for (int i = 0; i < 8; ++i) out.push_back(KeyPair::generate().public_key);
    return out;
  }();
  return made;
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> out;
  std::stringstream in(text);
  for (std::string line; std::getline(in, line);) out.push_back(line);
  return out;
}

}  // namespace

TEST_CASE("a revoked key is remembered until an operator allows it again") {
  const std::string& key = keys()[0];
  const std::string text = with_line("# ours\n", {key, "agent", "a"});
  CHECK(!is_revoked(text, key));
  const std::string without = without_keys(text, {key});
  CHECK(without == "# ours\n# revoked " + key + " agent a\n");
  CHECK(is_revoked(without, key));
  CHECK(AllowList::parse(without, "list")->size() == 0);
  CHECK(with_line(without, {key, "agent", "a"}) == text);
}

TEST_CASE("a key is revoked in place, without a new file, and is remembered") {
  const wattle::test::TempDir dir;
  const std::string path = dir.file("allow"),
                    text = "# ours\n" + keys()[0] + " agent node-1\n" + keys()[1] + " reader ann\n";
  std::ofstream(path) << text;
  const auto inode = [&] {
    struct stat info {};
    ::stat(path.c_str(), &info);
    return info.st_ino;
  };
  const auto before = inode();
  REQUIRE(revoke_in_place(path, text, {keys()[0]}));
  const auto now = read_list(path, false);
  REQUIRE(now);
  CHECK(*now == "# ours\n# revoked " + keys()[0] + "\n" + keys()[1] + " reader ann\n");
  CHECK(is_revoked(*now, keys()[0]));
  CHECK(inode() == before);
  CHECK(revoke_in_place(dir.file("absent"), text, {keys()[0]}).error().code == Errc::not_found);
}

TEST_CASE("for any list, a change keeps every other line in order") {
  CHECK(rc::check([] {
    std::string text;
    std::vector<std::string> there;
    for (const std::string& key : keys()) {
      switch (*rc::gen::inRange(0, 5)) {
        case 0:
          text += "# a remark about " + key + "\n";
          break;
        case 1:
          text += "\n  # indented\n";
          break;
        case 2:
          text += key + "  reader\tsomebody   # who came later\n";
          there.push_back(key);
          break;
        case 3:
          text += key + " agent node-1\n";
          there.push_back(key);
          break;
        default:
          break;
      }
    }
    RC_ASSERT(AllowList::parse(text, "list").has_value());
    const std::string fresh = KeyPair::generate().public_key;
    const std::string more = with_line(text, {fresh, "agent", "new"});
    RC_ASSERT(more == text + fresh + " agent new\n");
    RC_ASSERT(AllowList::parse(more, "list")->size() == there.size() + 1);
    const std::vector<std::string> gone(there.begin(), there.begin() + static_cast<std::ptrdiff_t>(there.size() / 2));
    const std::string less = without_keys(more, gone);
    const auto before = lines_of(more), after = lines_of(less);
    RC_ASSERT(before.size() == after.size());
    for (std::size_t i = 0; i < before.size(); ++i)
      RC_ASSERT(after[i] == before[i] || after[i] == "# revoked " + before[i]);
    const auto list = AllowList::parse(less, "list");
    RC_ASSERT(list.has_value());
    RC_ASSERT(list->size() == there.size() + 1 - gone.size());
    for (const std::string& key : gone) RC_ASSERT(is_revoked(less, key) && list->find(key) == nullptr);
    RC_ASSERT(list->find(fresh) != nullptr);
  }));
}

TEST_CASE("changes of several threads under the lock lose no line") {
  wattle::test::TempDir dir;
  const std::string path = dir.file("allow");
  std::vector<std::thread> threads;
  for (const std::string& key : keys())
    threads.emplace_back([&path, key] {
      const auto held = lock_list(path);
      const auto text = read_list(path, true);
      if (held && text) (void)write_list(path, with_line(*text, {key, "agent", "n"}));
    });
  for (std::thread& thread : threads) thread.join();
  CHECK(AllowList::load(path)->size() == keys().size());
}

TEST_CASE("a list that does not parse is neither read nor written") {
  wattle::test::TempDir dir;
  std::ofstream(dir.file("allow")) << "garbage\n";
  CHECK(read_list(dir.file("allow"), true).error().code == Errc::malformed);
  CHECK(!write_list(dir.file("other"), "garbage\n"));
  CHECK(read_list(dir.file("other"), true).value().empty());
  CHECK(is_public_key(keys()[0]));
  for (const std::string& wrong : std::vector<std::string>{"", "short", "# remark", keys()[0] + "x", keys()[0] + "\n"})
    CHECK(!is_public_key(wrong));
}
