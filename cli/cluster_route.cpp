#include "cli/cluster_route.hpp"

#include <array>
#include <utility>

#include "cli/cluster.hpp"
#include "cli/command.hpp"
#include "cli/view.hpp"
#include "common/base64.hpp"
#include "common/parse.hpp"
#include "common/transport/allow_edit.hpp"

namespace wattle::cli {
namespace {

constexpr std::array<std::uint16_t, 2> kPorts{7462, 7461};  // ask, feed

std::string without_newline(std::string_view text) { return std::string(parse::trim(text)); }

}  // namespace

Result<std::shared_ptr<const ClusterRoute>> ClusterRoute::open_(const Invocation& invocation) {
  const std::string& name_space = invocation.common.controller_namespace;
  const std::string role = invocation.common.as_operator ? "operator" : "reader";
  std::shared_ptr<ClusterRoute> route(new ClusterRoute);
  route->key_source_ = "Secret " + name_space + "/wattle-" + role;
  WATTLE_TRY(Cluster cluster, Cluster::open_(invocation));
  const std::string path = "/api/v1/namespaces/" + name_space;
  WATTLE_TRY(const auto secret, cluster.find(path + "/secrets/wattle-" + role));
  if (!secret)
    return fail(Errc::not_found, route->key_source_, "the cluster has no such Secret",
                "install Wattle there (docs/how-to/install-kubernetes.md), or pass --controller-namespace");
  const auto text = base64_decode(View(*secret)["data"][role + ".key"].text_or(""));
  WATTLE_TRY(route->key_, transport::KeyPair::parse(text.value_or(""), route->key_source_));
  WATTLE_TRY(const auto map, cluster.get(path + "/configmaps/wattle-public"));
  route->server_key_ = without_newline(View(map)["data"]["controller.pub"].text_or(""));
  if (!transport::is_public_key(route->server_key_))
    return fail(Errc::malformed, "ConfigMap " + name_space + "/wattle-public", "has no key in controller.pub",
                "delete the ConfigMap and run `wattle keys bootstrap`");
  WATTLE_TRY(route->forward_, PortForward::open_(invocation, kPorts));
  route->server_ = "tcp://127.0.0.1:" + route->forward_.ports()[0];
  route->feed_ = "tcp://127.0.0.1:" + route->forward_.ports()[1];
  return std::shared_ptr<const ClusterRoute>(std::move(route));
}

}  // namespace wattle::cli
