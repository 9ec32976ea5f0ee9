// cluster: an API server, for the few commands that ask one.
// Source   a kubeconfig (its server, authority and token, client's certificate or program that logs in), or what every pod is given
// Errors   not_found and malformed (the file, a context that it lacks), unsupported (a login by auth-provider or name and password), denied
//          (the API server refuses: names the verb and path; a login fails), unavailable and timeout
// Threads  single owner
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "cli/exec_login.hpp"
#include "common/json/value.hpp"
#include "common/kube/http_api.hpp"
#include "common/result.hpp"

namespace wattle::cli {

// What a kubeconfig says of one context; paths are as they stand there.
struct KubeAccess {
  std::string server;
  std::string ca_file, ca_pem;
  std::string token, token_file;
  std::string certificate_file, certificate_pem, key_file, key_pem;
  std::optional<ExecLogin> exec;  // the program that logs in, in place of the above
};
// An empty context is the file's current one.
Result<KubeAccess> read_kubeconfig(const OrderedJson& document, const std::string& name, const std::string& context);

class Cluster {
 public:
  static Result<Cluster> open_kubeconfig(const std::string& path, const std::string& context);
  static Result<Cluster> open_in_pod();

  Result<OrderedJson> get(const std::string& target);
  // Absent: there is no such object.
  Result<std::optional<OrderedJson>> find(const std::string& target);
  Result<OrderedJson> post(const std::string& target, const OrderedJson& object);
  // False: it is there already.
  Result<bool> create(const std::string& target, const OrderedJson& object);
  // conflict: it was written meanwhile, or is no longer of that version.
  Result<OrderedJson> put(const std::string& target, const OrderedJson& object);
  // A strategic merge patch. malformed: what it would make is refused by validation.
  Result<wattle::OrderedJson> patch(const std::string& target, const wattle::OrderedJson& object);
  kube::Api& api() { return *api_; }  // for what reads lists by itself, after another request
  const std::string& url() const { return url_; }
  // Of the client's own certificate; empty: it shows none.
  const std::string& certificate_file() const { return certificate_file_; }

 private:
  // What the file holds inline has to be in files of its own for TLS; it is removed with this.
  struct Folder;
  Cluster(kube::ApiServer server, std::shared_ptr<Folder> folder);
  // Logs in again once the login has expired.
  Status renew();
  Result<kube::Reply> request(Result<kube::Reply> (kube::HttpApi::*method)(const std::string&, const std::string&),
                              const std::string& target, const OrderedJson& object);
  std::shared_ptr<Folder> folder_;
  std::optional<ExecLogin> exec_;
  std::optional<std::int64_t> expires_s_;
  std::string ca_pem_;
  std::string url_, certificate_file_;
  std::unique_ptr<kube::HttpApi> api_;
};

}  // namespace wattle::cli
