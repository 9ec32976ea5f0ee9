#include "cli/list.hpp"

#include <algorithm>
#include <array>

#include "cli/declare.hpp"
#include "cli/json_path.hpp"
#include "cli/parts.hpp"
#include "cli/watch.hpp"
#include "common/printable.hpp"

namespace wattle::cli {

namespace {
std::string by_name(const View& item) { return item["name"].text_or(); }
std::string by_id(const View& item) { return item["id"].integer().value_or("-"); }
std::string by_pod(const View& item) { return pod_label(item["name"], item["namespace"], item["uid"]); }

constexpr std::array kLists{
    List{"nodes", "nodes", nullptr, true, by_name, render_nodes},
    List{"pods", "pods", "namespace", false, by_pod, render_pods},
    List{"decisions", "decisions", "pod_namespace", false, by_id, render_decisions},
    List{"model list", "models", nullptr, false, by_name, render_models},
};

// Sort key of an item: a number, a text, or no value.
struct Key {
  const Json* value = nullptr;
  int kind() const { return value == nullptr || value->is_null() ? 2 : value->is_number() ? 0 : 1; }
};

bool before(const Key& a, const Key& b) {
  if (a.kind() != b.kind()) return a.kind() < b.kind();
  if (a.kind() == 2) return false;
  if (a.kind() == 0) return a.value->get<double>() < b.value->get<double>();
  const auto text = [](const Json& value) { return value.is_string() ? value.string() : value.dump(); };
  return text(*a.value) < text(*b.value);
}

Status sort(Json& items, const JsonPath& path) {
  std::vector<std::pair<Key, std::size_t>> keys;
  bool found = items.empty();
  for (const Json& item : items) {
    const auto values = path.of(item, item);
    found = found || !values.empty();
    keys.push_back({{values.empty() ? nullptr : values.front()}, keys.size()});
  }
  if (!found)
    if (auto unknown = path.unknown_key(*items.begin())) return tl::unexpected<Error>(std::move(*unknown));
  std::stable_sort(keys.begin(), keys.end(), [](const auto& a, const auto& b) { return before(a.first, b.first); });
  Json sorted = Json::array();
  for (const auto& [key, index] : keys) sorted.push_back(items[index]);
  items = std::move(sorted);
  return {};
}

Status print_list(const Invocation& invocation, const List& list, const ListOptions& options, const Json& document) {
  if (invocation.common.output == Output::name) {
    WATTLE_TRY(const auto items, View(document).list(list.what));
    return print(invocation, document, [&](const Json&, const Style&) -> Result<std::string> {
      std::string out;
      for (const View& item : items) out += printable(list.name(item)) + "\n";
      return out;
    });
  }
  return print(invocation, document, [&](const Json& shown, Style style) -> Result<std::string> {
    style.headers = !options.no_headers;
    // A list that the options have emptied differs from one without data.
    const bool narrowed = !options.name_space.empty() || !options.selector.empty();
    if (narrowed && View(shown)[list.what].items().empty())
      return printable_lines("no " + std::string(list.what) +
                             (options.selector.empty() ? " in namespace " + options.name_space : " with these labels") +
                             "\n");
    return list.render(shown, style);
  });
}
}  // namespace

std::span<const List> lists() { return kLists; }

const List& list_of(std::string_view command) { return *std::ranges::find(kLists, command, &List::command); }

void declare_list(CLI::App& command, const List& list, ListOptions& options) {
  if (list.name_space != nullptr) {
    auto* one = command.add_option("-n,--namespace", options.name_space, "Show only this namespace");
    command.add_flag("-A,--all-namespaces", options.all_namespaces, "Show all namespaces (the default)")->excludes(one);
  }
  if (list.labelled)
    command.add_option("-l,--selector", options.selector,
                       "Show only items with these labels, for example zone=a,!gpu or 'zone in (a, b)'");
  command.add_option("--sort-by", options.sort_by,
                     "Sort by this field of -o json, for example power_w or {.psi.cpu_some_ratio}");
  command.add_flag("--no-headers", options.no_headers, "Print tables without column titles");
  command.add_flag("-w,--watch", options.watch, "Print again after each change, until Ctrl-C");
}

Status narrow(Json& document, const List& list, const std::string& name_space, std::size_t most,
              const std::optional<JsonPath>& sort_by) {
  Json* items = document.member(list.what);
  if (items == nullptr || !items->is_array()) return {};  // the renderer reports it
  if (!name_space.empty()) {
    Json kept = Json::array();
    for (const Json& item : *items)
      if (View(item)[list.name_space].text() == name_space && (most == 0 || kept.size() < most)) kept.push_back(item);
    *items = std::move(kept);
    document.erase("kept");  // counts decisions of all namespaces
  }
  return sort_by ? sort(*document.member(list.what), *sort_by) : Status();
}

Result<std::optional<JsonPath>> sort_path(const std::string& text) {
  if (text.empty()) return std::optional<JsonPath>();
  const bool braces = text.starts_with('{') && text.ends_with('}') && text.size() > 1;
  const std::string inside = braces ? text.substr(1, text.size() - 2) : text;
  const bool bare = inside.empty() || std::string_view(".[@$").find(inside[0]) == std::string_view::npos;
  WATTLE_TRY(JsonPath path, JsonPath::parse(bare ? "." + inside : inside, "--sort-by", braces ? 1 : 0));
  return std::optional(std::move(path));
}

Outcome show_list(const Invocation& invocation, const List& list, const ListOptions& options, Query query,
                  std::size_t most) {
  if (!options.selector.empty()) query["selector"] = options.selector;
  WATTLE_TRY(const auto sort_by, as_misuse(sort_path(options.sort_by)));
  const auto fetch = [&](Controller& controller) -> Result<Json> {
    WATTLE_TRY(Json document, controller.ask(list.what, query));
    WATTLE_CHECK(narrow(document, list, options.name_space, most, sort_by));
    return document;
  };
  const auto show = [&](const Json& document) { return print_list(invocation, list, options, document); };
  if (options.watch) return watch_table(invocation, fetch, show);
  return with_controller(invocation, [&](Controller& controller) -> Result<int> {
    WATTLE_TRY(const Json document, fetch(controller));
    WATTLE_CHECK(show(document));
    return kOk;
  });
}

}  // namespace wattle::cli
