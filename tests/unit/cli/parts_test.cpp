// Pieces that several commands show: one pod with its containers.
#include "cli/parts.hpp"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

using namespace wattle;
using namespace wattle::cli;

namespace {
bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }
}  // namespace

TEST_CASE("a pod is shown with its containers by name, or digits, and its rest") {
  Json document = Json::parse(R"({"pod": {"uid": "u-1", "name": "web-1", "namespace": "shop", "node": "n1",
    "cpu_cores": 0.42, "power_w": 5.1, "energy_j": 300.0, "energy_source": "estimated",
    "containers": [{"id": "4f1c2a9be07d", "name": "web", "cpu_cores": 0.4, "power_w": 4.9, "energy_j": 240.0},
                   {"id": "99aa01c2d3e4", "name": null, "cpu_cores": 0.0, "power_w": 0.0, "energy_j": 45.0}],
    "rest": {"cpu_cores": 0.02, "power_w": 0.2, "energy_j": 15.0}}})");
  const std::string text = render_pod(document, {.wide = true}).value();
  for (const char* part : {"shop/web-1", "web ", "99aa01c2d3e4", "4f1c2a9be07d", "(rest)", "80%", "15%", "5.0%", "est"})
    CHECK_MESSAGE(has(text, part), part, " in ", text);
  document["pod"]["containers"] = Json::array();
  CHECK(has(render_pod(document, {}).value(), "no container of it is known yet"));
}
