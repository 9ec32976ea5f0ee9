#include "cli/json_template.hpp"

#include <utility>

#include "common/parse.hpp"
#include "common/printable.hpp"

namespace wattle::cli {

namespace {
using Json = OrderedJson;
using Part = JsonTemplate::Part;

constexpr std::size_t kMostText = 64 << 10;
constexpr std::size_t kMostRanges = 8;  // ranges within ranges
const std::string kSubject = "-o jsonpath";

tl::unexpected<Error> wrong(std::size_t at, const std::string& what, const std::string& fix) {
  return fail(Errc::malformed, kSubject, "column " + std::to_string(at + 1) + ": " + what, fix);
}

// Position of the brace that closes the one at `open`; npos: none. Braces in quotes do not count.
std::size_t closing(std::string_view text, std::size_t open) {
  char quote = 0;
  for (std::size_t i = open + 1; i < text.size(); ++i) {
    if (quote != 0 && text[i] == '\\')
      ++i;
    else if (quote != 0)
      quote = text[i] == quote ? '\0' : quote;
    else if (text[i] == '"' || text[i] == '\'')
      quote = text[i];
    else if (text[i] == '}')
      return i;
  }
  return std::string_view::npos;
}

// Text in quotes, with \n, \t and \r; any other escaped character is taken literally.
Result<std::string> unquoted(std::string_view text, std::size_t at) {
  if (text.size() < 2 || text.back() != text.front())
    return wrong(at, "the text does not end", "add the closing quote");
  std::string out;
  for (std::size_t i = 1; i + 1 < text.size(); ++i) {
    if (text[i] != '\\' || i + 2 >= text.size()) {
      out += text[i];
      continue;
    }
    const char next = text[++i];
    out += next == 'n' ? '\n' : next == 't' ? '\t' : next == 'r' ? '\r' : next;
  }
  return out;
}

class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) {}
  Result<std::vector<Part>> parts(std::size_t depth) {
    std::vector<Part> out;
    while (at_ < text_.size()) {
      const std::size_t open = std::min(text_.find('{', at_), text_.size());
      if (open > at_) out.push_back({std::string(text_.substr(at_, open - at_)), {}, false, {}});
      at_ = open;
      if (open == text_.size()) break;
      const std::size_t close = closing(text_, open);
      if (close == std::string_view::npos) return wrong(open, "\"{\" without \"}\"", "close the brace");
      at_ = close + 1;
      const std::string_view inside = text_.substr(open + 1, close - open - 1);
      const std::string_view word = parse::trim(inside);
      if (word == "end") {
        if (depth == 0) return wrong(open, "{end} without {range}", "write {range PATH} before it");
        ended_ = true;
        return out;
      }
      WATTLE_TRY(Part part, one(word, open + 1 + inside.find(word.empty() ? '\0' : word[0]), depth));
      out.push_back(std::move(part));
    }
    return out;
  }

 private:
  Result<Part> one(std::string_view word, std::size_t at, std::size_t depth) {
    Part part;
    if (word.empty()) return wrong(at_ - 1, "nothing is between the braces", "for example {.nodes[*].name}");
    if (word[0] == '"' || word[0] == '\'') {
      WATTLE_TRY(part.text, unquoted(word, at));
      return part;
    }
    constexpr std::string_view kRange = "range ";
    part.range = word.starts_with(kRange);
    if (part.range && depth == kMostRanges) return wrong(at, "too many ranges within ranges", "use at most 8");
    const std::string_view path = part.range ? parse::trim(word.substr(kRange.size())) : word;
    if (path.empty() || (path[0] != '.' && path[0] != '[' && path[0] != '$' && path[0] != '@'))
      return wrong(at + (part.range ? kRange.size() : 0), "a path begins with \".\", \"[\", \"$\" or \"@\"",
                   "for example {.nodes[*].name}");
    WATTLE_TRY(part.path, JsonPath::parse(path, kSubject, at + static_cast<std::size_t>(path.data() - word.data())));
    if (!part.range) return part;
    ended_ = false;
    WATTLE_TRY(part.body, parts(depth + 1));
    if (!ended_) return wrong(at, "{range} without {end}", "add {end}");
    ended_ = false;
    return part;
  }

  std::string_view text_;
  std::size_t at_ = 0;
  bool ended_ = false;
};

std::string shown(const Json& value) {
  if (value.is_null()) return "";
  return printable(value.is_string() ? value.string() : value.dump());
}

Result<std::string> written(const std::vector<Part>& parts, const Json& root, const Json& at, bool in_range) {
  std::string out;
  for (const Part& part : parts) {
    if (!part.path) {
      out += part.text;
      continue;
    }
    // Items of a range may lack a key that others have.
    if (!in_range)
      if (auto unknown = part.path->unknown_key(root)) return tl::unexpected<Error>(std::move(*unknown));
    bool first = true;
    for (const Json* value : part.path->of(root, at)) {
      if (part.range) {
        WATTLE_TRY(const std::string body, written(part.body, root, *value, true));
        out += body;
      } else {
        out += (first ? "" : " ") + shown(*value);
      }
      first = false;
    }
  }
  return out;
}
}  // namespace

Result<JsonTemplate> JsonTemplate::parse(std::string_view text) {
  if (text.size() > kMostText) return wrong(kMostText, "the template is too long", "use at most 64 KiB");
  JsonTemplate made;
  WATTLE_TRY(made.parts_, Reader(text).parts(0));
  if (text.find('{') == std::string_view::npos)
    return wrong(0, "there is no path in braces", "for example -o jsonpath='{.nodes[*].name}'");
  return made;
}

Result<std::string> JsonTemplate::text_of(const Json& document) const {
  return written(parts_, document, document, false);
}

}  // namespace wattle::cli
