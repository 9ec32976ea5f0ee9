// exec_login: logs in to an API server by the program that a kubeconfig names, as EKS, GKE and AKS do.
// Source   users[].user.exec of a kubeconfig; the program's ExecCredential (client.authentication.k8s.io/v1 and v1beta1)
// Cost     a run of the program; its answer stands until its expirationTimestamp
// Errors   unsupported (another apiVersion), not_found (no such program, with the kubeconfig's installHint), denied (it fails), malformed
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

struct ExecLogin {
  std::vector<std::string> words;  // program and arguments
  std::vector<std::pair<std::string, std::string>> environment;
  std::string api_version, install_hint;
  bool wants_cluster = false;  // provideClusterInfo
};

struct ExecCredential {
  std::string token, certificate_pem, key_pem;
  std::optional<std::int64_t> expires_s;  // Unix time; absent: it stands as long as this process
};

// `exec` of one user; `name` is the kubeconfig's, for errors.
Result<ExecLogin> read_exec(const View& exec, const std::string& name);
Result<ExecCredential> parse_exec_credential(const std::string& text, const ExecLogin& login);

// `server` and `ca_pem` are shown to a program that wants to know the cluster. A program without '/' is found by PATH.
Result<ExecCredential> log_in(const ExecLogin& login, const std::string& server, const std::string& ca_pem);

}  // namespace wattle::cli
