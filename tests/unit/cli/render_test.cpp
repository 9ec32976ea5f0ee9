// Renders the documents of docs/reference/examples, and copies with values that are null, missing or of another type.
#include <doctest/doctest.h>

#include <algorithm>
#include <fstream>
#include <functional>
#include <sstream>

#include "cli/commands.hpp"
#include "cli/parts.hpp"
#include "cli/power_states.hpp"
#include "cli/table.hpp"
#include "common/json/value.hpp"
#include "common/parse.hpp"
#include "common/printable.hpp"
#include "tests/places.hpp"

using namespace wattle;
using namespace wattle::cli;

namespace {
Json example(const std::string& document) {
  std::ifstream in(tests::source_dir() + "/docs/reference/examples/" + document + ".json");
  std::stringstream all;
  all << in.rdbuf();
  if (!in) FAIL("docs/reference/examples has no " << document << ".json");
  return Json::parse(all.str());
}

Json node_example() {
  Json node = example("nodes")["nodes"][0];
  node["labels"] = {{"zone", "a"}};
  node["features"] = {"psi", "rapl"};
  node["findings"] = example("doctor")["nodes"][0]["findings"];
  node["domains"] = Json::parse(R"([{"name":"package-0","power_w":58.0,"gap":false}])");
  node["unattributed_w"] = 1.5;
  node["workloads"] = example("pods")["pods"];
  return {{"node", node}};
}

Json explain_example() {
  Json document = example("explain");
  const Json decision = example("decisions")["decisions"][0];
  for (const auto& [key, value] : decision.items())
    if (!document["decision"].contains(key)) document["decision"][key] = value;
  return document;
}

// The answer if a workload is named.
Json why_example() {
  Json document = example("provision");
  document.erase("more");
  return document;
}

Json top_example() {
  return {{"status", example("status")}, {"nodes", example("nodes")["nodes"]}, {"pods", example("pods")["pods"]}};
}

struct Page {
  const char* name;
  Json document;
  std::function<Result<std::string>(const Json&, const Style&)> render;
};

std::vector<Page> pages() {
  return {{"nodes", example("nodes"), render_nodes},
          {"node", node_example(), render_node},
          {"pods", example("pods"), render_pods},
          {"pod", example("pod"), render_pod},
          {"top", top_example(), render_top},
          {"decisions", example("decisions"), render_decisions},
          {"report", example("report"), render_report},
          {"provision", example("provision"), render_provision},
          {"provision why", why_example(), render_provision},
          {"replicas", example("provision"), render_replicas},
          {"savings", example("savings"), render_savings},
          {"margins", example("margins"), render_margins},
          {"explain", explain_example(), render_explain},
          {"what-if", example("what-if"), render_what_if},
          {"place",
           {{"node", "worker-1"}, {"uid", "u-1"}, {"name", "batch"}, {"reason", "q"}, {"scores", Json::object()}},
           render_placed},
          {"doctor", example("doctor"), render_doctor},
          {"gaps", example("gaps"), render_gaps},
          {"sleep plan", example("sleep"), render_sleep_plan},
          {"sleep status", example("sleep"), render_sleep_status},
          {"sleep history", example("sleep"), render_sleep_history},
          {"sleep wake", {{"woken", {"worker-1", "worker-2"}}}, render_sleep_wake},
          {"policy", example("policy"), render_policy},
          {"models", example("models"), render_models},
          {"status", example("status"), render_status}};
}

// Calls `look` with the document changed at each of its values in turn.
void with_each_changed(Json& document, const std::function<void()>& look, const Json& other, bool erase) {
  // Counts the values of the document in order, and passes the selected one to `change`.
  const Json whole = document;
  std::size_t seen = 0;
  const std::function<bool(Json&, std::size_t)> change = [&](Json& value, std::size_t wanted) {
    if (!value.is_structured()) return false;
    for (auto at = value.begin(); at != value.end(); ++at) {
      if (seen++ == wanted) {
        if (erase)
          value.erase(at);
        else
          *at = other;
        return true;
      }
      if (change(*at, wanted)) return true;
    }
    return false;
  };
  for (std::size_t wanted = 0;; ++wanted) {
    document = whole;
    seen = 0;
    if (!change(document, wanted)) break;
    look();
  }
  document = whole;
}

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }
}  // namespace

TEST_CASE("null, missing or mistyped values do not break a page: they are a dash, or an error that names the key") {
  for (Page& page : pages()) {
    CAPTURE(page.name);
    int refused = 0;
    const auto look = [&] {
      for (const bool wide : {false, true}) {
        const auto text = page.render(page.document, {.wide = wide, .colour = wide});
        if (text) {
          CHECK(text->back() == '\n');
        } else {
          ++refused;
          CHECK(text.error().code == Errc::malformed);
          CHECK(has(text.error().what, "'"));
        }
      }
    };
    look();
    CHECK(refused == 0);
    for (const Json& other : {Json(nullptr), Json("text"), Json(-1.5e300), Json(true), Json::array(), Json::object(),
                              Json::array({nullptr, 1, "x"})})
      with_each_changed(page.document, look, other, false);
    with_each_changed(page.document, look, {}, true);
    for (Json nothing : {Json(nullptr), Json::object(), Json::array(), Json("x")}) {
      const auto text = page.render(nothing, {});
      REQUIRE_FALSE(text);
      CHECK(has(text.error().what, "'"));
    }
  }
}

TEST_CASE("an id or count of 64 bits is printed to its last digit on every page") {
  constexpr std::uint64_t kExact = (std::uint64_t{1} << 53U) + 1;  // no double can represent it
  int changed = 0, shown = 0;
  const std::function<void(Json&, const std::function<void()>&)> each_integer = [&](Json& value, const auto& look) {
    if (value.is_structured())
      for (auto at = value.begin(); at != value.end(); ++at) each_integer(*at, look);
    if (!value.is_number_integer()) return;
    const Json before = value;
    value = Json(kExact);
    ++changed;
    look();
    value = before;
  };
  for (Page& page : pages()) {
    CAPTURE(page.name);
    each_integer(page.document, [&] {
      for (const bool wide : {false, true}) {
        const std::string text = page.render(page.document, {.wide = wide}).value();
        CHECK_MESSAGE(!has(text, std::to_string(kExact - 1)), text);
        shown += has(text, std::to_string(kExact)) ? 1 : 0;
      }
    });
  }
  CHECK(changed > 100);
  CHECK(shown > 40);
}

TEST_CASE("nodes show utilisation, pressure, watts with their source, and latency") {
  Json document = example("nodes");
  CHECK(render_nodes(document, {}).value() ==
        "NODE      STATE  POWER             CPU  MEM  PRESSURE  PODS  LATENCY         AGE\n"
        "worker-1  up     61.2 W rapl  1.25 / 8  13%      2.0%     6  users 4.1 ms  410ms\n");
  document["nodes"][0]["energy_source"] = "estimated";
  CHECK(has(render_nodes(document, {}).value(), "61.2 W est"));
  const std::string wide = render_nodes(document, {.wide = true}).value();
  CHECK(has(wide, "38.0 W est"));
  CHECK(has(wide, "38..142 W fitted (90)"));
  CHECK(has(wide, "6 / 110"));
  CHECK(has(render_nodes({{"nodes", Json::array()}}, {}).value(), "no nodes yet"));
}

TEST_CASE("stale and disconnected nodes are red, pressure yellow, and only with colours") {
  Json document = example("nodes");
  document["nodes"][0]["psi"]["io_some_ratio"] = 0.35;
  CHECK(has(render_nodes(document, {.colour = true}).value(), "\x1b[33m35%\x1b[0m"));
  document["nodes"][0]["age_ms"] = 60000;
  CHECK(has(render_nodes(document, {.colour = true}).value(), "\x1b[31mstale\x1b[0m"));
  document["nodes"][0]["connected"] = false;
  CHECK(has(render_nodes(document, {.colour = true}).value(), "\x1b[31moffline\x1b[0m"));
  CHECK_FALSE(has(render_nodes(document, {}).value(), "\x1b"));
}

TEST_CASE("pods have the energy source of their node") {
  const std::string text = render_pods(example("pods"), {}).value();
  CHECK(has(text, "default/web-5d9-x2x"));
  CHECK(has(text, "5.1 W rapl"));
  CHECK(has(text, "70.0 MiB"));
  CHECK(has(text, "1m02s"));
}

TEST_CASE("a pod without a known name is shown by its UID") {
  Json document = example("pods");
  document["pods"][0]["name"] = nullptr;
  document["pods"][0]["namespace"] = nullptr;
  const std::string shown = render_pods(document, {}).value();
  CHECK(has(shown, "0f7c6a52-3c55-4c6f-9d0e-0b2a5f7a3c11"));
  parse::for_each_line(shown, [](std::string_view line) { CHECK(display_width(line) <= text_width()); });
}

TEST_CASE("rewards of two presets are not mixed in one column") {
  Json document = example("decisions");
  CHECK_FALSE(has(render_decisions(document, {}).value(), "weighted"));
  CHECK(has(render_decisions(document, {.wide = true}).value(), "-0.310 weighted"));
  Json other = document["decisions"][0];
  other["outcome"]["preset"] = "ee";
  other["outcome"]["reward"] = 8;
  document["decisions"].push_back(other);
  const std::string text = render_decisions(document, {}).value();
  CHECK(has(text, "-0.310 weighted"));
  CHECK(has(text, "8.000 ee"));
}

TEST_CASE("explain shows winner, runner-up, masks, features and the outcome") {
  Json document = explain_example();
  auto& candidates = document["decision"]["candidates"];
  candidates.push_back(Json::parse(
      R"({"node":"worker-3","masked":null,"score":3,"q":-0.4,"prior":-0.3,"residual":-0.1,"marginal_w":6.0})"));
  const std::string text = render_explain(document, {}).value();
  // The summary in sentences comes first, and is the whole default output.
  CHECK(text.starts_with(
      "default/web-5d9-x2x: worker-1 was advised. By the model, the pod adds 4.2 W there, 1.8 W less than\n"
      "worker-3, the next best.\nExcluded: worker-2: hard latency 20 ms, measured 35.0 ms.\nThe pod was placed on "
      "worker-1; reward -0.310 (weighted) on worker-1.\nDecision 17 by network (policy weighted, mode live) at "
      "2024-11-21 "
      "05:20:31Z, in 140 us.\nReason: q.\n"));
  // The sort column is shown, and the advised row is marked without colour too.
  CHECK(has(text, "\nADVISED  NODE           Q "));
  CHECK(has(text, "\n*        worker-1  -0.210 "));
  CHECK(has(text, "\n         worker-3  -0.400 "));
  CHECK(has(text, "\nSorted by Q."));
  CHECK_FALSE(has(text, "cpu_used_ratio"));
  CHECK_FALSE(has(text, "PRIOR"));
  const std::string wide = render_explain(document, {.wide = true}).value();
  CHECK(has(wide, "\nWaiting now: at most 1.2% of pods' time, the share under the default scheduler; measured 0.8%"));
  CHECK(has(wide, "; price 14.2 W per core.\nLateness now: at most 2.0% of pods' time; measured 1.3%"));
  CHECK(has(wide, "Best:      worker-1, q -0.210 = prior -0.250 + residual 0.040, adds 4.2 W est."));
  CHECK(has(wide, "Runner-up: worker-3, q -0.400 = prior -0.300 + residual -0.100, adds 6.0 W est."));
  CHECK(has(wide, "network of step 1200, sha256 9b1f..."));
  CHECK(has(wide, "cpu_used_ratio"));
  CHECK(has(wide, "cpu_request_cores"));
  CHECK(has(wide, "marginal_w"));
}

TEST_CASE("explain marks a trial and a node with lower power, and folds many nodes with the same mask") {
  Json document = explain_example();
  Json& decision = document["decision"];
  decision["explored"] = true;
  decision["winner"] = "worker-3";
  decision["candidates"].push_back(Json::parse(R"({"node":"worker-3","masked":null,"score":3,"marginal_w":3.2})"));
  for (int i = 0; i < 5; ++i)
    decision["candidates"].push_back({{"node", "full-" + std::to_string(i)}, {"masked", "cpu does not fit"}});
  const std::string text = render_explain(document, {}).value();
  CHECK(has(text, "worker-1 was advised for exploration; the best node by current estimates is\nworker-3."));
  CHECK(has(text, "adds 4.2 W there, 1.0 W more than worker-3."));
  CHECK(has(text, "Excluded: full-0, full-1, full-2 and 2 more: cpu does not fit."));
}

TEST_CASE("explain names the weights that decided: a part of their digest, and the checkpoint that they came from") {
  Json document = explain_example();
  Json& model = document["decision"]["model"];
  model = {{"network_sha256", std::string(12, 'a') + std::string(52, 'b')}, {"step", 7}, {"loaded_from", "promoted"}};
  std::string text = render_explain(document, {.wide = true}).value();
  CHECK(has(text, "network of step 7, sha256 aaaaaaaaaaaa, as loaded from promoted."));
  model = nullptr;
  document["decision"]["model_step"] = 0;
  text = render_explain(document, {.wide = true}).value();
  CHECK(has(text, "no network."));
}

TEST_CASE("a what-if prints both answers as sentences side by side, and names only differences") {
  Json document = example("what-if");
  Json& asked = document["what_if"];
  std::string text = render_what_if(document, {}).value();
  CHECK(text.starts_with(
      "What if default/web-5d9-x2x (decision 17) were placed now, without worker-1, weight of energy 5.000?\n"
      "Now:   worker-1, where it adds 4.2 W by the model.\nThen:  worker-3, where it adds 5.1 W by the "
      "model.\n"));
  CHECK_FALSE(has(text, "The advice would not change"));
  CHECK(has(text, "THEN ADDS"));
  CHECK(has(text, "\nADVISED  NODE "));
  CHECK(has(text, "THEN Q"));
  CHECK(has(text, "\nthen     worker-3 "));
  CHECK(has(text, "\nnow      worker-1 "));
  asked["otherwise"]["advice"] = nullptr;
  asked["otherwise"]["reason"] = "no candidate is feasible: cpu does not fit";
  asked["otherwise"]["cpu_request_cores"] = 100.0;
  text = render_what_if(document, {}).value();
  CHECK(has(text, "100.000 cores instead of 0.250"));
  CHECK(has(text, "Then:  no node (no candidate is feasible: cpu does not fit).\n"));
  asked["otherwise"] = asked["as_is"];
  CHECK(has(render_what_if(document, {}).value(), "The advice would not change.\n"));
}

TEST_CASE("explain says that a neutral decision advised nothing, and that an outcome is pending") {
  Json document = explain_example();
  document["decision"]["advice"] = nullptr;
  document["decision"]["placed_on"] = nullptr;
  document["decision"]["outcome"] = nullptr;
  document["decision"]["features"] = nullptr;
  CHECK(has(render_explain(document, {}).value(), "no node was advised (q); the scheduler's own plugins decided.\n"));
  CHECK(has(render_explain(document, {}).value(), "The pod has not appeared on any node yet; the outcome is pending."));
  CHECK(has(render_explain(document, {.wide = true}).value(), "Features: not recorded"));
}

TEST_CASE("place prints only the node on its first line, and the next command; without advice the reason") {
  Json document =
      Json::parse(R"({"node":"worker-1","uid":"u-1","name":"batch","reason":"q","scores":{"worker-1":10}})");
  CHECK(render_placed(document, {}).value() ==
        "worker-1\nwhy:           wattle explain u-1\nwhen started:  wattle confirm u-1 worker-1\n");
  document["node"] = nullptr;
  document["reason"] = "mode is shadow";
  CHECK(render_placed(document, {}).value() == "no node for batch: mode is shadow\n");
  document["would_advise"] = {{"node", "worker-2"}, {"reason", "the plan's choice"}};
  CHECK(render_placed(document, {}).value() ==
        "no node for batch: mode is shadow\nwould advise:  worker-2 (the plan's choice)\n");
}

TEST_CASE("energy has its cost and CO2 beside it if the controller has a tariff, and neither without one") {
  const Style style;
  Json report = example("report");
  std::string text = render_report(report, style).value();
  CHECK(has(text, "COST"));
  CHECK(has(text, "CO2"));
  CHECK(has(text, "0.2583 EUR"));
  CHECK(has(text, "327 g"));
  for (const char* key : {"cost", "co2_g"}) report["nodes"][key] = nullptr;
  text = render_report(report, style).value();
  CHECK_FALSE(has(text, "COST"));
  CHECK_FALSE(has(text, "CO2"));
  Json status = example("status");
  CHECK(has(render_status(status, style).value(), "22.3 W est\n            5.85 EUR, 7.4 kg CO2 per day\n"));
  for (const char* key : {"cost_per_day", "co2_g_per_day"}) status[key] = nullptr;
  CHECK_FALSE(has(render_status(status, style).value(), "EUR, 7.4 kg CO2 per day"));
  CHECK(has(render_pod(example("pod"), style).value(), " since first seen: <0.0001 EUR, 0.03 g CO2"));
  CHECK(has(render_pod(example("pod"), style).value(), " J  <0.0001 EUR, <0.01 g CO2"));
  CHECK(has(render_policy(example("policy"), style).value(),
            "0.0034 EUR, 4.35 g CO2 per core-hour with advice, 0.0038 EUR, 4.76 g CO2 without"));
  CHECK(has(status_line(View(example("status"))), " EUR, 7.4 kg CO2 per day | workloads "));
  CHECK(has(render_provision(example("provision"), style).value(), "0.2246 EUR, 285 g CO2 per day"));
  Style wide;
  wide.wide = true;
  CHECK(has(render_nodes(example("nodes"), wide).value(), "0.0004 EUR, 0.56 g CO2"));
  CHECK(has(render_pods(example("pods"), wide).value(), "<0.0001 EUR, 0.03 g CO2"));
  CHECK(has(render_status(example("status"), style).value(), "\n            4.7 MJ, 0.3900 EUR, 493 g CO2 per day\n"));
}

TEST_CASE("the status has the start time of its counts") {
  Json status = example("status");
  CHECK(has(render_status(status, {}).value(), "311 since 2024-11-21 05:20:00Z"));
  status.erase("started_wall_ns");
  CHECK(has(render_status(status, {}).value(), "311 since the controller's start"));
}

TEST_CASE("confirm reports the unit and what ends the workload; done reports the freed place") {
  Json document = Json::parse(
      R"({"confirmed":true,"uid":"u-1","node":"worker-1","unit":"batch.service","limit_s":null,"ended":false})");
  CHECK(render_confirmed(document, {}).value() == "u-1 runs on worker-1 as batch.service\nends:  with batch.service\n");
  document["unit"] = nullptr;
  document["limit_s"] = 1'700'000'000;
  CHECK(render_confirmed(document, {}).value() ==
        "u-1 runs on worker-1\nends:  when you run `wattle done u-1`, at 2023-11-14 22:13:20Z at the latest\n"
        "unit:  no unit of its name found on worker-1 yet; set it with --unit\n");
  document["ended"] = true;
  CHECK(has(render_confirmed(document, {}).value(), "has already ended"));
  Json done = Json::parse(R"({"done":true,"uid":"u-1","node":"worker-1","ended":false})");
  CHECK(render_done(done, {}).value() == "u-1 has ended on worker-1; its resources are free\n");
  done["ended"] = true;
  CHECK(render_done(done, {}).value() == "u-1 had ended on worker-1; its resources are free\n");
  done["node"] = nullptr;
  CHECK(render_done(done, {}).value() == "u-1 was not started; its resources are free\n");
}

TEST_CASE("the saving is the first line of status, followed by the alarms with their commands") {
  Json policy = example("policy"), status = example("status");
  CHECK(has(render_policy(policy, {}).value(),
            "at most 2.0% of pods' time\n            measured 1.3%\n            default scheduler -\n            price "
            "1.0 times"));
  const std::string text = "would save 67 W (17%) [14, 20], modelled";
  policy["modelled"] = status["modelled"] = {{"text", text}};
  status["alarms"] =
      Json::array({{{"what", "nodes"}, {"text", "1 of 8 nodes is silent"}, {"command", "wattle doctor"}}});
  CHECK(has(render_policy(policy, {}).value(), text));
  const std::string shown = render_status(status, {}).value();
  CHECK(shown.starts_with("saving"));
  const auto saving = shown.find(text), alarm = shown.find("1 of 8 nodes is silent (wattle doctor)");
  REQUIRE(alarm != std::string::npos);
  CHECK(saving < alarm);
  CHECK(alarm < shown.find("version"));
  status["alarms"] = Json::array();
  CHECK_FALSE(has(render_status(status, {}).value(), "alarm"));
}

TEST_CASE("status and policy fit in 100 columns, one fact per line") {
  Json policy = example("policy"), status = example("status");
  const auto fits = [](const std::string& text) {
    parse::for_each_line(text, [](std::string_view line) {
      CAPTURE(line);
      CHECK(display_width(line) <= text_width());
      CHECK(line.find("; ") == std::string_view::npos);
    });
  };
  fits(render_status(status, {}).value());
  fits(render_policy(policy, {}).value());
  const std::string because =
      "because of many long reasons that a person typed; and of one more, which is longer still: ";
  policy["changes"].push_back(policy["changes"][0]);
  policy["changes"][0]["what"] = policy["changes"][1]["why"] = because + because;
  policy["unwritten"] = {{"changes", 2}, {"error", because + because}};
  status["mode_reason"] = status["alarms"][0]["text"] = status["who_serves"][0]["text"] = because + because + because;
  fits(render_status(status, {}).value());
  const std::string shown = render_policy(policy, {}).value();
  fits(shown.substr(0, shown.find("CHANGE")));
  parse::for_each_line(shown, [](std::string_view line) { CHECK(display_width(line) <= text_width()); });
  CHECK(has(shown, "\n     7  2024-11-21 05:20:00Z  operator/ann  mode shadow -> canary:10%\n"));
}

TEST_CASE("doctor succeeds unless a check has failed or a node is disconnected") {
  Json document = example("doctor");
  CHECK(doctor_is_well(document));
  CHECK(has(render_doctor(document, {}).value(), "load intel_rapl_common"));
  document["nodes"][0]["findings"][0]["state"] = "failed";
  CHECK_FALSE(doctor_is_well(document));
  document = example("doctor");
  document["nodes"][0]["connected"] = false;
  CHECK_FALSE(doctor_is_well(document));
  CHECK(has(render_doctor(document, {}).value(), "0 of 1 nodes connected"));
  document = example("doctor");
  document["controller"]["ok"] = false;
  CHECK_FALSE(doctor_is_well(document));
}

TEST_CASE("doctor prints a finding once for all its nodes, wrapped, and passed checks only in wide output") {
  Json document = example("doctor");
  Json node = document["nodes"][0];
  node["findings"] = {{{"name", "rapl"},
                       {"state", "lost"},
                       {"detail", std::string(30, 'x') + " " + std::string(90, 'y')},
                       {"fix", "load it"}},
                      {{"name", "psi"}, {"state", "ok"}, {"detail", "there"}, {"fix", ""}}};
  document["nodes"] = Json::array();
  for (const char* name : {"a", "b", "c", "d", "e"}) {
    node["name"] = name;
    document["nodes"].push_back(node);
  }
  const std::string text = render_doctor(document, {}).value();
  CHECK(has(text, "\na, b, c and 2 more\n  lost    rapl\n    " + std::string(30, 'x') + "\n    " +
                      std::string(90, 'y') + "\n    fix: load it\n"));
  CHECK_FALSE(has(text, "psi"));
  CHECK(has(render_doctor(document, {.wide = true}).value(), "psi"));
}

TEST_CASE("gaps shows how many samples of which node are missing and why; in wide output also their numbers") {
  CHECK(render_gaps(example("gaps"), {}).value() ==
        "NODE      NOTICED               RECORDS  WHY\n"
        "worker-1  2024-11-21 06:20:00Z        5  never received\n");
  const std::string wide = render_gaps(example("gaps"), {.wide = true}).value();
  CHECK(has(wide, "INCARNATION  FIRST  LAST\n"));
  CHECK(has(wide, "1732166400      5     9\n"));
  CHECK(has(render_gaps({{"gaps", Json::array()}}, {}).value(), "no gaps"));
}

TEST_CASE("names cannot send control sequences to the terminal") {
  for (Page& page : pages()) {
    CAPTURE(page.name);
    with_each_changed(
        page.document,
        [&] {
          const auto text = page.render(page.document, {.wide = true});
          if (text) CHECK_FALSE(has(*text, "\x1b"));
        },
        Json("\x1b[2J"), false);
  }
}

TEST_CASE("savings has the watts, the interval or what it lacks, the command, and the nodes that could not sleep") {
  const Style style;
  const std::string text = render_savings(example("savings"), style).value();
  CHECK(has(text, "available in all: 331.0 W of 812.5 W (41%), 28.6 MJ, 1.75 EUR, 2.2 kg CO2 per day, modelled"));
  CHECK(has(text, "levers have 77.0 W in common, which count once"));
  CHECK(has(text, "95% interval: none: no estimate yet") == false);  // drain has no figure
  CHECK(has(text, "150.0 W  [92.4, 167.0] W"));
  CHECK(has(text, "95% interval: [17.1, 34.9] W"));
  CHECK(has(text, "Apply with: wattle policy promote"));
  CHECK(has(text, "frees 2 with those above"));
  CHECK(has(text, "it has pods (worker-1, worker-2, worker-3, worker-4, worker-5, ...)"));
  Json report = example("report");
  report["savings"] = example("savings");
  CHECK(has(render_report(report, style).value(), "available in all: 331.0 W"));
}

TEST_CASE("power states have their time, proof and saving; a sleeping node is not offline") {
  const Style style;
  std::string text = render_sleep_status(example("sleep"), {.wide = true}).value();
  std::replace(text.begin(), text.end(), '\n', ' ');  // of wrapped lines
  CHECK(has(text, "worker-2  asleep"));
  CHECK(has(text, "failed (presumed)"));
  CHECK(has(text, "4 of 3"));
  CHECK(has(text, "9.4 kJ measured"));
  CHECK(has(text, " kJ published"));
  CHECK(has(text,
            "Complete round trips saved 18.5 MJ, 1.54 EUR, 1.9 kg CO2 (modelled), net of transitions. Round trips: 9"));
  CHECK(has(text, "102.0 kJ in transitions, 1.9 MJ asleep."));
  CHECK(has(text, "2m40s on average."));
  CHECK(has(render_sleep_history(example("sleep"), {.wide = true}).value(), "  suspending  "));
  CHECK(has(render_sleep_wake({{"woken", Json::array()}}, style).value(), "no node sleeps"));
  Json plan = example("sleep");
  CHECK_FALSE(has(render_sleep_plan(plan, style).value(), "FROM"));
  plan["sleep"][0]["moves"].push_back({{"pod", "web.service"}, {"target", "worker-1"}, {"owner", nullptr}});
  text = render_sleep_plan(plan, style).value();
  CHECK(has(text, "MOVE         FROM      TO\nweb.service  worker-2  worker-1\n"));
  CHECK(has(text, "Wattle does not make these moves."));
  plan["moves_pods"] = true;
  CHECK(has(render_sleep_plan(plan, style).value(), "Wattle makes these moves by eviction"));
  const Json test = {{"node", "worker-1"}, {"operation", 17}, {"round_trips", 1}, {"proven_trips", 3}};
  CHECK(has(render_sleep_test(test, style).value(), "Proven so far: 1 of 3."));
  Json document = example("nodes");
  Json& node = document["nodes"][0];
  node["connected"] = false;
  CHECK(has(render_nodes(document, style).value(), "offline"));
  for (const char* state : {"suspending", "asleep", "waking", "probation"}) {
    node["power"] = {{"state", state}, {"since_wall_s", 1732166100.0}, {"reason", nullptr}};
    CHECK(has(render_nodes(document, style).value(), state));
    CHECK_FALSE(has(render_nodes(document, style).value(), "offline"));
  }
  node["power"]["state"] = "awake";
  CHECK(has(render_nodes(document, style).value(), "offline"));
  Json doctor = example("doctor");
  doctor["nodes"][0]["connected"] = false;
  doctor["nodes"][0]["findings"] = Json::array();
  CHECK_FALSE(doctor_is_well(doctor));
  doctor["nodes"][0]["power"] = {{"state", "asleep"}};
  CHECK(has(render_doctor(doctor, style).value(), "1 asleep"));
}

TEST_CASE("no page passes a peer's name to the terminal unescaped") {
  const std::string hostile =
      "a\x1b]0;x\x07\x1b[2J\r\xc2\x9b"
      "1m\xe2\x80\xae"
      "b\xe2\x80\x8b\xff";
  for (Page& page : pages()) {
    CAPTURE(page.name);
    with_each_changed(
        page.document,
        [&] {
          const auto text = page.render(page.document, {});
          const std::string said = text ? *text : printable_lines(text.error().message());
          CHECK(printable_lines(said) == said);
        },
        Json(hostile), false);
  }
}
