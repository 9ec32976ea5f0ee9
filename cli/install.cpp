// `wattle install`: prints the manifests of Wattle for `kubectl apply -f -`.
#include <ostream>

#include "cli/cluster.hpp"
#include "cli/declare.hpp"
#include "cli/manifests.hpp"
#include "cli/view.hpp"
#include "common/parse.hpp"
#include "common/version.hpp"

namespace wattle::cli {

namespace {
struct InstallOptions : InstallValues {
  InstallOptions() { tag = kVersion; }
  std::string estimate;
};

// "v1.35.4" of "v1.35.4+k3s1" and "v1.35.4-gke.100": upstream's image has this tag.
Result<std::string> cluster_version(const Invocation& invocation) {
  auto cluster = Cluster::open_(invocation);
  if (!cluster) {
    Error error = std::move(cluster.error());
    error.fix = "pass --kubernetes VERSION, or reach the cluster with --kubeconfig or --context";
    return tl::unexpected<Error>(std::move(error));
  }
  WATTLE_TRY(const Json version, cluster->get("/version"));
  const std::string text = View(version)["gitVersion"].text_or("");
  return text.substr(0, text.find_first_of("+-"));
}

Status read_estimate(const std::string& text, InstallValues& out) {
  if (text.empty()) return {};
  const auto comma = text.find(',');
  const auto idle_w = parse::real(text.substr(0, comma));
  const auto max_w = parse::real(comma == std::string::npos ? "" : text.substr(comma + 1));
  if (!idle_w || !max_w)
    return fail(Errc::malformed, "--estimate", "'" + text + "' is not IDLE,MAX in watts", "for example 60,240");
  out.estimate_w = {*idle_w, *max_w};
  return {};
}

Outcome run_install(const Invocation& invocation, const InstallOptions& options) {
  InstallValues values = options;
  values.control = invocation.common.controller_namespace;
  WATTLE_CHECK(as_misuse(read_estimate(options.estimate, values)));
  if (values.scheduler_version.empty()) {
    WATTLE_TRY(values.scheduler_version, cluster_version(invocation));
  }
  WATTLE_TRY(const std::string text, as_misuse(manifests_of(embedded_manifests(), std::move(values))));
  invocation.around.out << text;
  return invocation.around.out.flush() ? kOk : kProblem;
}
}  // namespace

void declare_install(CLI::App& command, Run& chosen) {
  auto& options = runs(command, chosen, run_install);
  command
      .add_option("--registry", options.registry, "Registry and path of the images, for example registry.example/team")
      ->required();
  command.add_option("--tag", options.tag, "Tag of the images (default: this program's version)");
  command.add_option("--kubernetes", options.scheduler_version,
                     "Version of the cluster, for kube-scheduler's image (default: ask its API server)");
  command.add_option("--mode", options.mode, "off, shadow, canary:P% or live")->capture_default_str();
  command.add_option("--estimate", options.estimate,
                     "Idle and full watts of nodes without a meter, for example 60,240");
  command.add_option("--agents-namespace", options.agents,
                     "Namespace of the agents (default: CONTROLLER-NAMESPACE-agent)");
}

}  // namespace wattle::cli
