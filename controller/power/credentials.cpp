#include "controller/power/credentials.hpp"

#include <sys/stat.h>

#include <cerrno>
#include <string_view>
#include <vector>

#include "common/dir.hpp"
#include "common/parse.hpp"
#include "common/trusted_file.hpp"

namespace wattle::controller::power {
namespace {

constexpr std::size_t kMostCredentialsBytes = 1024;

bool is_word(std::string_view text) {
  if (text.empty()) return false;
  for (const char c : text)
    if (static_cast<unsigned char>(c) < ' ' || c == 0x7f) return false;
  return true;
}

}  // namespace

Result<Credentials> read_credentials(const std::string& path) {
  WATTLE_TRY(const File file, open_file(path));
  struct stat info {};
  if (::fstat(file.fd(), &info) != 0) return fail_errno(errno, path);
  WATTLE_CHECK(check_secret(path, info));
  WATTLE_TRY(const std::string text, file.read_all(kMostCredentialsBytes));
  std::vector<std::string_view> lines = parse::split(text, '\n');
  if (!lines.empty() && lines.back().empty()) lines.pop_back();
  for (std::string_view& line : lines)
    if (line.ends_with('\r')) line.remove_suffix(1);
  if (lines.size() != 2 || !is_word(lines[0]) || !is_word(lines[1]) || lines[0].find(':') != std::string_view::npos)
    return fail(Errc::malformed, path, "does not have a user name on its first line and a password on its second",
                "write two lines; a user name has no ':'");
  return Credentials{std::string(lines[0]), std::string(lines[1])};
}

}  // namespace wattle::controller::power
