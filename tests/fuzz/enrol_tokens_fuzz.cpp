// Lists of enrolment tokens: any text parses or gives an error with its line; updating or removing a token changes no
// other.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "common/enrol_tokens.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace wattle;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto tokens = parse_enrol_tokens(text, "fuzz");
  if (!tokens) {
    if (tokens.error().subject.rfind("fuzz:", 0) != 0 || tokens.error().fix.empty()) std::abort();
    return 0;
  }
  for (const EnrolToken& token : *tokens) {
    if (token.hash.size() != 64 || token.node.empty()) std::abort();
    const auto mine = [&](const EnrolToken& other) { return other.hash == token.hash; };
    auto written = *tokens;
    std::replace_if(written.begin(), written.end(), mine, token);
    const auto with = parse_enrol_tokens(with_enrol_token(text, token), "with");
    if (!with || *with != written) std::abort();
    std::erase_if(written, mine);
    const auto without = parse_enrol_tokens(without_enrol_token(text, token.hash), "without");
    if (!without || *without != written) std::abort();
  }
  return 0;
}
