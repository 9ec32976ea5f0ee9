// exec_login: logs in to an API server by the program that a kubeconfig names, as EKS, GKE and AKS do.
// Source   users[].user.exec of a kubeconfig; the program's ExecCredential (client.authentication.k8s.io/v1 and v1beta1)
// Cost     a run of the program; its answer stands until its expirationTimestamp
// Errors   unsupported (another apiVersion), not_found (no such program, with the kubeconfig's installHint), denied (it fails, or wants a
//          terminal where there is none), malformed
// Threads  main only
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/view.hpp"
#include "common/json/value.hpp"
#include "common/result.hpp"

namespace wattle::cli {

// What a plugin that asks for it (provideClusterInfo) is given of the cluster.
struct ExecCluster {
  std::string server, server_name, proxy_url, ca_pem;
  OrderedJson config = nullptr;  // the cluster's extension client.authentication.k8s.io/exec
};

struct ExecLogin {
  enum class Interactive { never, if_available, always };
  std::vector<std::string> words;  // program and arguments
  std::vector<std::pair<std::string, std::string>> environment;
  std::string api_version, install_hint;
  Interactive interactive = Interactive::if_available;  // whether it gets our standard input
  bool wants_cluster = false;                           // provideClusterInfo
  ExecCluster cluster;
};

struct ExecCredential {
  std::string token, certificate_pem, key_pem;
  std::optional<std::int64_t> expires_s;  // Unix time; absent: it stands as long as this process
};

// `exec` of one user; `name` is the kubeconfig's, for errors.
Result<ExecLogin> read_exec(const View& exec, const std::string& name);
Result<ExecCredential> parse_exec_credential(const std::string& text, const ExecLogin& login);

// `terminal`: our standard input is one. A program without '/' is found by PATH.
Result<ExecCredential> log_in(const ExecLogin& login, bool terminal);

}  // namespace wattle::cli
