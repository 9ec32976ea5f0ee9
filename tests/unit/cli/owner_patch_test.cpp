// owner_patch: patches for the templates of owners: the right object and path for each kind, requests that add up, and
// refusals.
#include "cli/requests/owner_patch.hpp"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "cli/requests/record.hpp"
#include "cli/view.hpp"

namespace wattle::cli {
namespace {

constexpr double kMebi = 1 << 20;

// Avoids nested braces, which compilers interpret differently.
OrderedJson within(const char* key, OrderedJson value) {
  OrderedJson object = OrderedJson::object();
  object[key] = std::move(value);
  return object;
}

OrderedJson container_json(const std::string& name, const std::string& cpu, const std::string& memory) {
  OrderedJson requests = OrderedJson::object();
  if (!cpu.empty()) requests["cpu"] = cpu;
  if (!memory.empty()) requests["memory"] = memory;
  return {{"name", name}, {"image", "i"}, {"resources", within("requests", std::move(requests))}};
}

OrderedJson owner_json(const std::string& kind, const std::vector<OrderedJson>& all) {
  OrderedJson containers = OrderedJson::array();
  for (const OrderedJson& one : all) containers.push_back(one);
  const bool batch = kind == "Job" || kind == "CronJob";
  OrderedJson spec = within("template", within("spec", within("containers", std::move(containers))));
  if (kind == "CronJob") spec = within("jobTemplate", within("spec", std::move(spec)));
  return {{"apiVersion", batch ? "batch/v1" : "apps/v1"},
          {"kind", kind},
          {"metadata", {{"name", "web"}, {"namespace", "shop"}}},
          {"spec", std::move(spec)}};
}

OwnerAdvice advice_for(std::optional<double> cores, std::optional<double> bytes) {
  OwnerAdvice made;
  made.workload = "shop/Deployment/web";
  made.cpu_cores = cores;
  made.memory_bytes = bytes;
  made.observed_s = 2 * 86'400;
  return made;
}

View container_at(const OwnerPatch& made, std::size_t i) {
  return View(made.patch)["spec"]["template"]["spec"]["containers"].items().at(i);
}

TEST_CASE("a patch names its object, and has the requests at the kind's pod template") {
  for (const char* kind : {"Deployment", "StatefulSet", "DaemonSet", "Job"}) {
    const OwnerPatch made =
        owner_patch(owner_json(kind, {container_json("web", "2", "1Gi")}), advice_for(0.25, 200 * kMebi)).value();
    const View patch(made.patch);
    CHECK(patch["apiVersion"].text() == (std::string(kind) == "Job" ? "batch/v1" : "apps/v1"));
    CHECK(patch["kind"].text() == kind);
    CHECK(patch["metadata"]["name"].text() == "web");
    CHECK(patch["metadata"]["namespace"].text() == "shop");
    CHECK(container_at(made, 0)["name"].text() == "web");
    CHECK(container_at(made, 0)["resources"]["requests"]["cpu"].text() == "250m");
    CHECK(container_at(made, 0)["resources"]["requests"]["memory"].text() == "200Mi");
    CHECK_FALSE(container_at(made, 0)["image"].present());
    CHECK_FALSE(patch["spec"]["replicas"].present());
  }
  const OwnerPatch scheduled =
      owner_patch(owner_json("CronJob", {container_json("web", "2", "1Gi")}), advice_for(0.25, {})).value();
  const View pod = View(scheduled.patch)["spec"]["jobTemplate"]["spec"]["template"]["spec"];
  CHECK(pod["containers"].items().front()["resources"]["requests"]["cpu"].text() == "250m");
  CHECK_FALSE(pod["containers"].items().front()["resources"]["requests"]["memory"].present());
}

TEST_CASE("several containers share the pod's need in proportion to their requests, sidecars too, and a note says so") {
  OrderedJson object = owner_json("Deployment", {container_json("web", "3", "1Gi"), container_json("proxy", "", "")});
  object["spec"]["template"]["spec"]["initContainers"] = {container_json("logs", "1", "1Gi"),
                                                          container_json("setup", "9", "")};
  object["spec"]["template"]["spec"]["initContainers"][0]["restartPolicy"] = "Always";
  const OwnerPatch made = owner_patch(object, advice_for(0.4, 512 * kMebi)).value();
  const View spec = View(made.patch)["spec"]["template"]["spec"];
  REQUIRE(spec["containers"].items().size() == 1);
  CHECK(container_at(made, 0)["resources"]["requests"]["cpu"].text() == "300m");
  CHECK(container_at(made, 0)["resources"]["requests"]["memory"].text() == "256Mi");
  REQUIRE(spec["initContainers"].items().size() == 1);
  CHECK(spec["initContainers"].items()[0]["name"].text() == "logs");
  CHECK(spec["initContainers"].items()[0]["resources"]["requests"]["cpu"].text() == "100m");
  std::string notes;
  for (const std::string& note : made.notes) notes += note + "\n";
  CHECK(notes.find("its 3 containers share them in proportion to their current requests") != std::string::npos);
  CHECK(notes.find("Container proxy requests no CPU and gets none") != std::string::npos);
  CHECK(notes.find("Init container setup requests more CPU") != std::string::npos);
}

TEST_CASE("limits equal to requests change with them, and another limit caps its request") {
  OrderedJson one = container_json("web", "2", "1Gi");
  one["resources"]["limits"] = {{"cpu", "2"}, {"memory", "1Gi"}};
  const OwnerPatch guaranteed = owner_patch(owner_json("Deployment", {one}), advice_for(3, 200 * kMebi)).value();
  CHECK(container_at(guaranteed, 0)["resources"]["limits"]["cpu"].text() == "3000m");
  CHECK(container_at(guaranteed, 0)["resources"]["limits"]["memory"].text() == "200Mi");
  one["resources"]["limits"] = {{"cpu", "2500m"}};
  const OwnerPatch capped = owner_patch(owner_json("Deployment", {one}), advice_for(3, {})).value();
  CHECK(container_at(capped, 0)["resources"]["requests"]["cpu"].text() == "2500m");
  CHECK_FALSE(container_at(capped, 0)["resources"]["limits"].present());
  CHECK(capped.notes.front().find("caps its CPU") != std::string::npos);
}

TEST_CASE("fewer replicas are part of the patch, unless the owner has no more than that or no number") {
  OwnerAdvice said = advice_for({}, {});
  said.replicas = 2;
  OrderedJson object = owner_json("Deployment", {container_json("web", "2", "1Gi")});
  CHECK(owner_patch(object, said).error().what.find("already requests") != std::string::npos);
  object["spec"]["replicas"] = 3;
  const OwnerPatch made = owner_patch(object, said).value();
  CHECK(View(made.patch)["spec"]["replicas"].number() == 2);
  CHECK_FALSE(View(made.patch)["spec"]["template"].present());
  object["spec"]["replicas"] = 2;
  CHECK(owner_patch(object, said).error().what.find("already requests") != std::string::npos);
}

TEST_CASE("a limit between two units caps its request in its own unit, and the others take the rest") {
  OrderedJson odd = container_json("odd", "50m", "50M");
  odd["resources"]["limits"] = {{"cpu", "100500u"}, {"memory", "100M"}};
  const OwnerPatch made =
      owner_patch(owner_json("Deployment", {odd, container_json("rest", "50m", "50M")}), advice_for(0.4, 300 * kMebi))
          .value();
  CHECK(container_at(made, 0)["resources"]["requests"]["cpu"].text() == "100500u");
  CHECK(container_at(made, 0)["resources"]["requests"]["memory"].text() == "100M");
  CHECK(container_at(made, 1)["resources"]["requests"]["cpu"].text() == "300m");
  CHECK(container_at(made, 1)["resources"]["requests"]["memory"].text() == "205Mi");
  const OwnerPatch near = owner_patch(owner_json("Deployment", {odd}), advice_for({}, 95.2 * kMebi)).value();
  CHECK(container_at(near, 0)["resources"]["requests"]["memory"].text() == "100M");
}

TEST_CASE("a patch from less than a day of telemetry says so") {
  const OrderedJson object = owner_json("Deployment", {container_json("web", "2", "1Gi")});
  OwnerAdvice said = advice_for(0.5, 300 * kMebi);
  CHECK(owner_patch(object, said).value().notes.empty());
  said.observed_s = 13.5 * 3600;
  REQUIRE(owner_patch(object, said).value().notes.size() == 1);
  CHECK(owner_patch(object, said).value().notes.front().find("Only 13 h are observed") == 0);
}

TEST_CASE("a template whose requests would all equal their limits keeps its QoS class, and then gets no second patch") {
  OrderedJson one = container_json("web", "100m", "100Mi");
  one["resources"]["limits"] = {{"cpu", "1"}, {"memory", "1Gi"}};
  OrderedJson object = owner_json("Deployment", {one});
  const OwnerPatch made = owner_patch(object, advice_for(3, 3072 * kMebi)).value();
  CHECK(container_at(made, 0)["resources"]["requests"]["cpu"].text() == "999m");
  CHECK(container_at(made, 0)["resources"]["requests"]["memory"].text() == "1024Mi");
  CHECK_FALSE(container_at(made, 0)["resources"]["limits"].present());
  CHECK(made.notes.back().find("so that the QoS class stays the same") != std::string::npos);
  object["spec"]["template"]["spec"]["containers"][0]["resources"]["requests"] = {{"cpu", "999m"}, {"memory", "1Gi"}};
  CHECK(owner_patch(object, advice_for(3, 3072 * kMebi)).error().code == Errc::not_found);
}

TEST_CASE("a template with pod-level resources gets no patch, and a note names the controller that manages an owner") {
  OrderedJson object = owner_json("Deployment", {container_json("web", "2", "1Gi")});
  OrderedJson manager = OrderedJson::object();
  manager["kind"] = "Database";
  manager["name"] = "orders";
  manager["controller"] = true;
  object["metadata"]["ownerReferences"] = OrderedJson::array();
  object["metadata"]["ownerReferences"].push_back(std::move(manager));
  CHECK(owner_patch(object, advice_for(1, {})).value().notes.back().find("Database orders manages") == 0);
  object["spec"]["template"]["spec"]["resources"] = within("requests", within("cpu", "3"));
  const auto made = owner_patch(object, advice_for(1, {}));
  REQUIRE_FALSE(made);
  CHECK(made.error().what.find("pod-level resources") != std::string::npos);
}

TEST_CASE("no patch if an autoscaler or the owner decides, or nothing would change; the error says why") {
  const OrderedJson object = owner_json("Deployment", {container_json("web", "2", "1Gi")});
  const auto refusal = [&](OwnerAdvice said, const OrderedJson& of) {
    const auto made = owner_patch(of, said);
    REQUIRE_FALSE(made);
    CHECK(made.error().subject == "shop/Deployment/web");
    CHECK_FALSE(made.error().fix.empty());
    return made.error().what;
  };
  OwnerAdvice said = advice_for(1, {});
  said.autoscaler = "web-vpa";
  CHECK(refusal(said, object).find("VerticalPodAutoscaler web-vpa") != std::string::npos);
  said.autoscaler = "";
  said.scaler = "HorizontalPodAutoscaler shop/web (CPU utilisation)";
  CHECK(refusal(said, object).find("HorizontalPodAutoscaler shop/web (CPU utilisation) scales it") == 0);
  said.scaler = "";
  said.level = "limits";
  CHECK(refusal(said, object).find("wattle.dev/provision: limits") != std::string::npos);
  CHECK(refusal(advice_for({}, {}), object) == "no suggestion yet");
  CHECK(refusal(advice_for(2, 1024 * kMebi), object).find("already requests") != std::string::npos);
  CHECK(refusal(advice_for(1, {}), owner_json("Deployment", {})).find("no containers") != std::string::npos);
  const OrderedJson bare =
      owner_json("Deployment", {container_json("web", "", "1Gi"), container_json("proxy", "", "")});
  CHECK(refusal(advice_for(1, {}), bare).find("none of its 2 containers requests CPU") != std::string::npos);
}

TEST_CASE("each kind has its API path, and a bare pod has none") {
  CHECK(owner_path("shop", "Deployment", "web") == "/apis/apps/v1/namespaces/shop/deployments/web");
  CHECK(owner_path("shop", "CronJob", "web") == "/apis/batch/v1/namespaces/shop/cronjobs/web");
  CHECK(owner_path("shop", "Pod", "web").empty());
}

TEST_CASE("any containers: the patched requests add up to the need, rounded up by less than a unit for each") {
  CHECK(rc::check([] {
    const auto n = *rc::gen::inRange<std::size_t>(1, 6);
    std::vector<OrderedJson> containers;
    double had = 0;
    for (std::size_t i = 0; i < n; ++i) {
      const int milli = *rc::gen::inRange(1, 4000);
      had += milli / 1000.0;
      containers.push_back(container_json("c" + std::to_string(i), std::to_string(milli) + "m", "64Mi"));
    }
    const double wanted = *rc::gen::inRange(1, 9000) / 1000.0;
    RC_PRE(std::abs(wanted - had) > 0.02 * had);
    const OwnerPatch made =
        owner_patch(owner_json("StatefulSet", std::move(containers)), advice_for(wanted, {})).value();
    double sum = 0;
    for (const View& each : View(made.patch)["spec"]["template"]["spec"]["containers"].items())
      sum += amount_of(Sizes::of(each["resources"]).requests, "cpu").value();
    RC_ASSERT(sum >= wanted - 1e-6);
    RC_ASSERT(sum < wanted + 1e-3 * static_cast<double>(n) + 1e-6);
  }));
}

TEST_CASE("any containers and limits: a patched template has nothing left to patch, and respects its limits") {
  CHECK(rc::check([] {
    const auto n = *rc::gen::inRange<std::size_t>(1, 6);
    const bool limited = *rc::gen::arbitrary<bool>();  // all containers
    std::vector<OrderedJson> containers;
    for (std::size_t i = 0; i < n; ++i) {
      const int milli = *rc::gen::inRange(2, 400), kilo = *rc::gen::inRange(3000, 400'000);  // more than a unit
      containers.push_back(
          container_json("c" + std::to_string(i), std::to_string(milli) + "m", std::to_string(kilo) + "k"));
      if (!limited && *rc::gen::arbitrary<bool>()) continue;
      OrderedJson limits = OrderedJson::object();
      limits["cpu"] = std::to_string(milli + *rc::gen::inRange(0, 90)) + "m";
      limits["memory"] = std::to_string(kilo + *rc::gen::inRange(0, 90'000)) + "k";
      containers.back()["resources"]["limits"] = std::move(limits);
    }
    const OwnerAdvice advice =
        advice_for(*rc::gen::inRange(1, 20'000) / 10'000.0, 1000.0 * *rc::gen::inRange(1, 2'000'000));
    OrderedJson object = owner_json("StatefulSet", containers);
    const auto made = owner_patch(object, advice);
    RC_PRE(made.has_value());
    OrderedJson& all = object["spec"]["template"]["spec"]["containers"];
    for (const View& each : View(made->patch)["spec"]["template"]["spec"]["containers"].items())
      for (OrderedJson& one : all)
        if (View(one)["name"].text() == each["name"].text())
          for (const auto& [part, sizes] : each["resources"].members())
            for (const auto& [resource, amount] : sizes.members()) one["resources"][part][resource] = amount.any();
    for (const View& one : View(all).items()) {
      const Sizes sizes = Sizes::of(one["resources"]);
      for (const char* resource : {"cpu", "memory"}) {
        const auto limit = amount_of(sizes.limits, resource);
        RC_ASSERT(!limit || amount_of(sizes.requests, resource).value() <= *limit);
      }
    }
    const auto again = owner_patch(object, advice);
    RC_ASSERT(!again.has_value());
    RC_ASSERT(again.error().code == Errc::not_found);
  }));
}

}  // namespace
}  // namespace wattle::cli
