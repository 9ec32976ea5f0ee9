// boost_assert: handles Boost's assertions in this folder. All of them abort the process, like ours, except an
// incorrect one: Boost 1.81's parser asserts that five bytes of the last chunk have arrived when an empty chunked body
// has only three. A peer that sends "0\r\n" by itself would abort us. Without the assertion the parser waits for the
// missing bytes, as it should.
#include <boost/assert.hpp>
#include <cstdio>
#include <cstdlib>
#include <string_view>

namespace {
constexpr std::string_view kWrong = "n >= 5", kIn = "basic_parser.ipp";
}  // namespace

namespace boost {

void assertion_failed(const char* claim, const char* function, const char* file, long line) {
  if (claim == kWrong && std::string_view(file).ends_with(kIn)) return;
  std::fprintf(stderr, "%s:%ld: %s: assertion `%s' failed\n", file, line, function, claim);
  std::abort();
}

void assertion_failed_msg(const char* claim, const char* what, const char* function, const char* file, long line) {
  std::fprintf(stderr, "%s:%ld: %s: assertion `%s' failed: %s\n", file, line, function, claim, what);
  std::abort();
}

}  // namespace boost
