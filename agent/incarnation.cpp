#include "agent/incarnation.hpp"

#include <algorithm>

#include "common/dir.hpp"
#include "common/parse.hpp"

namespace wattle::agent {

namespace {
constexpr const char* kFix = "set state_dir to a directory that the agent may write to";
constexpr std::uint64_t kMostIncarnation = std::uint64_t{1} << 62;  // a controller accepts no larger one
}  // namespace

Status make_state_dir(const std::string& state_dir) {
  auto made = make_dirs(state_dir, 0750);
  if (!made) made.error().fix = kFix;
  return made;
}

Result<Incarnation> next_incarnation(const std::string& state_dir, WallTime now, std::uint64_t at_least) {
  WATTLE_CHECK(make_state_dir(state_dir));
  const std::string path = state_dir + "/incarnation";
  Incarnation next;
  std::uint64_t last = 0;
  const auto text = read_file(path, 64);
  const auto number = text ? parse::u64(parse::trim(*text)) : std::nullopt;
  if (number && *number < kMostIncarnation)
    last = *number;
  else if (text)
    next.healed = Error{Errc::malformed, path, text->empty() ? "is empty" : "is not a possible number",
                        "the agent writes a new file"};
  else if (text.error().code != Errc::not_found)
    next.healed = text.error();
  const auto unix_s = std::chrono::duration_cast<std::chrono::seconds>(now.time_since_epoch()).count();
  next.number = std::max({last + 1, at_least, static_cast<std::uint64_t>(std::max<std::int64_t>(unix_s, 1))});
  auto written = write_file_atomically(path, std::to_string(next.number) + "\n", 0600);
  if (!written && written.error().code == Errc::exhausted) {
    next.not_kept = written.error();
    next.not_kept->fix = "free space on the file system of " + state_dir;
  } else if (!written) {
    written.error().fix = next.healed ? "move " + path + " away: it " + next.healed->what : kFix;
    return forward_error(written);
  }
  return next;
}

}  // namespace wattle::agent
