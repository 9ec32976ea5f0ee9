// `wattle place NAME`: asks for a node for a workload that Kubernetes does not schedule. The exit code is 0 with an
// advised node, 1 without one, and 3 if the workload should wait. `-o name` prints only the node, so that a script can
// use both the node and the exit code.
#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <random>
#include <set>
#include <thread>

#include "cli/declare.hpp"
#include "cli/human.hpp"
#include "cli/parts.hpp"
#include "cli/show.hpp"
#include "common/nearest.hpp"
#include "common/parse.hpp"
#include "common/printable.hpp"

namespace wattle::cli {

namespace {
constexpr std::size_t kMostNext = 16;  // the controller's limit

struct PlaceOptions {
  std::string name, cpu, memory = "0", app, latency_soft, latency_hard, latency_target, name_space = "default", uid;
  std::string defer;
  bool wait = false;
  std::vector<std::string> nodes, next;
};

// A version 4 UUID (RFC 9562).
std::string new_uid() {
  std::random_device device;
  std::array<unsigned, 8> words{};
  for (unsigned& word : words) word = device() & 0xffffU;
  words[3] = (words[3] & 0x0fffU) | 0x4000U;
  words[4] = (words[4] & 0x3fffU) | 0x8000U;
  std::string out;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (i >= 2 && i <= 5) out += '-';
    for (int shift = 12; shift >= 0; shift -= 4)
      out += "0123456789abcdef"[words[i] >> static_cast<unsigned>(shift) & 15U];
  }
  return out;
}

Result<double> quantity_of(const char* option, const std::string& text) {
  const auto value = parse::quantity(text);
  if (!value)
    return fail(Errc::malformed, option, "'" + text + "' is not a quantity", "for example 250m, 1.5, 64Mi or 2Gi");
  return *value;
}

Result<std::optional<double>> limit_ms(const char* option, const std::string& text) {
  if (text.empty()) return std::optional<double>();
  const auto value = parse::duration_s(text);
  if (!value || !(*value > 0))
    return fail(Errc::malformed, option, "'" + text + "' is not a duration", "for example 20ms or 1s");
  return std::optional<double>(*value * 1e3);
}

// Parses "4,8Gi" or "4,8Gi,nightly": the requests, and optionally the application.
Result<wire::NextPod> next_pod(const char* option, const std::string& text) {
  std::vector<std::string> parts(1);
  for (const char each : text)
    if (each == ',' && parts.size() < 3)
      parts.emplace_back();
    else
      parts.back() += each;
  if (parts.size() < 2)
    return fail(Errc::malformed, option, "'" + text + "' is not CPU,MEMORY", "for example 4,8Gi or 4,8Gi,APP");
  wire::NextPod next;
  WATTLE_TRY(next.cpu_request_cores, quantity_of(option, parts[0]));
  WATTLE_TRY(next.memory_request_bytes, quantity_of(option, parts[1]));
  if (parts.size() == 3) next.app = parts[2];
  return next;
}

Status add_next(const PlaceOptions& said, wire::Ask& ask) {
  for (const std::string& each : said.next) {
    WATTLE_TRY(wire::NextPod next, next_pod("--next", each));
    if (ask.next.size() < kMostNext) ask.next.push_back(std::move(next));
  }
  return {};
}

Result<wire::Ask> ask_of(const PlaceOptions& said) {
  if (parse::trim(said.name).empty()) return fail(Errc::malformed, "NAME", "is empty", "name the workload");
  wire::Ask ask;
  ask.pod_uid = said.uid.empty() ? new_uid() : said.uid;
  ask.pod_name = said.name;
  ask.pod_namespace = said.name_space;
  ask.app = said.app.empty() ? said.name : said.app;
  WATTLE_TRY(ask.cpu_request_cores, quantity_of("--cpu", said.cpu));
  WATTLE_TRY(ask.memory_request_bytes, quantity_of("--memory", said.memory));
  WATTLE_TRY(ask.latency_soft_ms, limit_ms("--latency-soft", said.latency_soft));
  WATTLE_TRY(ask.latency_hard_ms, limit_ms("--latency-hard", said.latency_hard));
  if (ask.latency_soft_ms && ask.latency_hard_ms && *ask.latency_soft_ms > *ask.latency_hard_ms)
    return fail(Errc::malformed, "--latency-soft", "is more than --latency-hard",
                "use a soft limit below the hard one");
  ask.latency_target = said.latency_target;
  ask.candidates = said.nodes;
  WATTLE_TRY(const auto defer_ms, limit_ms("--defer", said.defer));
  ask.defer_ms = defer_ms.value_or(0);
  WATTLE_CHECK(add_next(said, ask));
  return ask;
}

// Returns all connected nodes, the default if no node is named.
Result<std::vector<std::string>> received_nodes(Controller& controller) {
  WATTLE_TRY(const Json document, controller.ask("nodes", {}));
  std::vector<std::string> names;
  for (const View& node : View(document)["nodes"].items())
    if (node["connected"].flag() == true) names.push_back(node["name"].text_or());
  if (names.empty())
    return fail(Errc::not_found, "no node", "no agent is connected", "see `wattle nodes` and `wattle doctor`");
  return names;
}

// Reports each named node that no agent has registered; the others can still take the workload. Fails with not_found if
// none is registered.
Status report_unknown(const Invocation& invocation, Controller& controller, const std::vector<std::string>& named) {
  WATTLE_TRY(const Json document, controller.ask("nodes", {}));
  std::set<std::string> known;
  for (const View& node : View(document)["nodes"].items()) known.insert(node["name"].text_or());
  std::vector<Error> unknown;
  for (const std::string& name : named)
    if (!known.contains(name))
      unknown.push_back(
          unknown_name("node", name, "no agent has registered under that name",
                       did_you_mean(name, {known.begin(), known.end()}, "list nodes with `wattle nodes`")));
  if (!unknown.empty() && unknown.size() == named.size()) return tl::unexpected<Error>(unknown.front());
  for (const Error& each : unknown) complain(invocation, each);
  return {};
}

Json placed_document(const wire::Ask& ask, const wire::Suggestion& reported) {
  const auto top = std::find(reported.scores.begin(), reported.scores.end(), 10);
  const auto at = static_cast<std::size_t>(top - reported.scores.begin());
  const bool advised = !reported.neutral && top != reported.scores.end() && at < ask.candidates.size();
  Json scores = Json::object();
  for (std::size_t i = 0; i < reported.scores.size() && i < ask.candidates.size(); ++i)
    scores[ask.candidates[i]] = reported.scores[i];
  return {{"node", advised ? Json(ask.candidates[at]) : Json(nullptr)},
          {"uid", ask.pod_uid},
          {"name", ask.pod_name},
          {"namespace", ask.pod_namespace},
          {"decision_id", reported.decision_id == 0 ? Json(nullptr) : Json(reported.decision_id)},
          {"mode", reported.mode},
          {"policy", reported.policy},
          {"reason", reported.reason},
          {"again_s", reported.again_ms > 0 ? Json(reported.again_ms / 1e3) : Json(nullptr)},
          {"defer_left_s", reported.again_ms > 0 ? Json(reported.defer_left_ms / 1e3) : Json(nullptr)},
          {"would_advise", nullptr},
          {"scores", std::move(scores)}};
}
// Adds the node and the reason of a decision that the controller made without acting on it.
Status add_unadvised(Controller& controller, Json& placed) {
  if (!placed["node"].is_null() || !placed["again_s"].is_null() || placed["decision_id"].is_null()) return {};
  const std::string id = std::to_string(placed["decision_id"].get<std::uint64_t>());
  WATTLE_TRY(const Json document, controller.ask("explain", {{"pod", id}}));
  const View decision = View(document)["decision"];
  if (const auto node = decision["advice"].text())
    placed["would_advise"] = {{"node", *node}, {"reason", decision["reason"].text_or()}};
  return {};
}
}  // namespace

Result<std::string> render_placed(const Json& document, const Style& style) {
  const View placed(document);
  WATTLE_CHECK(placed.object("scores"));
  const auto node = placed["node"].text();
  const std::string name = placed["name"].text_or();
  if (const auto again_s = placed["again_s"].number(); !node && again_s)
    return printable_lines(name + " should wait: " + placed["reason"].text_or() +
                           "\nretry in:      " + number(std::ceil(*again_s), 0) + " s, with --uid " +
                           placed["uid"].text_or() + " (or use --wait)\nfinal answer:  in " +
                           number(std::ceil(placed["defer_left_s"].number().value_or(0)), 0) +
                           " s at the latest: a node, or the reason why no node is suitable\n");
  if (!node) {
    const View would = placed["would_advise"];
    std::string text = "no node for " + name + ": " + placed["reason"].text_or() + "\n";
    if (const auto other = would["node"].text())
      text += "would advise:  " + *other + " (" + would["reason"].text_or() + ")\n";
    return printable_lines(text);
  }
  const std::string uid = placed["uid"].text_or();
  return toned(printable(*node), Tone::good, style.colour) +
         printable_lines("\nwhy:           wattle explain " + uid + "\nwhen started:  wattle confirm " + uid + " " +
                         *node + "\n");
}

namespace {

// Returns a final answer if `wait` is set: repeats the query each time the controller asks to wait.
Result<wire::Suggestion> final_answer(Controller& controller, const wire::Ask& ask, bool wait) {
  for (;;) {
    auto answer = controller.place(ask);
    if (!answer || !wait || !(answer->again_ms > 0)) return answer;
    std::this_thread::sleep_for(std::chrono::milliseconds(static_cast<std::int64_t>(std::ceil(answer->again_ms))));
  }
}

Outcome run_place(const Invocation& invocation, const PlaceOptions& options) {
  WATTLE_TRY(wire::Ask ask, as_misuse(ask_of(options)));
  return with_controller(invocation, [&](Controller& controller) -> Result<int> {
    if (ask.candidates.empty()) {
      WATTLE_TRY(ask.candidates, received_nodes(controller));
    } else {
      WATTLE_CHECK(report_unknown(invocation, controller, ask.candidates));
    }
    WATTLE_TRY(const wire::Suggestion reported, final_answer(controller, ask, options.wait));
    Json document = placed_document(ask, reported);
    WATTLE_CHECK(add_unadvised(controller, document));
    const int code = !document["again_s"].is_null() ? kWait : document["node"].is_null() ? kProblem : kOk;
    if (invocation.common.output != Output::name) {
      WATTLE_CHECK(print(invocation, document, render_placed));
    } else if (code == kOk) {
      invocation.around.out << printable(document["node"].get<std::string>()) << "\n";
      if (!invocation.around.out.flush()) return fail(Errc::io, "stdout", "cannot be written");
    } else {
      WATTLE_TRY(const std::string why, render_placed(document, {}));
      invocation.around.err << why;
    }
    return code;
  });
}

}  // namespace

void declare_place(CLI::App& command, Run& chosen) {
  auto& options = runs(command, chosen, run_place);
  command.add_option("NAME", options.name, "Name of the workload")->required();
  command.add_option("--cpu", options.cpu, "CPU request, for example 250m or 1.5")->required();
  command.add_option("--memory", options.memory, "Memory request, for example 64Mi or 2Gi")->capture_default_str();
  command.add_option("--app", options.app, "Application name under which use and lifetime are learned (default: NAME)");
  command.add_option("--nodes", options.nodes, "Candidate nodes (default: all connected nodes)")->delimiter(',');
  command.add_option("--latency-soft", options.latency_soft,
                     "Preferred limit of the round-trip time to the users, for example 20ms");
  command.add_option("--latency-hard", options.latency_hard,
                     "Limit of the round-trip time above which a node is excluded");
  command.add_option("--latency-target", options.latency_target,
                     "Probe that measures the round-trip time (default: the agents' own)");
  command.add_option("--namespace", options.name_space, "Namespace for reports")->capture_default_str();
  auto* defer = command.add_option("--defer", options.defer,
                                   "Longest time that the workload may wait, for example 30s (default: place it now)");
  command.add_flag("--wait", options.wait, "With --defer: wait and retry until the answer is final")->needs(defer);
  command
      .add_option("--next", options.next,
                  "CPU,MEMORY[,APP] of a workload to place next; can be repeated; room is left for the first 16")
      ->allow_extra_args(false);
  command.add_option("--uid", options.uid, "UID of the workload (default: a new one)");
}

}  // namespace wattle::cli
