// kubeconfig: which API server a kubeconfig names, and how to log in there, as client-go reads it.
// Source   FILE of --kubeconfig, else the files of KUBECONFIG, merged: the first file that has a name has all of its entry, and the first
//          current context counts. Paths are relative to the file that they stand in
// Errors   not_found (no file, no such context), malformed, unsupported (a login by auth-provider or name and password; impersonation), denied
//          (no check of the server; a token in the clear)
// Threads  main only
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/exec_login.hpp"
#include "common/http/origin.hpp"
#include "common/json/value.hpp"
#include "common/result.hpp"

namespace wattle::cli {

// What a kubeconfig says of one context; paths are absolute, or relative to the working directory as the kubeconfig's own is.
struct KubeAccess {
  std::string server, server_name;
  std::optional<http::Proxy> proxy;
  std::string ca_file, ca_pem;
  std::string token, token_file;
  std::string certificate_file, certificate_pem, key_file, key_pem;
  std::optional<ExecLogin> exec;  // the program that logs in; absent where a token is given
};

// A document with its paths made relative to what the kubeconfig at `path` is relative to.
OrderedJson with_paths_from(OrderedJson document, const std::string& path);
// Documents in the order of KUBECONFIG.
OrderedJson merged(const std::vector<OrderedJson>& documents);
// An empty context is the current one. `name` stands for the kubeconfig in errors.
Result<KubeAccess> read_kubeconfig(const OrderedJson& document, const std::string& name, const std::string& context);

// "a:b": files that are not there are left out, as long as one is.
Result<KubeAccess> load_kubeconfig(const std::string& paths, const std::string& context);

}  // namespace wattle::cli
