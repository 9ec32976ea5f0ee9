#include "cli/known_names.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <utility>

#include "cli/list.hpp"

namespace wattle::cli {

namespace {
constexpr unsigned kPatience_s = 1;
constexpr std::array<std::pair<std::string_view, std::string_view>, 3> kLabels{
    {{"NODE", "nodes"}, {"POD", "pods"}, {"NETWORK", "model list"}}};

// The options of a line that is not complete, so that CLI11 would refuse it.
CommonOptions typed_options(const std::vector<std::string>& typed) {
  CommonOptions out;
  const std::array<std::pair<std::string_view, std::string*>, 7> options{
      {{"--server", &out.server},
       {"--key", &out.key},
       {"--server-key", &out.server_key},
       {"--kubeconfig", &out.cluster.kubeconfig},
       {"--context", &out.cluster.context},
       {"--controller-namespace", &out.controller_namespace},
       {"--feed", &out.feed}}};
  for (std::size_t i = 0; i + 1 < typed.size(); ++i)
    for (const auto& [name, value] : options) {
      if (typed[i] == name) *value = typed[i + 1];
      if (typed[i].starts_with(std::string(name) + "=")) *value = typed[i].substr(name.size() + 1);
    }
  out.timeout = std::to_string(kPatience_s) + "s";
  return out;
}

Result<std::vector<std::string>> names(const Invocation& invocation, const List& list, const std::string& word) {
  WATTLE_TRY(const Settings settings, load_settings(invocation));
  WATTLE_TRY(Controller controller, Controller::open_(settings));
  Query query;
  // Networks have no arguments, and are few.
  if (list.what != std::string_view("models")) query = {{"filter", word}, {"limit", "1000"}};
  WATTLE_TRY(const Json document, controller.ask(list.what, query));
  std::vector<std::string> out;
  for (const View& item : View(document)[list.what].items()) out.push_back(list.name(item));
  return out;
}

void end_silently(int) { ::_exit(0); }
}  // namespace

cmdline::KnownValues known_names(Surroundings& around) {
  return [&around](const std::string& label, const std::string& word,
                   const std::vector<std::string>& typed) -> std::vector<std::string> {
    const auto kind = std::ranges::find(kLabels, label, &std::pair<std::string_view, std::string_view>::first);
    if (kind == kLabels.end()) return {};
    // Covers what has no separate timeout, such as a login's program and kubectl.
    const auto before = std::signal(SIGALRM, end_silently);
    ::alarm(kPatience_s);
    const CommonOptions common = typed_options(typed);
    const auto found = names({common, around, {}}, list_of(kind->second), word);
    ::alarm(0);
    std::signal(SIGALRM, before);
    return found.value_or(std::vector<std::string>{});
  };
}

}  // namespace wattle::cli
