#include "controller/power/kept_output.hpp"

#include "common/base64.hpp"
#include "common/json/value.hpp"
#include "common/parse.hpp"
#include "common/printable.hpp"
#include "controller/power/node_power.hpp"

namespace wattle::controller::power {
namespace {

void replace_all(std::string& text, std::string_view word, std::string_view by) {
  if (word.empty()) return;
  for (auto at = text.find(word); at != std::string::npos; at = text.find(word, at + by.size()))
    text.replace(at, word.size(), by);
}

}  // namespace

std::string redact(std::string text, const std::vector<std::string>& secrets) {
  for (const std::string& secret : secrets) {
    replace_all(text, secret, "***");
    for (const JsonText escapes : {JsonText::utf8, JsonText::ascii}) {
      const std::string quoted = OrderedJson(secret).dump(-1, escapes);
      replace_all(text, std::string_view(quoted).substr(1, quoted.size() - 2), "***");
    }
    replace_all(text, base64_encode(secret), "***");
  }
  return text;
}

std::string kept_output(std::string_view text) {
  const bool cut = text.size() > kMostOutputBytes;
  if (cut) text.remove_prefix(text.size() - kMostOutputBytes);
  while (cut && !text.empty() && (static_cast<unsigned char>(text.front()) & 0xC0U) == 0x80U) text.remove_prefix(1);
  std::string line;
  parse::for_each_line(text, [&](std::string_view each) {
    const std::string_view words = parse::trim(each);
    if (!words.empty()) line += (line.empty() ? "" : "; ") + printable(words);
  });
  return (cut ? "..." : "") + line;
}

std::string with_output(std::string what, std::string_view output) {
  const std::string kept = kept_output(output);
  return kept.empty() ? what : std::move(what) + ": " + kept;
}

}  // namespace wattle::controller::power
