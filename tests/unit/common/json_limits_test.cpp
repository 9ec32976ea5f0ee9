// json_limits: the limits of common/json (text, depth and memory), each checked before the value that exceeds it is
// built.
#include <doctest/doctest.h>
#include <malloc.h>

#include <string>

#include "common/json/value.hpp"

using namespace wattle;

namespace {

std::string repeated(const std::string& head, const std::string& piece, std::size_t times, const std::string& tail) {
  std::string out = head;
  out.reserve(head.size() + piece.size() * times + tail.size());
  for (std::size_t i = 0; i < times; ++i) out += piece;
  return out + tail;
}

// A sanitizer's allocator does not report its heap, and is three times as slow.
#ifdef WATTLE_SANITIZED
constexpr std::size_t kHeapMeasuredBytes = 8 << 20;
#else
constexpr std::size_t kHeapMeasuredBytes = 48 << 20;
#endif

// Heap bytes in use.
std::size_t in_use() {
  const struct mallinfo2 now = ::mallinfo2();
  return now.uordblks + now.hblkhd;
}

}  // namespace

TEST_CASE("text above the depth limit is refused at any depth, and text at the limit is accepted") {
  for (const auto& [open, close] : {std::pair<std::string, std::string>{"[", "]"}, {R"({"a":)", "}"}}) {
    const auto nested = [&, open = open, close = close](std::size_t depth) {
      return repeated(repeated("", open, depth, "1"), close, depth, "");
    };
    const JsonLimits limits{.text_bytes = 64 << 20, .built_bytes = 64 << 20, .depth = 64};
    CHECK(SortedJson::parse(nested(64), limits));
    for (const std::size_t depth : {std::size_t{65}, std::size_t{75'000}, std::size_t{5'000'000}}) {
      const auto refused = OrderedJson::parse(nested(depth), limits, "body");
      REQUIRE_FALSE(refused);
      CHECK(refused.error().code == Errc::out_of_range);
      CHECK(refused.error().subject == "body");
      CHECK(refused.error().what == "is nested deeper than 64");
      CHECK(SortedJson::read(nested(depth), limits).is_discarded());
    }
    // Skipped members count as well.
    const auto skipped = SortedJson::parse(R"({"skip":)" + nested(75'000) + "}", limits, "body",
                                           [](std::size_t, std::string_view key) { return key != "skip"; });
    REQUIRE_FALSE(skipped);
    CHECK(skipped.error().what == "is nested deeper than 64");
  }
}

TEST_CASE("text above its size limit is refused before it is parsed") {
  const JsonLimits limits{.text_bytes = 4, .built_bytes = 1 << 20};
  CHECK(SortedJson::parse("[12]", limits));
  const auto refused = SortedJson::parse("[123]", limits, "body");
  REQUIRE_FALSE(refused);
  CHECK(refused.error().what == "is longer than 4 bytes");
}

TEST_CASE("no kind of text takes more memory than its limit") {
  constexpr std::size_t kBuilt = 8 << 20;
  const JsonLimits limits{.text_bytes = 64 << 20, .built_bytes = kBuilt};
  std::string distinct = "{";
  for (int i = 0; i < 400'000; ++i) distinct += "\"" + std::to_string(i) + "\":0,";
  distinct.back() = '}';
  const std::string texts[] = {repeated(R"({"Pod":[0)", ",[]", 2'000'000, "]}"),
                               repeated(R"({"Pod":[0)", ",{}", 2'000'000, "]}"),
                               repeated(R"({"Pod":[0)", ",0", 3'000'000, "]}"),
                               repeated(R"({"Pod":[0)", R"(,"")", 2'000'000, "]}"),
                               repeated(R"({"Pod":[0)", R"(,"0123456789abcdef")", 500'000, "]}"),
                               repeated(R"({"Pod":[0)", R"(,[[[[[]]]]])", 500'000, "]}"),
                               repeated(R"({"Pod":[0)", R"(,{"a":{}})", 500'000, "]}"),
                               distinct};
  for (const std::string& text : texts) {
    CAPTURE(text.substr(0, 30));
    const std::size_t before = in_use();
    std::size_t most = 0;
    {
      const auto refused = SortedJson::parse(text, limits, "body", [&](std::size_t, std::string_view) {
        most = std::max(most, in_use() - before);
        return true;
      });
      REQUIRE_FALSE(refused);
      CHECK(refused.error().code == Errc::out_of_range);
      CHECK(refused.error().what == "takes more than 8388608 bytes of memory");
      most = std::max(most, in_use() - before);
    }
    CHECK(most <= kBuilt + (64 << 10));
    CHECK(in_use() <= before + (64 << 10));
  }
}

TEST_CASE("accepted text takes at most the limit, measured on the heap") {
  constexpr std::size_t kBuilt = kHeapMeasuredBytes;
  const JsonLimits limits{.text_bytes = 64 << 20, .built_bytes = kBuilt};
  for (const char* piece :
       {",[]", ",{}", ",0", R"(,"")", R"(,"0123456789abcdef0123456789abcdef")", R"(,{"a":[1,2,3]})"}) {
    CAPTURE(piece);
    // The largest accepted list of that piece.
    std::size_t low = 1, high = kBuilt / 12;
    while (high - low > low / 8) {
      const std::size_t middle = (low + high) / 2;
      (SortedJson::parse(repeated("[0", piece, middle, "]"), limits) ? low : high) = middle;
    }
    const std::string text = repeated("[0", piece, low, "]");
    const std::size_t before = in_use();
    const auto built = SortedJson::parse(text, limits);
    REQUIRE(built);
    CHECK(in_use() - before <= kBuilt);
    CHECK(built->size() == low + 1);
  }
}

TEST_CASE("an object with many keys in any order, or one key many times, is parsed in time") {
  const JsonLimits limits{.text_bytes = 64 << 20, .built_bytes = 256 << 20};
  std::string backwards = "{";
  for (int i = 500'000; i > 0; --i) backwards += "\"" + std::to_string(1'000'000 + i) + "\":0,";
  backwards.back() = '}';
  const auto sorted = SortedJson::parse(backwards, limits);
  REQUIRE(sorted);
  CHECK(sorted->size() == 500'000);
  CHECK(sorted->begin().key() == "1000001");
  const auto added = OrderedJson::parse(backwards, limits);
  REQUIRE(added);
  CHECK(added->begin().key() == "1500000");
  const auto one = OrderedJson::parse(repeated(R"({"b":1)", R"(,"a":2)", 400'000, "}"), limits);
  REQUIRE(one);
  CHECK(one->dump() == R"({"b":1,"a":2})");
}
