// exec_login: logs in to an API server with the credential plugin of a kubeconfig, as used by EKS, GKE and AKS.
// Source   users[].user.exec of a kubeconfig; the program's ExecCredential (client.authentication.k8s.io/v1 and
//          v1beta1)
// Cost     one run of the program; its answer is valid until its expirationTimestamp
// Errors   unsupported (another apiVersion), not_found (no such program, with the kubeconfig's installHint), denied
//          (the program fails, or needs a terminal and there is none), malformed
// Threads  main only
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/view.hpp"
#include "common/result.hpp"

namespace wattle::cli {

// Cluster information for plugins that request it (provideClusterInfo).
struct ExecCluster {
  std::string server, server_name, ca_pem;
  OrderedJson config = nullptr;  // the cluster's extension client.authentication.k8s.io/exec
};

struct ExecLogin {
  enum class Interactive { never, if_available, always };
  std::vector<std::string> words;  // program and arguments
  std::vector<std::pair<std::string, std::string>> environment;
  std::string api_version, install_hint;
  Interactive interactive = Interactive::if_available;  // access to our standard input
  bool wants_cluster = false;                           // provideClusterInfo
  ExecCluster cluster;
};

struct ExecCredential {
  std::string token, certificate_pem, key_pem;
  std::optional<std::int64_t> expires_s;  // Unix time; unset: valid while this process runs
};

// Reads the entry `exec` of a user. Errors contain `name`, the name of the kubeconfig.
Result<ExecLogin> read_exec(const View& exec, const std::string& name);
Result<ExecCredential> parse_exec_credential(const std::string& text, const ExecLogin& login);

// Runs the plugin. `terminal`: standard input is a terminal. A program without '/' is searched in PATH.
Result<ExecCredential> log_in(const ExecLogin& login, bool terminal);

}  // namespace wattle::cli
