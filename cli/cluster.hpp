// cluster: an API server, for the few commands that ask one.
// Source   a kubeconfig (its server, authority and token or client's certificate), or what every pod is given
// Errors   not_found and malformed (the file, a context that it lacks), unsupported (a login by another program), denied (the API server
//          refuses: names the verb and path), unavailable and timeout
// Threads  single owner
#pragma once

#include <memory>
#include <optional>
#include <string>

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
  Result<OrderedJson> patch(const std::string& target, const OrderedJson& object);
  const std::string& url() const { return url_; }
  // Of the client's own certificate; empty: it shows none.
  const std::string& certificate_file() const { return certificate_file_; }

 private:
  // What the file holds inline has to be in files of its own for TLS; it is removed with this.
  struct Folder;
  Cluster(kube::ApiServer server, std::shared_ptr<Folder> folder);
  std::shared_ptr<Folder> folder_;
  std::string url_, certificate_file_;
  std::unique_ptr<kube::HttpApi> api_;
};

}  // namespace wattle::cli
