// cluster: an API server, for the few commands that ask one.
// Source   a kubeconfig (cli/kubeconfig), or what every pod is given
// Login    files are read before each request. A program that logs in runs again once its login has expired, and once when the API server
//          answers 401
// Errors   as kubeconfig and exec_login; denied (the API server refuses: names the verb and path), unavailable and timeout
// Threads  single owner
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "cli/kubeconfig.hpp"
#include "cli/proxy_environment.hpp"
#include "common/json/value.hpp"
#include "common/kube/http_api.hpp"
#include "common/result.hpp"

namespace wattle::cli {

struct Invocation;

class Cluster {
 public:
  // --kubeconfig and --context, else KUBECONFIG, else as a pod, else ~/.kube/config: as kubectl does.
  static Result<Cluster> open_(const Invocation& invocation);
  // `paths` as KUBECONFIG has them. `variable`: of the environment, for HTTPS_PROXY and NO_PROXY. `terminal`: a login may ask there.
  static Result<Cluster> open_kubeconfig(const std::string& paths, const std::string& context, const Variable& variable,
                                         bool terminal);
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
  kube::Api& api();  // for lists that are read elsewhere; it logs in as the other calls do
  const std::string& url() const { return url_; }
  // The client's own certificate; empty: it shows none.
  const std::string& certificate_file() const { return certificate_file_; }

 private:
  // TLS needs files for what the kubeconfig holds inline; they are removed with this.
  struct Folder;
  // The API server with whatever login it needs.
  class Session;
  explicit Cluster(std::shared_ptr<Session> session);
  std::shared_ptr<Session> session_;
  std::string url_, certificate_file_;
};

}  // namespace wattle::cli
