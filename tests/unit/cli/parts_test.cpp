// parts: pieces that several commands print: budgets, and one pod with its containers.
#include "cli/parts.hpp"

#include <doctest/doctest.h>

#include "common/json/value.hpp"

using namespace wattle;
using namespace wattle::cli;

namespace {
bool holds(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }
}  // namespace

TEST_CASE("a budget shows the source of its limit, its measured share and its price") {
  const Json waiting = {
      {"limit", 0.012}, {"set", false}, {"measured", 0.008}, {"under_default", 0.007}, {"price_w", 14.2}};
  CHECK(
      waiting_cell(View(waiting)).text ==
      "at most 1.2% of pods' time, the share under the default scheduler; measured 0.8%; default scheduler 0.7%; price "
      "14.2 W per core");
  const Json late = {{"limit", 0.02}, {"set", true}, {"measured", 0.013}, {"under_default", nullptr}, {"price", 1.0}};
  CHECK(late_cell(View(late)).text ==
        "at most 2.0% of pods' time; measured 1.3%; default scheduler -; price 1.0 times");
}

TEST_CASE("a budget that is not in force has no limit, and an exceeded one is marked with the excess") {
  const Json none = {{"limit", nullptr},         {"in_force", false},     {"set", false},
                     {"measured", 0.274},        {"used_ratio", nullptr}, {"exceeded", false},
                     {"under_default", nullptr}, {"price", 1.0}};
  CHECK(late_cell(View(none)).text ==
        "no budget: none is set, and the default scheduler's share is unknown; measured 27.4%");
  CHECK(late_cell(View(none)).tone == Tone::plain);
  Json over = {
      {"limit", 0.01},    {"in_force", true},         {"set", false},   {"measured", 0.0617}, {"used_ratio", 6.17},
      {"exceeded", true}, {"under_default", nullptr}, {"price_w", 30.0}};
  CHECK(waiting_cell(View(over)).text ==
        "at most 1.0% of pods' time, the minimum, because the default scheduler's share is unknown; measured 6.2%, 6.2 "
        "times the budget; default scheduler -; price 30.0 W per core");
  CHECK(waiting_cell(View(over)).tone == Tone::bad);
  over["used_ratio"] = 0.9;
  over["exceeded"] = false;
  CHECK(waiting_cell(View(over)).text.find("times the budget") == std::string::npos);
  CHECK(waiting_cell(View(over)).tone == Tone::plain);
}

TEST_CASE("watts that a model estimates are marked in sums") {
  CHECK(power_text(View(Json::parse(R"({"power_w": 812.5, "estimated_w": 22.3})"))) == "812.5 W, of which 22.3 W est");
  CHECK(power_text(View(Json::parse(R"({"power_w": 22.3, "estimated_w": 22.3})"))) == "22.3 W est");
  CHECK(power_text(View(Json::parse(R"({"power_w": 812.5, "estimated_w": null})"))) == "812.5 W");
}

TEST_CASE("a pod is printed with its containers, by name or id, and its rest") {
  Json document = Json::parse(R"({"pod": {"uid": "u-1", "name": "web-1", "namespace": "shop", "node": "n1",
    "cpu_cores": 0.42, "power_w": 5.1, "energy_j": 300.0, "energy_source": "estimated",
    "containers": [{"id": "4f1c2a9be07d", "name": "web", "cpu_cores": 0.4, "power_w": 4.9, "energy_j": 240.0},
                   {"id": "99aa01c2d3e4", "name": null, "cpu_cores": 0.0, "power_w": 0.0, "energy_j": 45.0}],
    "rest": {"cpu_cores": 0.02, "power_w": 0.2, "energy_j": 15.0}}})");
  const std::string text = render_pod(document, {.wide = true}).value();
  for (const char* part : {"shop/web-1", "web ", "99aa01c2d3e4", "4f1c2a9be07d", "(rest)", "80%", "15%", "5.0%", "est"})
    CHECK_MESSAGE(holds(text, part), part, " in ", text);
  document["pod"]["containers"] = Json::array();
  CHECK(holds(render_pod(document, {}).value(), "no containers known yet"));
}
