// cluster: a client of an API server, for commands that need one.
// Source   a kubeconfig (cli/kubeconfig), or the service account of a pod
// Login    files are read before each request. A credential plugin runs again when its login has expired, and once when
//          the API server answers 401
// Errors   as kubeconfig and exec_login; denied (the API server refuses: names the verb and path), unavailable and
//          timeout
// Threads  single owner
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "cli/kubeconfig.hpp"
#include "common/json/value.hpp"
#include "common/kube/http_api.hpp"
#include "common/result.hpp"

namespace wattle::cli {

struct Invocation;

class Cluster {
 public:
  // Uses --kubeconfig and --context, else KUBECONFIG, else the pod's service account, else ~/.kube/config, like
  // kubectl.
  static Result<Cluster> open_(const Invocation& invocation);
  // `paths`: in the format of KUBECONFIG. `terminal`: a login may prompt there.
  static Result<Cluster> open_kubeconfig(const std::string& paths, const std::string& context, bool terminal);
  static Result<Cluster> open_known(const Invocation& invocation);
  static Result<Cluster> open_in_pod();

  Result<OrderedJson> get(const std::string& target);
  // Like get(); unset if there is no such object.
  Result<std::optional<OrderedJson>> find(const std::string& target);
  Result<OrderedJson> post(const std::string& target, const OrderedJson& object);
  // Returns false if the object exists already.
  Result<bool> create(const std::string& target, const OrderedJson& object);
  // Fails with conflict if the object was written in the meantime or has another version.
  Result<OrderedJson> put(const std::string& target, const OrderedJson& object);
  // Applies a strategic merge patch. Fails with malformed if validation refuses the result.
  Result<OrderedJson> patch(const std::string& target, const OrderedJson& object);
  // Writes the content to a file of this name that the destructor removes, and returns its path.
  Result<std::string> keep(const std::string& content, const char* as);
  kube::Api& api();  // for code that reads lists; logs in as the other calls do
  const std::string& url() const { return url_; }
  // The client certificate; empty: none.
  const std::string& certificate_file() const { return certificate_file_; }

 private:
  // Temporary files with inline data, which TLS needs as files. The destructor removes them.
  struct Folder;
  // The connection to the API server, including its login.
  class Session;
  explicit Cluster(std::shared_ptr<Session> session);
  std::shared_ptr<Session> session_;
  std::string url_, certificate_file_;
};

}  // namespace wattle::cli
