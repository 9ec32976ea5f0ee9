#include "agent/incarnation.hpp"

#include <algorithm>

#include "common/dir.hpp"
#include "common/parse.hpp"

namespace wattle::agent {

namespace {
constexpr const char* kMend = "set state_dir to a directory that the agent may write to";
}

Status make_state_dir(const std::string& state_dir) {
  auto made = make_dirs(state_dir, 0750);
  if (!made) made.error().mend = kMend;
  return made;
}

Result<std::uint64_t> next_incarnation(const std::string& state_dir, WallTime now, std::uint64_t at_least) {
  WATTLE_CHECK(make_state_dir(state_dir));
  WATTLE_TRY(const Dir dir, Dir::open_(state_dir));
  std::uint64_t last = 0;
  if (dir.exists("incarnation")) {
    WATTLE_TRY(const auto text, dir.read_file("incarnation", 64));
    const auto number = parse::u64(parse::trim(text));
    if (!number || *number == ~std::uint64_t{0})
      return fail(Errc::malformed, state_dir + "/incarnation", "not a number",
                  "remove the file; the next one rises all the same");
    last = *number;
  }
  const auto unix_s = std::chrono::duration_cast<std::chrono::seconds>(now.time_since_epoch()).count();
  const std::uint64_t next =
      std::max({last + 1, at_least, static_cast<std::uint64_t>(std::max<std::int64_t>(unix_s, 1))});
  auto written = write_file_atomically(state_dir + "/incarnation", std::to_string(next) + "\n");
  if (!written) {
    written.error().mend = kMend;
    return forward_error(written);
  }
  return next;
}

}  // namespace wattle::agent
