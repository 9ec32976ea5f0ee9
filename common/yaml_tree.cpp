#include "common/yaml_tree.hpp"

#include <yaml-cpp/yaml.h>

#include "common/dir.hpp"
#include "common/parse.hpp"

namespace wattle {
namespace {

using Json = OrderedJson;
constexpr std::size_t kMaxDepth = 64;
constexpr std::size_t kMaxValues = 200'000;
constexpr std::size_t kMaxBytes = 8 << 20;

bool is_one_of(std::string_view text, std::initializer_list<std::string_view> words) {
  for (const std::string_view word : words)
    if (text == word) return true;
  return false;
}

Json plain(const std::string& text) {
  if (is_one_of(text, {"", "~", "null", "Null", "NULL"})) return nullptr;
  if (is_one_of(text, {"true", "True", "TRUE"})) return true;
  if (is_one_of(text, {"false", "False", "FALSE"})) return false;
  const std::string_view digits = text.starts_with('+') ? std::string_view(text).substr(1) : std::string_view(text);
  if (digits.empty() || digits.find_first_not_of("0123456789+-.eE") != std::string_view::npos ||
      digits.find_first_of("0123456789") == std::string_view::npos)
    return text;
  if (const auto whole = parse::integer<std::int64_t>(digits)) return *whole;
  if (const auto real = parse::real(digits)) return *real;
  return text;
}

class Reader {
 public:
  explicit Reader(std::string name) : name_(std::move(name)) {}

  Result<Json> read(const YAML::Node& node, std::size_t depth) {
    if (depth > kMaxDepth) return fail(Errc::out_of_range, at(node), "is nested too deep");
    if (++values_ > kMaxValues) return fail(Errc::out_of_range, at(node), "contains too many values");
    // An escape can encode half of a surrogate pair.
    if (node.IsScalar() && !parse::is_utf8(node.Scalar())) return fail(Errc::malformed, at(node), "is not UTF-8 text");
    if (node.IsScalar()) return node.Tag() == "?" || node.Tag().empty() ? plain(node.Scalar()) : Json(node.Scalar());
    if (node.IsSequence()) return list(node, depth);
    if (node.IsMap()) return map(node, depth);
    return Json(nullptr);
  }

 private:
  std::string at(const YAML::Node& node) const { return name_ + ":" + std::to_string(node.Mark().line + 1); }

  Result<Json> list(const YAML::Node& node, std::size_t depth) {
    Json out = Json::array();
    for (const auto& item : node) {
      WATTLE_TRY(Json value, read(item, depth + 1));
      out.push_back(std::move(value));
    }
    return out;
  }

  Result<Json> map(const YAML::Node& node, std::size_t depth) {
    Json out = Json::object();
    for (const auto& entry : node) {
      if (!entry.first.IsScalar()) return fail(Errc::malformed, at(node), "contains a key that is not a single word");
      const std::string& key = entry.first.Scalar();
      if (!parse::is_utf8(key)) return fail(Errc::malformed, at(entry.first), "contains a key that is not UTF-8 text");
      if (out.contains(key))
        return fail(Errc::malformed, at(entry.first), "contains '" + key + "' twice", "remove one");
      WATTLE_TRY(Json value, read(entry.second, depth + 1));
      out[key] = std::move(value);
    }
    return out;
  }

  std::string name_;
  std::size_t values_ = 0;
};

// Splits at document markers, because yaml-cpp's LoadAll does not terminate on some malformed texts (",a1").
std::vector<std::string> documents_of(std::string_view text) {
  std::vector<std::string> out(1);
  parse::for_each_line(text, [&](std::string_view line) {
    const bool marker = line.starts_with("---") && (line.size() == 3 || line[3] == ' ' || line[3] == '\r');
    if (marker) out.emplace_back();
    out.back().append(line).append("\n");
  });
  return out;
}

}  // namespace

Result<std::vector<Json>> parse_yaml(const std::string& text, const std::string& name) {
  // yaml-cpp would take a text with a zero byte for UTF-16.
  if (!parse::is_utf8(text) || text.find('\0') != std::string::npos)
    return fail(Errc::malformed, name, "is not UTF-8 text");
  try {
    std::vector<Json> out;
    Reader reader(name);
    for (const std::string& document : documents_of(text)) {
      WATTLE_TRY(Json value, reader.read(YAML::Load(document), 0));
      if (!value.is_null()) out.push_back(std::move(value));
    }
    return out;
  } catch (const YAML::Exception& error) {
    return fail(Errc::malformed, name + ":" + std::to_string(error.mark.line + 1), error.msg);
  }
}

Result<std::vector<Json>> load_yaml(const std::string& path) {
  WATTLE_TRY(const std::string text, read_file(path, kMaxBytes));
  return parse_yaml(text, path);
}

}  // namespace wattle
