// json_property: common/json compared with nlohmann's library: the same bytes, the same accepted texts, the same order
// of members.
#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <array>
#include <bit>
#include <limits>
#include <nlohmann/json.hpp>

#include "common/json/value.hpp"

using namespace wattle;

namespace {

constexpr JsonLimits kWide{.text_bytes = 16 << 20, .built_bytes = 256 << 20, .depth = 64};

// Pieces that escaping and decoding must distinguish: control characters, quotes, one character of each UTF-8 length,
// and U+FFFD.
const std::vector<std::string>& valid_pieces() {
  static const std::vector<std::string> kPieces{
      "a",           "Zz", "\"", "\\",   "/",    std::string(1, '\0'), "\b",           "\f",
      "\n",          "\r", "\t", "\x1f", "\x7f", "\xc3\xa9",           "\xe2\x82\xac", "\xf0\x9f\x98\x80",
      "\xef\xbf\xbd"};
  return kPieces;
}

// The same with partial characters and forms that UTF-8 forbids.
const std::vector<std::string>& any_pieces() {
  static const std::vector<std::string> kPieces = [] {
    std::vector<std::string> all = valid_pieces();
    for (const char* wrong : {"\xc3", "\xe2\x82", "\xf0", "\xa0", "\xc0\x80", "\xed\xa0\x80", "\xf4\x90\x80\x80",
                              "\xff", "\xf0\x9f\x98", "\xe0\x80\x80"})
      all.emplace_back(wrong);
    return all;
  }();
  return kPieces;
}

enum class Utf8 { valid, any };

rc::Gen<std::string> texts(Utf8 utf8) {
  return rc::gen::map(rc::gen::container<std::vector<std::string>>(
                          rc::gen::elementOf(utf8 == Utf8::valid ? valid_pieces() : any_pieces())),
                      [](const auto& pieces) {
                        std::string out;
                        for (const auto& each : pieces) out += each;
                        return out;
                      });
}

rc::Gen<double> reals() {
  return rc::gen::oneOf(
      rc::gen::map(rc::gen::arbitrary<std::uint64_t>(), [](std::uint64_t bits) { return std::bit_cast<double>(bits); }),
      rc::gen::map(rc::gen::arbitrary<std::int32_t>(), [](std::int32_t n) { return n / 1000.0; }),
      rc::gen::element(0.0, -0.0, 0.1, 1.0, 1e15, 1e16, 1e20, 1e21, 1e-4, 1e-5, 5e-324, 1.7976931348623157e308, 1.0 / 3,
                       std::numeric_limits<double>::infinity(), std::numeric_limits<double>::quiet_NaN()));
}

// Builds the same random document in both libraries.
template <class Ours, class Theirs>
struct Both {
  Ours ours;
  Theirs theirs;
};

template <class Ours, class Theirs>
Both<Ours, Theirs> both(int depth, Utf8 utf8) {
  Both<Ours, Theirs> out;
  const auto set = [&](const auto& value) {
    out.ours = value;
    out.theirs = value;
  };
  switch (*rc::gen::inRange(0, depth > 0 ? 9 : 7)) {
    case 0:
      break;
    case 1:
      set(*rc::gen::arbitrary<bool>());
      break;
    case 2:
      set(*rc::gen::arbitrary<int>());
      break;
    case 3:
      set(*rc::gen::arbitrary<std::uint64_t>());
      break;
    case 4:
      set(*rc::gen::arbitrary<std::int64_t>());
      break;
    case 5:
      set(*reals());
      break;
    case 6:
      set(*texts(utf8));
      break;
    case 7:
      out = {Ours::array(), Theirs::array()};
      for (int left = *rc::gen::inRange(0, 5); left > 0; --left) {
        auto each = both<Ours, Theirs>(depth - 1, utf8);
        out.ours.push_back(std::move(each.ours));
        out.theirs.push_back(std::move(each.theirs));
      }
      break;
    default:
      out = {Ours::object(), Theirs::object()};
      for (int left = *rc::gen::inRange(0, 24); left > 0; --left) {
        const auto key = *rc::gen::oneOf(texts(utf8), rc::gen::element<std::string>("a", "b", "c", "d"));
        auto each = both<Ours, Theirs>(left > 4 ? 0 : depth - 1, utf8);
        out.ours[key] = std::move(each.ours);
        out.theirs[key] = std::move(each.theirs);
      }
  }
  return out;
}

template <class Ours, class Theirs>
Ours same_bytes(Utf8 utf8) {
  auto made = both<Ours, Theirs>(3, utf8);
  for (const int indent : {-1, 0, 1, 2})
    for (const bool ascii : {false, true})
      RC_ASSERT(made.ours.dump(indent, ascii ? JsonText::ascii : JsonText::utf8) ==
                made.theirs.dump(indent, ' ', ascii, Theirs::error_handler_t::replace));
  return std::move(made.ours);
}

template <class Ours, class Theirs>
void reads_back() {
  const std::string text = same_bytes<Ours, Theirs>(Utf8::valid).dump();
  const auto read = Ours::parse(text, kWide);
  RC_ASSERT(read.has_value());
  RC_ASSERT(read->dump() == text);
  RC_ASSERT(Theirs::parse(text).dump() == text);
  RC_ASSERT(*read == Ours::parse(text, kWide).value());
}

// Keys that differ only in invalid bytes are written alike, so they are one key once they are read.
template <class Ours, class Theirs>
void settles() {
  const std::string text = same_bytes<Ours, Theirs>(Utf8::any).dump();
  const auto read = Ours::parse(text, kWide);
  RC_ASSERT(read.has_value());
  RC_ASSERT(read->dump() == Theirs::parse(text).dump());
  const auto again = Ours::parse(read->dump(), kWide);
  RC_ASSERT(again.has_value());
  RC_ASSERT(*again == *read);
  RC_ASSERT(again->dump() == read->dump());
}

// Text that resembles JSON.
std::string nearly_json() {
  static const std::vector<std::string> kTokens{"{",
                                                "}",
                                                "[",
                                                "]",
                                                ",",
                                                ":",
                                                "\"a\"",
                                                "\"b\"",
                                                "\"\\u00e9\"",
                                                "\"\\ud800\"",
                                                "\"\\ud83d\\ude00\"",
                                                "\"\x01\"",
                                                "\"\xff\"",
                                                "0",
                                                "-0",
                                                "01",
                                                "1e5",
                                                "1e999",
                                                "-1",
                                                "1.5",
                                                "1.",
                                                "18446744073709551616",
                                                "-9223372036854775809",
                                                "true",
                                                "false",
                                                "null",
                                                "nul",
                                                " ",
                                                "\n",
                                                "\"open",
                                                "\xef\xbb\xbf",
                                                "/**/",
                                                "\"\\x\"",
                                                "9007199254740993"};
  std::string out;
  for (const auto& each : *rc::gen::container<std::vector<std::string>>(rc::gen::elementOf(kTokens))) out += each;
  return out;
}

// The text of a document with repeated keys.
std::string repeated_keys() {
  std::string out = "{";
  const int members = *rc::gen::inRange(0, 60);
  for (int i = 0; i < members; ++i)
    out += (i != 0 ? ",\"" : "\"") + std::string(1, static_cast<char>('a' + *rc::gen::inRange(0, 26))) +
           std::string(static_cast<std::size_t>(*rc::gen::inRange(0, 2)), 'x') +
           (i % 7 == 0 ? "\":[1,{\"b\":2,\"a\":1}]" : "\":" + std::to_string(i));
  return out + "}";
}

template <class Ours, class Theirs>
void same_reading(const std::string& text) {
  const auto theirs = Theirs::parse(text, nullptr, false);
  const auto ours = Ours::parse(text, kWide);
  RC_ASSERT(ours.has_value() == !theirs.is_discarded());
  if (!ours) {
    RC_ASSERT(ours.error().code == Errc::malformed);
    return;
  }
  RC_ASSERT(ours->dump() == theirs.dump());
  RC_ASSERT(ours->is_number_unsigned() == theirs.is_number_unsigned());
  RC_ASSERT(ours->is_number_float() == theirs.is_number_float());
}

}  // namespace

TEST_CASE("a sorted document has the bytes of nlohmann's json, and survives a round trip") {
  CHECK(rc::check([] { reads_back<SortedJson, nlohmann::json>(); }));
}

TEST_CASE("an ordered document has the bytes of nlohmann's ordered_json, and survives a round trip") {
  CHECK(rc::check([] { reads_back<OrderedJson, nlohmann::ordered_json>(); }));
}

TEST_CASE("text that is not UTF-8 is written with U+FFFD and read as by nlohmann's json, and is then stable") {
  CHECK(rc::check([] { settles<SortedJson, nlohmann::json>(); }));
  CHECK(rc::check([] { settles<OrderedJson, nlohmann::ordered_json>(); }));
  for (const std::string& piece : any_pieces()) {
    CAPTURE(piece);
    const auto& valid = valid_pieces();
    const bool wrong = std::find(valid.begin(), valid.end(), piece) == valid.end();
    CHECK((SortedJson("<" + piece + ">").dump().find("\xef\xbf\xbd") != std::string::npos) ==
          (wrong || piece == "\xef\xbf\xbd"));
  }
}

TEST_CASE("parsing accepts and refuses the same texts as nlohmann's parser") {
  CHECK(rc::check([] {
    const std::string text = nearly_json();
    same_reading<SortedJson, nlohmann::json>(text);
    same_reading<OrderedJson, nlohmann::ordered_json>("[" + text + "]");
  }));
}

TEST_CASE("a repeated key has its first position and its last value, in small and large objects") {
  CHECK(rc::check([] {
    const std::string text = repeated_keys();
    same_reading<SortedJson, nlohmann::json>(text);
    same_reading<OrderedJson, nlohmann::ordered_json>(text);
  }));
}

TEST_CASE("lists in braces are arrays and objects as in nlohmann's library") {
  const auto check = [](const SortedJson& ours, const nlohmann::json& theirs) { CHECK(ours.dump() == theirs.dump()); };
  const std::string text = "text";
  const std::vector<std::string> two{"x", "y"};
  const std::map<std::string, double> members{{"b", 0.5}, {"a", 2}};
  check({{"b", 1}, {"a", text}, {"b", 2}}, {{"b", 1}, {"a", text}, {"b", 2}});
  check({"a", "b"}, {"a", "b"});
  check({{"a", {}}}, {{"a", {}}});
  check({{"a", {1, 2.0, -3, true, nullptr}}}, {{"a", {1, 2.0, -3, true, nullptr}}});
  check({{"a", {{"b", {{"c", 1}}}}}}, {{"a", {{"b", {{"c", 1}}}}}});
  check({{"a", two}, {"m", members}}, {{"a", two}, {"m", members}});
  check({two, two}, {two, two});
  check({{"a", 1}, 2}, {{"a", 1}, 2});
  check(SortedJson::array({{"a", 1}}), nlohmann::json::array({{"a", 1}}));
  check(SortedJson::object({{"a", 1}}), nlohmann::json::object({{"a", 1}}));
  SortedJson value = 1;
  check(SortedJson::array({value}), nlohmann::json::array({1}));
  check({{"v", value}, {"moved", std::move(value)}}, {{"v", 1}, {"moved", 1}});
  SortedJson grown;
  grown["list"].push_back({{"a", 1}});
  grown["list"].push_back({1, 2});
  grown["pair"] = SortedJson::object();
  grown["pair"].push_back({"k", 3});
  CHECK(grown.dump() == R"({"list":[{"a":1},[1,2]],"pair":{"k":3}})");
}

TEST_CASE("numbers compare by value and are read within the range of the requested type") {
  CHECK(SortedJson(1) == SortedJson(1U));
  CHECK(SortedJson(1.0) == SortedJson(1));
  CHECK(SortedJson(-1) != SortedJson(std::uint64_t{18446744073709551615ULL}));
  CHECK(SortedJson(1e300).get<int>() == std::numeric_limits<int>::max());
  CHECK(SortedJson(-5).get<std::uint64_t>() == 0);
  CHECK(SortedJson(std::uint64_t{1} << 63U).get<std::int64_t>() == std::numeric_limits<std::int64_t>::max());
  CHECK_THROWS_AS(SortedJson("1").get<double>(), JsonError);
  CHECK_THROWS_AS(SortedJson(1).get<bool>(), JsonError);
  CHECK_THROWS_AS(SortedJson(1).at("a"), JsonError);
  CHECK_THROWS_AS(SortedJson::array().value("a", 1), JsonError);
}
