#include "common/mounts.hpp"

#include <algorithm>

#include "common/parse.hpp"

namespace wattle {

namespace {
// Blank, tab, newline and backslash are escaped as \040 and so on.
std::string unescape_octal(std::string_view text) {
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\' && i + 3 < text.size()) {
      const auto value = parse::integer<unsigned>(text.substr(i + 1, 3), 8);
      if (value && *value < 256) {
        plain.push_back(static_cast<char>(*value));
        i += 3;
        continue;
      }
    }
    plain.push_back(text[i]);
  }
  return plain;
}
}  // namespace

std::vector<Mount> parse_mountinfo(std::string_view text, std::string_view type) {
  std::vector<Mount> mounts;
  parse::for_each_line(text, [&](std::string_view line) {
    const auto fields = parse::fields(line);
    const auto separator = std::find(fields.begin(), fields.end(), "-");
    if (fields.size() < 6 || separator == fields.end() || separator + 1 == fields.end()) return;
    const auto behind = static_cast<std::size_t>(fields.end() - separator) - 1;  // type, device, options
    if (*(separator + 1) == type)
      mounts.push_back({unescape_octal(fields[4]), unescape_octal(fields[3]), std::string(type),
                        behind > 2 ? std::string(*(separator + 3)) : std::string()});
  });
  std::stable_partition(mounts.begin(), mounts.end(), [](const Mount& mount) { return mount.root == "/"; });
  return mounts;
}

}  // namespace wattle
