#include "common/kube/label_selector.hpp"

#include <algorithm>
#include <cctype>

#include "common/parse.hpp"

namespace wattle::kube {

namespace {
// Characters of keys and values; the API server checks lengths and the position of '/' and '.'.
bool is_word(std::string_view text, bool may_be_empty) {
  if (text.empty()) return may_be_empty;
  return text.size() <= 317 && std::ranges::all_of(text, [](char c) {
           return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '_' || c == '.' || c == '/';
         });
}

// The parts between commas that are not in parentheses.
std::vector<std::string_view> split(std::string_view text) {
  std::vector<std::string_view> out;
  std::size_t from = 0;
  bool inside = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '(' || text[i] == ')') inside = text[i] == '(';
    if (text[i] != ',' || inside) continue;
    out.push_back(text.substr(from, i - from));
    from = i + 1;
  }
  out.push_back(text.substr(from));
  return out;
}
}  // namespace

Result<LabelSelector::Requirement> LabelSelector::requirement_of(std::string_view text, const std::string& subject) {
  const std::string whole(parse::trim(text));
  const auto wrong = [&](const std::string& what) {
    return fail(Errc::malformed, subject, "'" + whole + "' " + what, "for example zone=a, gpu, !gpu or zone in (a, b)");
  };
  Requirement out;
  std::string_view key = whole, values;
  const auto open = whole.find('('), sign = whole.find('='), order = whole.find_first_of("<>");
  if (whole.starts_with('!')) {
    out.kind = Kind::absent;
    key = parse::trim(key.substr(1));
  } else if (open != std::string::npos) {
    if (!whole.ends_with(')')) return wrong("has no closing parenthesis");
    const auto words = parse::fields(std::string_view(whole).substr(0, open));
    if (words.size() != 2 || (words[1] != "in" && words[1] != "notin")) return wrong("has neither in nor notin");
    out.kind = words[1] == "in" ? Kind::in : Kind::not_in;
    key = words[0];
    values = std::string_view(whole).substr(open + 1, whole.size() - open - 2);
  } else if (sign != std::string::npos) {
    const bool unequal = sign > 0 && whole[sign - 1] == '!';
    out.kind = unequal ? Kind::not_in : Kind::in;
    key = parse::trim(std::string_view(whole).substr(0, unequal ? sign - 1 : sign));
    const bool twice = !unequal && whole.substr(sign + 1).starts_with('=');
    values = std::string_view(whole).substr(sign + (twice ? 2 : 1));
  } else if (order != std::string::npos) {
    out.kind = whole[order] == '>' ? Kind::above : Kind::below;
    key = parse::trim(std::string_view(whole).substr(0, order));
    values = parse::trim(std::string_view(whole).substr(order + 1));
    if (!wattle::parse::integer<std::int64_t>(values))
      return wrong("compares with something that is not a whole number");
  }
  if (!is_word(key, false)) return wrong("has no valid key");
  out.key = key;
  if (out.kind == Kind::exists || out.kind == Kind::absent) return out;
  for (const std::string_view value : split(values)) {
    out.values.emplace_back(parse::trim(value));
    if (!is_word(out.values.back(), true)) return wrong("has an invalid value");
  }
  return out;
}

Result<LabelSelector> LabelSelector::parse(std::string_view text, const std::string& subject) {
  LabelSelector out;
  if (wattle::parse::trim(text).empty()) return out;
  for (const std::string_view part : split(text)) {
    WATTLE_TRY(Requirement one, requirement_of(part, subject));
    out.requirements_.push_back(std::move(one));
  }
  return out;
}

bool LabelSelector::matches(const std::map<std::string, std::string>& labels) const {
  return std::ranges::all_of(requirements_, [&](const Requirement& one) {
    const auto found = labels.find(one.key);
    if (one.kind == Kind::exists || one.kind == Kind::absent)
      return (found != labels.end()) == (one.kind == Kind::exists);
    if (one.kind == Kind::above || one.kind == Kind::below) {
      const auto label = found == labels.end() ? std::nullopt : wattle::parse::integer<std::int64_t>(found->second);
      const auto limit = wattle::parse::integer<std::int64_t>(one.values.front());
      return label && limit && (one.kind == Kind::above ? *label > *limit : *label < *limit);
    }
    const bool is_in = found != labels.end() && std::ranges::find(one.values, found->second) != one.values.end();
    return is_in == (one.kind == Kind::in);
  });
}

}  // namespace wattle::kube
