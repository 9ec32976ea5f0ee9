#include "cli/pre/scheduler_config.hpp"

#include <algorithm>

#include "cli/pre/rules.hpp"
#include "cli/view.hpp"
#include "common/yaml_tree.hpp"

namespace wattle::cli {

namespace {
constexpr const char* kOwnLease = "wattle-scheduler";
constexpr std::string_view kGate = "OpportunisticBatching=";
constexpr std::string_view kShimPort = "8888";
constexpr std::string_view kConfig = "--config";
constexpr std::string_view kManifestConfig = "/etc/kubernetes/wattle/scheduler.yaml";  // docs/how-to/adopt.md

// "http://127.0.0.1:8888/x" -> host "127.0.0.1", path "/x"
struct Address {
  bool https = false;
  std::string host, port, path;
};
std::optional<Address> address_of(std::string_view url) {
  Address out;
  out.https = url.starts_with("https://");
  if (!out.https && !url.starts_with("http://")) return std::nullopt;
  url.remove_prefix(out.https ? 8 : 7);
  const auto slash = std::min(url.find('/'), url.size());
  out.path = url.substr(slash);
  std::string_view host = url.substr(0, slash);
  const auto colon = host.rfind(':');
  out.port = out.https ? "443" : "80";
  if (colon != std::string_view::npos && host.find(']', colon) == std::string_view::npos) {
    out.port = host.substr(colon + 1);
    host = host.substr(0, colon);
  }
  out.host = host;
  return out.host.empty() ? std::nullopt : std::optional(out);
}

bool is_this_machine(const std::string& host) {
  return host == "localhost" || host == "[::1]" || host.starts_with("127.");
}

void judge_url(Findings& out, const std::string& name, const View& extender) {
  const bool wants_https = extender["enableHTTPS"].flag() == true;
  const auto address = address_of(extender["urlPrefix"].text_or(""));
  const View tls = extender["tlsConfig"];
  if (!address)
    return out.failed(name + ".urlPrefix", "'" + extender["urlPrefix"].text_or("") + "' is not an address",
                      "http://127.0.0.1:8888");
  if (!address->path.empty() && address->path != "/")
    out.failed(name + ".urlPrefix", "the shim serves /prioritize, not a path below " + address->path,
               "remove the path");
  if (wants_https != address->https)
    return out.failed(
        name + ".enableHTTPS",
        std::string("does not match the scheme of urlPrefix, ") + (address->https ? "https" : "http"),
        address->https ? "set enableHTTPS: true and tlsConfig.caFile" : "use https:// or set enableHTTPS: false");
  if (wants_https && tls["insecure"].flag() == true)
    return out.failed(name + ".tlsConfig", "insecure is set: kube-scheduler accepts any server", "set caFile instead");
  if (wants_https && tls["caFile"].text_or("").empty() && tls["caData"].text_or("").empty())
    return out.failed(name + ".tlsConfig", "no CA is set: kube-scheduler does not verify the server", "set caFile");
  if (!wants_https && !is_this_machine(address->host))
    return out.warn(
        name + ".urlPrefix",
        "pod specifications are sent unencrypted to " + address->host + ", and kube-scheduler accepts any server",
        "run the shim next to kube-scheduler, or use TLS with client certificates");
  if (address->port != kShimPort)
    return out.warn(
        name + ".urlPrefix",
        "uses port " + address->port + ", but the shim listens on " + std::string(kShimPort) +
            " unless its listen.port is set; kube-scheduler silently skips an extender that does not answer",
        "http://127.0.0.1:" + std::string(kShimPort) + ", or the shim's own port");
  out.ok(name + ".urlPrefix", extender["urlPrefix"].text_or());
}

// With the plugin, the shim's scores must not count twice.
void judge_prioritize(Findings& out, const std::string& name, const View& extender, bool plugin) {
  const std::string prioritize = extender["prioritizeVerb"].text_or("");
  if (plugin && prioritize.empty()) return;
  if (plugin)
    out.failed(name + ".prioritizeVerb", "set, and a profile has the plugin Wattle: the shim's scores count twice",
               "remove prioritizeVerb and weight");
  else if (prioritize.empty())
    out.failed(name + ".prioritizeVerb", "not set: Wattle never scores nodes", "set prioritizeVerb: prioritize");
  else if (prioritize != "prioritize")
    out.failed(name + ".prioritizeVerb", "the shim does not support '" + prioritize + "'",
               "prioritizeVerb: prioritize");
  else
    judge_weight(out, name + ".weight", extender["weight"].number());
}

void judge_verbs(Findings& out, const std::string& name, const View& extender) {
  const std::string filter = extender["filterVerb"].text_or("");
  if (!filter.empty() && filter != "filter")
    out.failed(name + ".filterVerb", "the shim does not support '" + filter + "'",
               "set filterVerb: filter, or remove filterVerb");
  const bool ignorable = extender["ignorable"].flag() == true;
  if (!filter.empty() && !ignorable)
    out.failed(name + ".ignorable", "not ignorable: no pod is scheduled while the filter does not answer",
               "set ignorable: true");
  else if (!ignorable)
    out.warn(name + ".ignorable", "not set; required once a filter is added", "set ignorable: true");
  else
    out.ok(name + ".ignorable", "scheduling continues without an answer");
  const std::string preempt = extender["preemptVerb"].text_or("");
  if (!preempt.empty() && preempt != "preempt")
    out.failed(name + ".preemptVerb", "the shim does not support '" + preempt + "'", "preemptVerb: preempt");
  else if (!filter.empty() && preempt.empty())
    out.failed(name + ".preemptVerb",
               "not set although filterVerb is set: kube-scheduler evicts pods for a pod that the filter then rejects",
               "preemptVerb: preempt");
  else if (!preempt.empty())
    out.ok(name + ".preemptVerb", preempt);
  if (!extender["bindVerb"].text_or("").empty())
    out.failed(name + ".bindVerb", "the shim does not support binding; pods would fail", "remove bindVerb");
}

void judge_extender(Findings& out, const std::string& name, const View& extender, bool plugin) {
  judge_url(out, name, extender);
  judge_prioritize(out, name, extender, plugin);
  judge_verbs(out, name, extender);
  if (extender["nodeCacheCapable"].flag() == true)
    out.ok(name + ".nodeCacheCapable", "kube-scheduler sends only node names");
  else
    out.failed(name + ".nodeCacheCapable",
               "not true: kube-scheduler sends whole nodes for each pod (22 MB at 5,000 nodes) and computes fit "
               "wrongly after a filter",
               "set nodeCacheCapable: true");
  judge_timeout(out, name + ".httpTimeout", extender["httpTimeout"].text());
  if (!extender["managedResources"].items().empty())
    out.warn(name + ".managedResources", "kube-scheduler sends Wattle only pods that request these resources",
             "remove them");
}

bool enables_plugin(const View& profile, const char* point) {
  const auto enabled = profile["plugins"][point]["enabled"].items();
  return std::any_of(enabled.begin(), enabled.end(),
                     [](const View& plugin) { return plugin["name"].text_or("") == "Wattle"; });
}

// Returns whether a profile has Wattle's plugin in place of the extender. kube-scheduler runs plugins that are in
// multiPoint and at the extension point first, then those of multiPoint, among them DefaultPreemption.
bool judge_plugin(Findings& out, const View& config) {
  bool found = false;
  for (const View& profile : config["profiles"].items()) {
    const std::string name = "profile." + profile["schedulerName"].text_or("default-scheduler") + ".plugins.";
    const auto enabled = [&](const char* point) { return enables_plugin(profile, point); };
    const bool everywhere = enabled("multiPoint");
    if (!everywhere && !enabled("score") && !enabled("preFilter") && !enabled("postFilter")) continue;
    found = true;
    if (everywhere)
      out.ok(name + "multiPoint", "has Wattle");
    else
      out.failed(name + "multiPoint", "Wattle is enabled at single extension points only",
                 "enable it in multiPoint, with weight: 6");
    if (enabled("postFilter"))
      out.ok(name + "postFilter", "Wattle runs before DefaultPreemption");
    else
      out.failed(
          name + "postFilter",
          "Wattle is not in it: DefaultPreemption runs first, and evicts pods although an unexamined node is free",
          "enable Wattle in postFilter, too");
  }
  return found;
}

// A second scheduler in the leader election of the first stays idle.
void judge_election(Findings& out, const View& config) {
  const View election = config["leaderElection"];
  const auto profiles = config["profiles"].items();
  const bool is_default = profiles.empty() || std::any_of(profiles.begin(), profiles.end(), [](const View& profile) {
                            return profile["schedulerName"].text_or("default-scheduler") == "default-scheduler";
                          });
  const std::string lease = election["resourceName"].text_or("kube-scheduler");
  if (election["leaderElect"].flag() == false)
    return out.ok("leaderElection", "off: run one replica with strategy Recreate");
  if (!is_default && lease == "kube-scheduler")
    return out.failed("leaderElection",
                      "on (the default) with the Lease of the cluster's own scheduler: one of the two stays idle",
                      std::string("set leaderElect: false, or resourceName: ") + kOwnLease);
  out.ok("leaderElection", "on, with Lease " + lease);
}

void judge_profiles(Findings& out, const View& config) {
  for (const View& profile : config["profiles"].items()) {
    const std::string name = "profile." + profile["schedulerName"].text_or("default-scheduler");
    if (profile["percentageOfNodesToScore"].present())
      judge_sampling(out, name + ".percentageOfNodesToScore", profile["percentageOfNodesToScore"].number());
    for (const char* point : {"filter", "score", "multiPoint"})
      for (const View& plugin : profile["plugins"][point]["disabled"].items())
        out.warn(
            name + ".plugins." + point,
            "'" + plugin["name"].text_or() + "' is disabled: Wattle complements the default plugins and replaces none",
            "enable the default plugins");
  }
}

std::vector<Finding> judge_configuration(const View& config, const std::string& where) {
  Findings out(where);
  const std::string version = config["apiVersion"].text_or("");
  if (version == "kubescheduler.config.k8s.io/v1")
    out.ok("apiVersion", version);
  else
    out.failed("apiVersion", "'" + version + "' is not supported by kube-scheduler 1.29 and later",
               "kubescheduler.config.k8s.io/v1");
  const auto extenders = config["extenders"].items();
  const bool plugin = judge_plugin(out, config);
  if (extenders.empty() && !plugin)
    out.failed("extenders", "none: kube-scheduler never calls Wattle",
               "add the extender of k8s/default-scheduler/scheduler.yaml");
  for (std::size_t i = 0; i < extenders.size(); ++i)
    judge_extender(out, extenders.size() == 1 ? "extender" : "extender" + std::to_string(i + 1), extenders[i], plugin);
  judge_sampling(out, "percentageOfNodesToScore", config["percentageOfNodesToScore"].number());
  judge_profiles(out, config);
  judge_election(out, config);
  return std::move(out).all();
}

// Returns the words of a kube-scheduler's command line; empty for other containers.
std::vector<std::string> command_of(const View& container) {
  std::vector<std::string> words;
  for (const char* key : {"command", "args"})
    for (const View& word : container[key].items()) words.push_back(word.text_or(""));
  const bool is_one = (!words.empty() && words.front().ends_with("kube-scheduler")) ||
                      container["image"].text_or("").find("/kube-scheduler") != std::string::npos;
  return is_one ? words : std::vector<std::string>();
}

void judge_gate(Findings& out, const std::vector<std::string>& words, const std::optional<MinorVersion>& version,
                const std::string& image) {
  const bool reported =
      std::any_of(words.begin(), words.end(), [](const std::string& word) { return word.find(kGate) != word.npos; });
  const std::string fix = "remove OpportunisticBatching from --feature-gates";
  const std::string needless =
      "the feature gate OpportunisticBatching has no effect: batching disables itself in a profile"
      " that has extenders";
  if (!reported) return;
  if (!version)
    out.warn("batching",
             needless + "; cannot determine whether '" + image +
                 "' supports the gate; a kube-scheduler without it does not start",
             fix);
  else if (*version < kBatchingGateFirst || *version > kBatchingGateLast)
    out.failed("batching",
               version->text() + " may not support the feature gate OpportunisticBatching (" +
                   kBatchingGateFirst.text() + " to " + kBatchingGateLast.text() +
                   " support it); a kube-scheduler without it does not start",
               fix);
  else
    out.warn("batching", needless + "; a later kube-scheduler without the gate does not start", fix);
}

// The value of `--config=X` or `--config X`.
std::optional<std::string> config_of(const std::vector<std::string>& words) {
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string_view word = words[i];
    if (word == kConfig) return i + 1 < words.size() ? words[i + 1] : "";
    if (word.starts_with(kConfig) && word.substr(kConfig.size()).starts_with('='))
      return std::string(word.substr(kConfig.size() + 1));
  }
  return std::nullopt;
}

// Source of a container's file: its volume; no value if no mount covers the file.
struct Origin {
  std::string volume;  // its name
  std::string path;    // on the host, for a hostPath volume; otherwise empty
};
std::optional<Origin> origin_of(const std::string& file, const View& spec, const View& container) {
  std::string best, volume;
  for (const View& mount : container["volumeMounts"].items()) {
    const std::string at = mount["mountPath"].text_or("");
    if (at.size() <= best.size() || !(file == at || file.starts_with(at + "/"))) continue;
    best = at;
    volume = mount["name"].text_or("");
  }
  if (best.empty()) return std::nullopt;
  for (const View& one : spec["volumes"].items())
    if (one["name"].text() == volume && one["hostPath"]["path"].present())
      return Origin{volume, one["hostPath"]["path"].text_or("") + file.substr(best.size())};
  return Origin{volume, ""};
}

// Without `--config` the scheduler silently ignores the file with its extenders.
void judge_config_flag(Findings& out, const std::vector<std::string>& words, const View& spec, const View& container,
                       const std::vector<std::string>& beside) {
  const auto file = config_of(words);
  const std::string fix = "--config=" + std::string(kManifestConfig) + ", and a mount of its folder";
  if (!file || file->empty())
    return out.failed("config", "no --config: kube-scheduler reads no configuration and never calls Wattle", fix);
  const auto origin = origin_of(*file, spec, container);
  if (!origin)
    return out.failed("config", *file + " is not mounted in the container: kube-scheduler does not start", fix);
  if (origin->path.empty()) return out.ok("config", *file + ", of the volume " + origin->volume);
  const bool looked_at = std::find(beside.begin(), beside.end(), origin->path) != beside.end();
  if (looked_at || (beside.empty() && origin->path == kManifestConfig)) return out.ok("config", origin->path);
  out.warn("config",
           beside.empty() ? "reads " + origin->path + ", and not " + std::string(kManifestConfig)
                          : "reads " + origin->path + ", which is not one of the given files",
           "check that file too: --scheduler " + origin->path);
}

std::vector<Finding> judge_container(const View& spec, const View& container, const std::string& where,
                                     const std::vector<std::string>& beside) {
  Findings out(where);
  const auto words = command_of(container);
  if (words.empty()) return {};
  const std::string image = container["image"].text_or("");
  const auto version = parse_version(std::string_view(image).substr(std::min(image.rfind(':') + 1, image.size())));
  judge_config_flag(out, words, spec, container, beside);
  judge_gate(out, words, version, image);
  if (version && *version < kOldestKube)
    out.failed("version", version->text() + " is too old", kOldestKube.text() + " or later");
  return std::move(out).all();
}

void judge_document(Findings& out, const View& document, const std::string& where,
                    const std::vector<std::string>& beside) {
  const std::string kind = document["kind"].text_or("");
  if (kind == "KubeSchedulerConfiguration") out.take(judge_configuration(document, where));
  if (kind == "List")
    for (const View& item : document["items"].items()) judge_document(out, item, where, beside);
  if (kind == "ConfigMap")
    for (const auto& [key, value] : document["data"].members()) {
      const std::string text = value.text_or(""), inside = where + "#" + key;
      if (text.find("KubeSchedulerConfiguration") == std::string::npos) continue;
      const auto documents = parse_yaml(text, inside);
      if (!documents) {
        out.add("yaml", State::failed, documents.error().subject + ": " + documents.error().what, "");
        continue;
      }
      for (const Json& one : *documents) judge_document(out, View(one), inside, beside);
    }
  const View spec = kind == "Pod" ? document["spec"] : document["spec"]["template"]["spec"];
  for (const View& container : spec["containers"].items()) out.take(judge_container(spec, container, where, beside));
}
}  // namespace

std::vector<Finding> judge_scheduler(const std::vector<Json>& documents, const std::string& where,
                                     const std::vector<std::string>& beside) {
  Findings out(where);
  for (const Json& document : documents) judge_document(out, View(document), where, beside);
  std::vector<Finding> all = std::move(out).all();
  if (all.empty())
    all.push_back({where, "scheduler", State::failed,
                   "contains neither a KubeSchedulerConfiguration nor a manifest of kube-scheduler",
                   "pass the file of kube-scheduler's --config"});
  return all;
}

}  // namespace wattle::cli
