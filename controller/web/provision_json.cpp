#include "controller/web/provision_json.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "common/json/value.hpp"
#include "controller/config.hpp"
#include "controller/kube/watch.hpp"
#include "controller/provision/margin_teacher.hpp"
#include "controller/provision/replica_book.hpp"
#include "controller/provision/request_book.hpp"
#include "controller/provision/request_words.hpp"
#include "controller/provision/sizing_ladder.hpp"
#include "controller/web/cluster_json.hpp"
#include "controller/web/sizing_json.hpp"

namespace wattle::controller {
namespace {

using json = SortedJson;
using Workloads = RequestWorkloads;

constexpr double kSecondsPerDay = 86'400;
constexpr std::size_t kMostMeant = 5;  // workloads that an ambiguous name lists

std::string_view level_word(ProvisionLevel level) { return level == ProvisionLevel::requests ? "requests" : "suggest"; }

bool is_unit(const std::string& name) {
  return name.ends_with(".service") || name.ends_with(".slice") || name.ends_with(".scope");
}

json resources_json(std::optional<double> cpu_cores, std::optional<double> memory_bytes) {
  return {{"cpu_cores", or_null(cpu_cores)}, {"memory_bytes", or_null(memory_bytes)}};
}

json resources_json(const placement::Resources& of) { return resources_json(of.cpu_cores, of.memory_bytes); }

json freed_json(const Freed& freed, const Tariff& tariff) {
  json object = resources_json(freed.cpu_cores, freed.memory_bytes);
  object["power_w"] = or_null(freed.power_w);
  const auto energy_j = freed.power_w ? std::optional(*freed.power_w * kSecondsPerDay) : std::nullopt;
  object["energy_j_per_day"] = or_null(energy_j);
  tariff.add_to(object, energy_j, "_per_day");
  return object;
}

json resizes_json(const ResizeCounts& of) {
  using enum kube::PodResize;
  return {{"set", of.set},
          {"in_progress", of.of(in_progress)},
          {"failing", of.of(failing)},
          {"deferred", of.of(deferred)},
          {"infeasible", of.of(infeasible)},
          {"message", text_or_null(of.message)},
          {"given_up", resources_json(of.given_up)}};
}

json levels_json(const LevelCounts& of) {
  json levels{{"limits_left_alone", of.both}};
  using enum kube::PodProvision;
  for (const kube::PodProvision level : {off, suggest, limits, requests, protect})
    levels[std::string(to_string(level))] = of.of(level);
  return levels;
}

using TeachersChoices = std::map<std::string, TeacherReplicas>;

json teacher_json(const TeachersChoices& teacher, const std::string& key) {
  const auto found = teacher.find(key);
  if (found == teacher.end()) return nullptr;
  const TeacherReplicas& of = found->second;
  return {{"pods", of.pods}, {"more", of.more}, {"fewer", of.fewer}, {"suggested", of.suggested()}};
}

json replicas_json(const ReplicaBook& book, const TeachersChoices& teacher, const std::string& key,
                   const RequestWorkload& of) {
  if (!book.on() || book.state_of(key, of) == ReplicaState::none) return nullptr;
  const auto* rule = book.rule_of(key);
  json object = {
      {"state", to_string(book.state_of(key, of))}, {"now", book.replicas_of(key, of)}, {"suggested", nullptr}};
  object["rate_rps"] = *rule->rate_rps();
  const auto next = rule->next();
  object["expected_rps"] = next ? json(next->expected.rate_rps) : json();
  object["expected_high_rps"] = next ? json(next->expected.high_rps) : json();
  object["core_s_per_request"] = next ? json(next->core_s_per_request) : json();
  object["aim_ratio"] = next ? json(next->aim_ratio) : json();
  object["replica_rps"] = next ? json(next->replica_rps) : json();
  if (const auto suggested = book.suggested(key)) object["suggested"] = suggested->replicas;
  object["owner"] = text_or_null(book.owner_of(key).by.value_or(""));
  object["teacher"] = teacher_json(teacher, key);
  return object;
}

// A sentence about the teacher's suggestion, if it has one.
std::optional<std::string> teacher_words(const TeachersChoices& teacher, const std::string& key) {
  const auto found = teacher.find(key);
  if (found == teacher.end()) return std::nullopt;
  const TeacherReplicas& of = found->second;
  return "The teacher suggests " + std::to_string(of.suggested()) + " replicas: of " + std::to_string(of.pods) +
         " pods with limits, it would add a replica for " + std::to_string(of.more) + " and remove one for " +
         std::to_string(of.fewer) + ". Nothing applies it.";
}

json words_json(const ReplicaBook& replicas, const TeachersChoices& teacher, const std::string& key,
                const RequestWorkload& of) {
  json words = request_words(of);
  if (!replicas.on()) return words;
  for (std::string& word : replica_words(replicas, key, of)) words.push_back(std::move(word));
  if (auto word = teacher_words(teacher, key)) words.push_back(*std::move(word));
  return words;
}

json request_json(const Parts& from, const TeachersChoices& teacher, const std::string& key,
                  const RequestWorkload& of) {
  return {{"workload", key},
          {"namespace", of.name_space},
          {"owner", of.owner},
          {"containers", of.containers},
          {"qos", text_or_null(of.qos)},
          {"shrink_allowed", of.shrink_allowed},
          {"pods", of.pods},
          {"request", resources_json(of.request)},
          {"original", resources_json(of.original)},
          {"rule", resources_json(of.rule.cpu_cores(), of.rule.memory_bytes())},
          {"lasting", resources_json(of.rule.lasting_cores(), of.rule.lasting_bytes())},
          {"needed", resources_json(of.rule.wanted_cores(), of.rule.wanted_bytes())},
          {"suggested", resources_json(of.suggested_cores(), of.suggested_bytes())},
          {"used", resources_json(of.used)},
          {"freed", freed_json(of.freed, from.config.tariff)},
          {"resizes", resizes_json(of.resizes)},
          {"levels", levels_json(of.levels)},
          {"state", state_of(of)},
          {"heard_s", of.rule.observed_s()},
          {"raise_needs_s", of.rule.raise_needs_s()},
          {"lower_needs_s", of.rule.lower_needs_s()},
          {"replicas", replicas_json(from.replicas, teacher, key, of)},
          {"sizing", owner_sizing_json(from.sizing, key)},
          {"why", words_json(from.replicas, teacher, key, of)}};
}

json totals_json(const RequestTotals& totals, const Tariff& tariff) {
  return {{"workloads", totals.workloads},          {"pods", totals.pods},
          {"suggested", totals.suggested},          {"requested", resources_json(totals.requested)},
          {"used", resources_json(totals.used)},    {"freed", freed_json(totals.freed, tariff)},
          {"resizes", resizes_json(totals.resizes)}};
}

// Lists all workloads of a namespace with their pods' UIDs, for the client that sets requests.
json of_namespace(const Parts& from, const TeachersChoices& teacher, const std::string& name_space) {
  const RequestBook& book = from.requests;
  json list = json::array();
  for (const auto& [key, uids] : book.pods_of(name_space)) {
    list.push_back(request_json(from, teacher, key, book.workloads().at(key)));
    list.back()["pod_uids"] = uids;
  }
  return list;
}

Result<Workloads::const_iterator> named_workload(const Workloads& workloads, const std::string& name) {
  const auto whole = workloads.find(name);
  if (whole != workloads.end()) return whole;
  std::vector<Workloads::const_iterator> meant;
  for (auto at = workloads.begin(); at != workloads.end(); ++at)
    if (!name.empty() && at->first.ends_with("/" + name)) meant.push_back(at);
  if (meant.size() == 1) return meant.front();
  if (meant.empty())
    return fail(Errc::not_found, "workload " + name, "unknown, or no data yet",
                is_unit(name) ? "systemd units have no requests; wattle-actuator sets their limits"
                              : "use NAMESPACE/KIND/NAME; list workloads with `wattle provision list`");
  std::string list;
  for (std::size_t i = 0; i < std::min(meant.size(), kMostMeant); ++i) list += (i > 0 ? ", " : "") + meant[i]->first;
  return fail(Errc::malformed, "workload " + name, "is ambiguous: " + list + (meant.size() > kMostMeant ? ", ..." : ""),
              "use the full name");
}

// Filters by `only`: workloads with a differing suggestion, that permit lower requests, or with a replica suggestion.
bool wanted(const Parts& from, const std::string& only, const std::string& key, const RequestWorkload& of) {
  const ReplicaBook& replicas = from.replicas;
  if (only == "suggested") return differs(of);
  if (only == "sized") return from.sizing.owner(key) != nullptr;
  return only.empty() || (replicas.on() && replicas.state_of(key, of) != ReplicaState::none);
}

}  // namespace

Result<std::string> provision_text(const Parts& from, const Arguments& arguments) {
  if (!from.requests.on())
    return fail(Errc::not_found, "provision", "provisioning.level is off", "set provisioning.level: suggest");
  const Workloads& workloads = from.requests.workloads();
  const TeachersChoices teacher = from.margins.replicas();
  json document = {{"level", level_word(from.config.provision)},
                   {"followed", from.watch.on()},
                   {"replicas", from.replicas.on()},
                   {"sizing", sizing_json(from.sizing)},
                   {"beyond", from.requests.beyond()},
                   {"totals", totals_json(from.requests.totals(), from.config.tariff)}};
  if (const auto one = arguments.find("workload"); one != arguments.end()) {
    WATTLE_TRY(const auto found, named_workload(workloads, one->second));
    document["workloads"] = json::array({request_json(from, teacher, found->first, found->second)});
    return document.dump();
  }
  if (const auto one = arguments.find("namespace"); one != arguments.end()) {
    document["workloads"] = of_namespace(from, teacher, one->second);
    document["more"] = 0;
    return document.dump();
  }
  const std::string only = argument(arguments, "only");
  if (arguments.contains("only") && only != "suggested" && only != "replicas" && only != "sized")
    return fail(Errc::malformed, "argument only", "invalid value '" + only + "'",
                "use suggested, sized or replicas, or omit it");
  WATTLE_TRY(const std::size_t limit, parse_limit(arguments, 1000));
  std::vector<Workloads::const_iterator> rows;
  for (auto at = workloads.begin(); at != workloads.end(); ++at)
    if (at->second.pods > 0 && wanted(from, only, at->first, at->second)) rows.push_back(at);
  const auto weight = [](const Freed& freed) {
    constexpr double kBytesPerCore = 4.0 * (1 << 30);  // roughly the ratio of servers
    return std::abs(freed.cpu_cores) + std::abs(freed.memory_bytes) / kBytesPerCore;
  };
  std::stable_sort(rows.begin(), rows.end(),
                   [&](auto a, auto b) { return weight(a->second.freed) > weight(b->second.freed); });
  document["more"] = rows.size() - std::min(rows.size(), limit);
  rows.resize(std::min(rows.size(), limit));
  json list = json::array();
  for (const auto& row : rows) list.push_back(request_json(from, teacher, row->first, row->second));
  document["workloads"] = std::move(list);
  return document.dump();
}

void add_provision(Families& families, const RequestBook& requests, const ReplicaBook& replicas) {
  if (!requests.on()) return;
  const RequestTotals& totals = requests.totals();
  const auto count = [](std::size_t value) { return static_cast<double>(value); };
  const auto each = [&](const char* name, const char* help, const char* label,
                        std::initializer_list<std::pair<const char*, double>> values) {
    prometheus::MetricFamily& family = families.family(name, help, prometheus::MetricType::Gauge);
    for (const auto& [value, number] : values) Families::add(family, {{label, value}}, number);
  };
  each("wattle_controller_provision_workloads", "Workloads with evaluated requests, and those with a suggested change.",
       "state", {{"evaluated", count(totals.workloads)}, {"suggested", count(totals.suggested)}});
  each("wattle_controller_provision_cores",
       "CPU of evaluated workloads: requested, used in the last minute, that suggestions would free, and that `wattle "
       "provision set` has freed.",
       "kind",
       {{"requested", totals.requested.cpu_cores},
        {"used", totals.used.cpu_cores},
        {"freed", totals.freed.cpu_cores},
        {"given_up", totals.resizes.given_up.cpu_cores}});
  each("wattle_controller_provision_memory_bytes",
       "Memory of evaluated workloads: requested, and that suggestions would free.", "kind",
       {{"requested", totals.requested.memory_bytes}, {"freed", totals.freed.memory_bytes}});
  if (!replicas.on()) return;
  const ReplicaTotals& of = replicas.totals();
  each("wattle_controller_replica_workloads",
       "Workloads with evaluated replicas, with a suggested change, and those whose number an autoscaler sets.",
       "state",
       {{"evaluated", count(of.workloads)}, {"suggested", count(of.suggested)}, {"withheld", count(of.withheld)}});
}

}  // namespace wattle::controller
