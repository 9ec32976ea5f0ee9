#include "cli/json_path_parse.hpp"

#include <array>
#include <cctype>
#include <utility>

#include "common/parse.hpp"

namespace wattle::cli {

namespace {
using Step = JsonPath::Step;
using Kind = JsonPath::Kind;
using Compare = JsonPath::Compare;

constexpr std::size_t kMostFilters = 8;  // filters within filters
constexpr std::array<std::pair<std::string_view, Compare>, 6> kCompare{{{"==", Compare::equal},
                                                                        {"!=", Compare::unequal},
                                                                        {"<=", Compare::at_most},
                                                                        {">=", Compare::at_least},
                                                                        {"<", Compare::less},
                                                                        {">", Compare::more}}};

bool in_name(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return std::isalnum(byte) != 0 || byte >= 0x80 || c == '_' || c == '-' || c == '/';
}
}  // namespace

tl::unexpected<Error> JsonPathReader::wrong(const std::string& what, const std::string& fix) const {
  return fail(Errc::malformed, subject_, "column " + std::to_string(column()) + ": " + what, fix);
}

bool JsonPathReader::take(std::string_view expected) {
  if (!text_.substr(at_).starts_with(expected)) return false;
  at_ += expected.size();
  return true;
}

void JsonPathReader::skip_blanks() {
  while (!at_end() && text_[at_] == ' ') ++at_;
}

Result<std::vector<Step>> JsonPathReader::steps() {
  std::vector<Step> steps;
  while (!at_end()) {
    const std::size_t from = column();
    if (take("..")) {
      at_ -= 2;
      return wrong("\"..\" is not supported", "write the whole path, for example .nodes[*].name");
    }
    if (text_[at_] != '.' && text_[at_] != '[') break;
    WATTLE_TRY(Step step, take(".") ? after_dot() : in_brackets());
    step.column = from;
    steps.push_back(std::move(step));
  }
  return steps;
}

Result<Step> JsonPathReader::after_dot() {
  Step step;
  if (take("*")) {
    step.kind = Kind::all;
    return step;
  }
  // ".['a']" and ".[0]" are the same as "['a']" and "[0]".
  if (!at_end() && text_[at_] == '[') return in_brackets();
  while (!at_end() && (in_name(text_[at_]) || text_.substr(at_).starts_with("\\."))) {
    if (text_[at_] == '\\') ++at_;
    step.key += text_[at_++];
  }
  if (step.key.empty()) return wrong("a name is missing after \".\"", "for example .name");
  return step;
}

Result<std::string> JsonPathReader::quoted() {
  const char quote = text_[at_++];
  std::string out;
  while (!at_end() && text_[at_] != quote) {
    if (text_[at_] == '\\' && at_ + 1 < text_.size()) ++at_;
    out += text_[at_++];
  }
  if (!take(std::string_view(&quote, 1)))
    return wrong("the text does not end", std::string("add the closing ") + quote);
  return out;
}

Result<std::optional<std::int64_t>> JsonPathReader::whole_number() {
  skip_blanks();
  const bool negative = take("-");
  std::string digits;
  while (!at_end() && std::isdigit(static_cast<unsigned char>(text_[at_])) != 0) digits += text_[at_++];
  skip_blanks();
  if (digits.empty() && !negative) return std::optional<std::int64_t>();
  const auto value = parse::u64(digits);
  if (!value || *value > 1'000'000'000) return wrong("not a whole number", "use [0], [-1], [1:3] or [*]");
  return std::optional(negative ? -static_cast<std::int64_t>(*value) : static_cast<std::int64_t>(*value));
}

Status JsonPathReader::index_or_slice(Step& step) {
  WATTLE_TRY(step.first, whole_number());
  step.kind = Kind::index;
  if (take(":")) {
    step.kind = Kind::slice;
    WATTLE_TRY(step.last, whole_number());
  } else if (!step.first) {
    return wrong("neither a number, a name in quotes, * nor ?( follows \"[\"", "for example [0], ['name'] or [*]");
  }
  return {};
}

Result<Step> JsonPathReader::in_brackets() {
  Step step;
  if (!take("[")) return wrong("\"[\" is missing", "for example [0]");
  skip_blanks();
  if (take("*")) {
    step.kind = Kind::all;
  } else if (take("?(")) {
    WATTLE_TRY(step, filter());
  } else if (!at_end() && (text_[at_] == '\'' || text_[at_] == '"')) {
    WATTLE_TRY(step.key, quoted());
  } else {
    WATTLE_CHECK(index_or_slice(step));
  }
  skip_blanks();
  if (!take("]")) return wrong("\"]\" is missing", "close the bracket");
  return step;
}

Result<OrderedJson> JsonPathReader::literal() {
  if (!at_end() && (text_[at_] == '\'' || text_[at_] == '"')) {
    WATTLE_TRY(std::string text, quoted());
    return OrderedJson(std::move(text));
  }
  std::string word;
  while (!at_end() && (in_name(text_[at_]) || text_[at_] == '.' || text_[at_] == '+')) word += text_[at_++];
  if (word == "true" || word == "false") return OrderedJson(word == "true");
  if (word == "null") return OrderedJson(nullptr);
  if (const auto value = parse::real(word)) return OrderedJson(*value);
  return wrong("\"" + word + "\" is not a value", "put text in quotes: @.name == \"worker-1\"");
}

Result<Step> JsonPathReader::filter() {
  if (++depth_ > kMostFilters) return wrong("too many filters within filters", "use at most 8");
  Step step;
  step.kind = Kind::filter;
  skip_blanks();
  if (!take("@")) return wrong("a filter begins with @", "for example [?(@.connected == false)]");
  WATTLE_TRY(step.of, steps());
  skip_blanks();
  for (const auto& [sign, compare] : kCompare) {
    if (!take(sign)) continue;
    step.compare = compare;
    skip_blanks();
    WATTLE_TRY(step.with, literal());
    skip_blanks();
    break;
  }
  if (!take(")")) return wrong("\")\" is missing", "use one comparison: ==, !=, <, <=, > or >=");
  --depth_;
  return step;
}

}  // namespace wattle::cli
