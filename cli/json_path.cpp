#include "cli/json_path.hpp"

#include <algorithm>
#include <cstddef>

#include "cli/json_path_parse.hpp"
#include "common/nearest.hpp"

namespace wattle::cli {

namespace {
using Json = OrderedJson;
using Step = JsonPath::Step;
using Kind = JsonPath::Kind;
using Compare = JsonPath::Compare;
using Values = std::vector<const Json*>;

void add_children(const Json& of, Values& out) {
  if (of.is_array())
    for (const Json& each : of) out.push_back(&each);
  if (of.is_object())
    for (const auto& [key, value] : of.items()) out.push_back(&value);
}

std::ptrdiff_t from_end(std::int64_t index, std::ptrdiff_t size) { return index < 0 ? index + size : index; }

bool ordered(Compare how, bool less, bool equal) {
  if (how == Compare::less) return less;
  if (how == Compare::at_most) return less || equal;
  if (how == Compare::more) return !less && !equal;
  return !less;
}

bool holds(const Json& value, Compare how, const Json& with) {
  if (value.is_number() && with.is_number()) {
    const auto left = value.get<double>(), right = with.get<double>();
    if (how == Compare::equal || how == Compare::unequal) return (left == right) == (how == Compare::equal);
    return ordered(how, left < right, left == right);
  }
  if (how == Compare::equal || how == Compare::unequal) return (value == with) == (how == Compare::equal);
  return value.is_string() && with.is_string() &&
         ordered(how, value.string() < with.string(), value.string() == with.string());
}

Values walked(const std::vector<Step>& steps, std::size_t count, Values at);

bool passes(const Step& filter, const Json& value) {
  const Values found = walked(filter.of, filter.of.size(), {&value});
  if (filter.compare == Compare::exists) return !found.empty();
  return std::any_of(found.begin(), found.end(),
                     [&](const Json* each) { return holds(*each, filter.compare, filter.with); });
}

void add_step(const Step& step, const Json& of, Values& out) {
  if (step.kind == Kind::key) {
    if (const Json* found = of.member(step.key)) out.push_back(found);
    return;
  }
  Values children;
  add_children(of, children);
  if (step.kind == Kind::all || step.kind == Kind::filter) {
    for (const Json* child : children)
      if (step.kind == Kind::all || passes(step, *child)) out.push_back(child);
    return;
  }
  if (!of.is_array()) return;
  const auto size = static_cast<std::ptrdiff_t>(children.size());
  const std::ptrdiff_t first = from_end(step.first.value_or(0), size);
  const std::ptrdiff_t last = step.kind == Kind::index ? first + 1 : from_end(step.last.value_or(size), size);
  for (std::ptrdiff_t i = step.kind == Kind::slice ? std::max<std::ptrdiff_t>(first, 0) : first;
       i >= 0 && i < std::min(last, size); ++i)
    out.push_back(children[static_cast<std::size_t>(i)]);
}

// The values after the first `count` steps.
Values walked(const std::vector<Step>& steps, std::size_t count, Values at) {
  for (std::size_t i = 0; i < count; ++i) {
    Values next;
    for (const Json* value : at) add_step(steps[i], *value, next);
    at = std::move(next);
  }
  return at;
}
}  // namespace

Result<JsonPath> JsonPath::parse(std::string_view text, const std::string& subject, std::size_t before) {
  JsonPath path;
  path.subject_ = subject;
  JsonPathReader reader(text, subject, before);
  path.from_root_ = reader.take("$");
  if (!path.from_root_) static_cast<void>(reader.take("@"));
  WATTLE_TRY(path.steps_, reader.steps());
  if (!reader.at_end()) return reader.wrong("a path continues with \".\" or \"[\"", "for example .nodes[*].name");
  return path;
}

Values JsonPath::of(const Json& root, const Json& at) const {
  return walked(steps_, steps_.size(), {from_root_ ? &root : &at});
}

std::optional<Error> JsonPath::unknown_key(const Json& root) const {
  for (std::size_t i = 0; i < steps_.size(); ++i) {
    if (steps_[i].kind != Kind::key) continue;
    if (!walked(steps_, i + 1, {&root}).empty()) continue;
    std::vector<std::string> names;
    for (const Json* value : walked(steps_, i, {&root}))
      if (value->is_object())
        for (const auto& [key, member] : value->items())
          if (std::find(names.begin(), names.end(), key) == names.end()) names.push_back(key);
    if (names.empty()) return std::nullopt;
    return Error{Errc::malformed, subject_,
                 "column " + std::to_string(steps_[i].column) + ": unknown key \"" + steps_[i].key + "\"",
                 did_you_mean(steps_[i].key, names, "keys: " + comma_list(names))};
  }
  return std::nullopt;
}

}  // namespace wattle::cli
