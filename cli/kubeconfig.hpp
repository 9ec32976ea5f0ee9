// kubeconfig: reads the API server and the login from a kubeconfig, following client-go's rules.
// Source   FILE of --kubeconfig, else the merged files of KUBECONFIG: the first file with an entry of a name supplies
//          the whole entry, and the first current context wins. Paths are relative to the file that contains them
// Errors   not_found (no file, no such context), malformed, unsupported (a login by auth-provider or by name and
//          password; impersonation), denied (no verification of the server; a token over plain HTTP)
// Threads  main only
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/exec_login.hpp"
#include "common/json/value.hpp"
#include "common/result.hpp"

namespace wattle::cli {

// The settings of one context. Paths are absolute, or relative to the working directory if the kubeconfig's own path
// is.
struct KubeAccess {
  std::string server, server_name;
  std::string ca_file, ca_pem;
  std::string token, token_file;
  std::string certificate_file, certificate_pem, key_file, key_pem;
  std::optional<ExecLogin> exec;  // credential plugin; unset if there is a token
};

// Returns a document whose paths are relative to the same directory as `path`, the path of the kubeconfig.
OrderedJson with_paths_from(OrderedJson document, const std::string& path);
// Merges documents in the order of KUBECONFIG.
OrderedJson merged(const std::vector<OrderedJson>& documents);
// Reads one context; empty: the current one. Errors name the kubeconfig `name`.
Result<KubeAccess> read_kubeconfig(const OrderedJson& document, const std::string& name, const std::string& context);

// Loads and merges "a:b". Skips missing files if at least one exists.
Result<KubeAccess> load_kubeconfig(const std::string& paths, const std::string& context);

}  // namespace wattle::cli
