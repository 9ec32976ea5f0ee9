#include "common/config.hpp"

#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "common/config_twice.hpp"
#include "common/config_words.hpp"
#include "common/dir.hpp"
#include "common/nearest.hpp"
#include "common/parse.hpp"

namespace wattle::config {
struct Document::Impl {
  std::string name;
  YAML::Node yaml;
  std::vector<std::pair<int, std::string>> mistakes;  // line, text
  std::vector<Key> keys;                              // read so far
  std::shared_ptr<Section::Node> root;
};

struct Section::Node {
  Document::Impl* document;
  YAML::Node yaml;   // a map, or null if the section is missing
  std::string path;  // "controller.keys", empty at the root
  std::set<std::string, std::less<>> known;
  std::map<std::string, std::shared_ptr<Node>, std::less<>> children;
  std::vector<std::shared_ptr<Node>> listed;

  std::string full(std::string_view key) const {
    return path.empty() ? std::string(key) : path + "." + std::string(key);
  }

  void add(std::string_view key, int line, std::string_view what, std::string_view fix) {
    std::string text = document->name + ":" + std::to_string(line) + ": " + full(key) + ": " + std::string(what);
    if (!fix.empty()) text += " (" + std::string(fix) + ")";
    document->mistakes.emplace_back(line, std::move(text));
  }

  // Registers a key for keys(); one item of a list represents all items.
  void ask(std::string_view key, std::string_view kind, std::string standing, std::string range = {},
           bool required = false) {
    std::string name = full(key);
    for (auto open = name.find('['); open != std::string::npos; open = name.find('[', open + 1))
      name.erase(open + 1, name.find(']', open) - open - 1);
    const auto same = [&](const Key& one) { return one.path == name; };
    if (std::none_of(document->keys.begin(), document->keys.end(), same))
      document->keys.push_back({std::move(name), std::string(kind), std::move(range), std::move(standing), required});
  }

  std::optional<YAML::Node> find(std::string_view key) const {
    if (!yaml.IsMap()) return std::nullopt;
    const YAML::Node found = std::as_const(yaml)[std::string(key)];
    if (!found.IsDefined() || found.IsNull()) return std::nullopt;
    return found;
  }

  std::optional<YAML::Node> take(std::string_view key) {
    known.emplace(key);
    return find(key);
  }

  int line() const { return yaml.Mark().line + 1; }

  void find_unknown(std::vector<std::pair<int, std::string>>& into) {
    if (yaml.IsMap()) {
      for (const auto& entry : yaml) {
        const std::string key = entry.first.IsScalar() ? entry.first.Scalar() : "(not a scalar)";
        if (known.contains(key)) continue;
        const std::vector<std::string> names(known.begin(), known.end());
        const std::string fix = did_you_mean(key, names, "known keys: " + comma_list(names));
        const int at = entry.first.Mark().line + 1;
        into.emplace_back(at,
                          document->name + ":" + std::to_string(at) + ": " + full(key) + ": unknown key (" + fix + ")");
      }
    }
    for (const auto& [key, child] : children) child->find_unknown(into);
    for (const auto& child : listed) child->find_unknown(into);
  }
};

namespace {
std::optional<double> number_of(const YAML::Node& value, Unit unit) {
  if (!value.IsScalar()) return std::nullopt;
  return unit == Unit::seconds ? parse::duration_s(value.Scalar()) : parse::real(value.Scalar());
}

std::string number_kind(const YAML::Node& value, Unit unit) {
  if (unit == Unit::none) return "not a number";
  const bool bare = value.IsScalar() && parse::real(value.Scalar());
  return bare ? value.Scalar() + " has no unit" : "not a duration";
}
std::string number_fix(const YAML::Node& value, Unit unit) {
  if (unit == Unit::none) return "for example 0.5";
  const bool bare = value.IsScalar() && parse::real(value.Scalar());
  return bare ? "write " + value.Scalar() + "s for seconds" : "for example 250ms, 1s or 2m";
}
}  // namespace

Section::Section(std::shared_ptr<Node> node) : node_(std::move(node)) {}

void Section::read(std::string_view key, std::string& out, bool required) {
  node_->ask(key, "text", out, {}, required);
  const auto value = node_->take(key);
  if (!value) {
    if (required) node_->add(key, node_->line(), "missing", "set it");
    return;
  }
  if (!value->IsScalar()) return node_->add(key, value->Mark().line + 1, "not a string", "use a single value");
  out = value->Scalar();
}

void Section::read(std::string_view key, bool& out) {
  node_->ask(key, "boolean", out ? "true" : "false");
  const auto value = node_->take(key);
  if (!value) return;
  if (value->IsScalar() && (value->Scalar() == "true" || value->Scalar() == "false"))
    out = value->Scalar() == "true";
  else
    node_->add(key, value->Mark().line + 1, "not a boolean", "use true or false");
}

void Section::read(std::string_view key, double& out, Bounds bounds) {
  node_->ask(key, bounds.unit == Unit::seconds ? "time" : "number", standing_text(out, bounds), known_range(bounds),
             bounds.required);
  const auto value = node_->take(key);
  if (!value) {
    if (bounds.required) node_->add(key, node_->line(), "missing", "set it");
    return;
  }
  const int line = value->Mark().line + 1;
  const auto number = number_of(*value, bounds.unit);
  if (!number) return node_->add(key, line, number_kind(*value, bounds.unit), number_fix(*value, bounds.unit));
  if (*number < bounds.min || *number > bounds.max)
    return node_->add(key, line, number_text(*number) + " is out of range", "use " + range_text(bounds));
  out = *number;
}

void Section::read(std::string_view key, std::int64_t& out, Bounds bounds) {
  node_->ask(key, "whole number", standing_text(static_cast<double>(out), bounds), known_range(bounds),
             bounds.required);
  double number = static_cast<double>(out);
  const std::size_t before = node_->document->mistakes.size();
  read(key, number, bounds);
  if (node_->document->mistakes.size() != before) return;
  if (number != std::floor(number) || std::abs(number) > 9e15)
    return node_->add(key, node_->line(), "not a whole number", "remove the fraction");
  out = static_cast<std::int64_t>(number);
}

void Section::read(std::string_view key, int& out, Bounds bounds) {
  std::int64_t wide = out;
  bounds.min = std::max(bounds.min, static_cast<double>(std::numeric_limits<int>::min()));
  bounds.max = std::min(bounds.max, static_cast<double>(std::numeric_limits<int>::max()));
  read(key, wide, bounds);
  out = static_cast<int>(wide);
}

void Section::read(std::string_view key, std::vector<std::string>& out) {
  node_->ask(key, "list of texts", joined(out, ", "));
  const auto value = node_->take(key);
  if (!value) return;
  if (!value->IsSequence()) return node_->add(key, value->Mark().line + 1, "not a list", "for example [a, b]");
  std::vector<std::string> texts;
  for (const auto& item : *value) {
    if (!item.IsScalar()) return node_->add(key, item.Mark().line + 1, "an item is not a string", "for example [a, b]");
    texts.push_back(item.Scalar());
  }
  out = std::move(texts);
}

void Section::read(std::string_view key, std::vector<double>& out, Bounds bounds) {
  node_->ask(key, "list of numbers", {}, known_range(bounds));
  const auto value = node_->take(key);
  if (!value) return;
  if (!value->IsSequence()) return node_->add(key, value->Mark().line + 1, "not a list", "for example [1, 2]");
  std::vector<double> numbers;
  for (const auto& item : *value) {
    const auto number = number_of(item, bounds.unit);
    if (!number)
      return node_->add(key, item.Mark().line + 1, number_kind(item, bounds.unit), number_fix(item, bounds.unit));
    if (*number < bounds.min || *number > bounds.max)
      return node_->add(key, item.Mark().line + 1, number_text(*number) + " is out of range",
                        "use " + range_text(bounds));
    numbers.push_back(*number);
  }
  out = std::move(numbers);
}

void Section::read(std::string_view key, std::map<std::string, std::string>& out) {
  node_->ask(key, "map of texts", {});
  const auto value = node_->take(key);
  if (!value) return;
  if (!value->IsMap()) return node_->add(key, value->Mark().line + 1, "not a map", "for example {name: value}");
  std::map<std::string, std::string> texts;
  for (const auto& entry : *value) {
    if (!entry.first.IsScalar() || !entry.second.IsScalar())
      return node_->add(key, entry.first.Mark().line + 1, "not a map of strings", "for example {name: value}");
    texts[entry.first.Scalar()] = entry.second.Scalar();
  }
  out = std::move(texts);
}

void Section::read(std::string_view key, std::map<std::string, double>& out, Bounds bounds) {
  node_->ask(key, "map of numbers", {}, known_range(bounds));
  const auto value = node_->take(key);
  if (!value) return;
  if (!value->IsMap()) return node_->add(key, value->Mark().line + 1, "not a map", "for example {name: 0.5}");
  std::map<std::string, double> numbers;
  for (const auto& entry : *value) {
    const int line = entry.first.Mark().line + 1;
    const auto number = number_of(entry.second, bounds.unit);
    const std::string name = std::string(key) + "." + (entry.first.IsScalar() ? entry.first.Scalar() : "?");
    if (!number)
      return node_->add(name, line, number_kind(entry.second, bounds.unit), number_fix(entry.second, bounds.unit));
    if (*number < bounds.min || *number > bounds.max)
      return node_->add(name, line, number_text(*number) + " is out of range", "use " + range_text(bounds));
    numbers[entry.first.Scalar()] = *number;
  }
  out = std::move(numbers);
}

void Section::read_choice(std::string_view key, std::size_t& out, const std::vector<std::string_view>& names) {
  node_->ask(key, joined(names, ", "), out < names.size() ? std::string(names[out]) : std::string());
  const auto value = node_->take(key);
  if (!value) return;
  const auto found = value->IsScalar() ? std::find(names.begin(), names.end(), value->Scalar()) : names.end();
  if (found != names.end()) {
    out = static_cast<std::size_t>(found - names.begin());
    return;
  }
  const std::vector<std::string> choices(names.begin(), names.end());
  const std::string fix = "use one of " + comma_list(choices);
  const int line = value->Mark().line + 1;
  if (!value->IsScalar()) return node_->add(key, line, "not a string", fix);
  node_->add(key, line, "unknown value '" + value->Scalar() + "'", did_you_mean(value->Scalar(), choices, fix));
}

Section Section::section(std::string_view key) {
  const auto value = node_->take(key);
  auto& child = node_->children[std::string(key)];
  if (child) return Section(child);
  child = std::make_shared<Node>();
  child->document = node_->document;
  child->path = node_->full(key);
  if (value && !value->IsMap())
    node_->add(key, value->Mark().line + 1, "not a section", "put its keys below it");
  else if (value)
    child->yaml.reset(*value);
  return Section(child);
}

std::vector<Section> Section::sections(std::string_view key) {
  std::vector<Section> found;
  const auto value = node_->take(key);
  if (!value) return found;
  if (!value->IsSequence()) {
    node_->add(key, value->Mark().line + 1, "not a list", "write items with '- '");
    return found;
  }
  std::size_t index = 0;
  for (const auto& item : *value) {
    auto child = std::make_shared<Node>();
    child->document = node_->document;
    child->path = node_->full(key) + "[" + std::to_string(index++) + "]";
    if (item.IsMap())
      child->yaml.reset(item);
    else
      node_->add(key, item.Mark().line + 1, "an item is not a section", "put its keys below it");
    node_->listed.push_back(child);
    found.push_back(Section(child));
  }
  return found;
}

bool Section::has(std::string_view key) const { return node_->find(key).has_value(); }

void Section::mistake(std::string_view key, std::string_view what, std::string_view fix) {
  const auto found = node_->find(key);
  node_->add(key, found ? found->Mark().line + 1 : node_->line(), what, fix);
}

Result<Document> Document::load(const std::string& path) {
  WATTLE_TRY(const std::string text, read_file(path));
  return parse(text, path);
}

Result<Document> Document::parse(const std::string& text, const std::string& name) {
  try {
    Document document;
    document.impl_ = std::make_shared<Impl>();
    document.impl_->name = name;
    document.impl_->yaml = YAML::Load(text);
    auto& impl = *document.impl_;
    find_twice(text, name, impl.mistakes);
    if (!impl.yaml.IsNull() && !impl.yaml.IsMap())
      return fail(Errc::malformed, name, "the top level is not a map", "write 'key: value' lines");
    impl.root = std::make_shared<Section::Node>();
    impl.root->document = &impl;
    impl.root->yaml.reset(impl.yaml);
    return document;
  } catch (const YAML::Exception& error) {
    return fail(Errc::malformed, name + ":" + std::to_string(error.mark.line + 1), error.msg, "fix the YAML syntax");
  }
}

std::vector<Key> Document::keys() const { return impl_->keys; }

Section Document::root() { return Section(impl_->root); }

Status Document::finish() {
  auto mistakes = impl_->mistakes;
  impl_->root->find_unknown(mistakes);
  if (mistakes.empty()) return {};
  std::stable_sort(mistakes.begin(), mistakes.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  std::string text = std::to_string(mistakes.size()) + (mistakes.size() == 1 ? " error" : " errors");
  for (const auto& [line, what] : mistakes) text += "\n  " + what;
  return fail(Errc::malformed, impl_->name, text);
}

}  // namespace wattle::config
