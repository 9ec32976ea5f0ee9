#include "cli/cluster_route.hpp"

#include <algorithm>
#include <array>
#include <span>
#include <utility>

#include "cli/command.hpp"
#include "cli/view.hpp"
#include "common/base64.hpp"
#include "common/enrol_tokens.hpp"
#include "common/http/enrol.hpp"
#include "common/parse.hpp"
#include "common/transport/allow_edit.hpp"

namespace wattle::cli {
namespace {

constexpr std::array<std::uint16_t, 3> kPorts{7462, 7461, 7463};  // ask, feed, enrolment
constexpr const char* kReader = "wattle-reader";                  // the chart's account and Role
constexpr int kTokenLife_s = 600;                                 // the least that Kubernetes issues
constexpr std::string_view kTokenCharacters =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.";  // a JSON Web Token, safe in a header
constexpr Duration kRetry = std::chrono::seconds(10);

std::string without_newline(std::string_view text) { return std::string(parse::trim(text)); }

Error with_role(Error error) {
  if (error.code == Errc::denied && error.what.find("forbidden") != std::string::npos)
    error.fix = "bind the Role wattle-reader to your user (docs/reference/kubernetes.md)";
  if (error.code == Errc::not_found)
    error.fix = "install or upgrade Wattle there (docs/how-to/install-kubernetes.md), or pass --controller-namespace";
  return error;
}

}  // namespace

Result<std::shared_ptr<ClusterRoute>> ClusterRoute::open_(const Invocation& invocation) {
  const std::string& name_space = invocation.common.controller_namespace;
  const bool as_operator = invocation.common.as_operator;
  WATTLE_TRY(Cluster cluster, Cluster::open_(invocation));
  std::shared_ptr<ClusterRoute> route(new ClusterRoute(std::move(cluster)));
  const std::string path = "/api/v1/namespaces/" + name_space;
  if (as_operator) {
    route->key_source_ = "Secret " + name_space + "/wattle-operator";
    WATTLE_CHECK(route->read_operator_key(path + "/secrets/wattle-operator"));
  }
  const auto map = route->cluster_.get(path + "/configmaps/wattle-public");
  if (!map) return tl::unexpected<Error>(with_role(map.error()));
  const View published = View(*map)["data"];
  route->server_key_ = without_newline(published["controller.pub"].text_or(""));
  if (!transport::is_public_key(route->server_key_))
    return fail(Errc::malformed, "ConfigMap " + name_space + "/wattle-public", "has no key in controller.pub",
                "delete the ConfigMap and run `wattle keys bootstrap`");
  WATTLE_TRY(route->forward_, PortForward::open_(invocation, std::span(kPorts).first(as_operator ? 2U : 3U)));
  const std::vector<std::string>& ports = route->forward_.ports();
  route->server_ = "tcp://127.0.0.1:" + ports[0];
  route->feed_ = "tcp://127.0.0.1:" + ports[1];
  if (!as_operator) WATTLE_CHECK(route->open_login(published["ca.pem"].text_or(""), name_space, ports[2]));
  return route;
}

Status ClusterRoute::read_operator_key(const std::string& path) {
  WATTLE_TRY(const auto secret, cluster_.find(path));
  if (!secret)
    return fail(Errc::not_found, key_source_, "the cluster has no such Secret",
                "install Wattle there (docs/how-to/install-kubernetes.md), or pass --controller-namespace");
  const auto text = base64_decode(View(*secret)["data"]["operator.key"].text_or(""));
  WATTLE_TRY(key_, transport::KeyPair::parse(text.value_or(""), key_source_));
  return {};
}

Status ClusterRoute::open_login(const std::string& ca_pem, const std::string& name_space, const std::string& port) {
  if (ca_pem.empty())  // an empty file's name would trust the system's authorities
    return fail(Errc::malformed, "ConfigMap " + name_space + "/wattle-public", "has no certificate in ca.pem",
                "delete the ConfigMap and run `wattle keys bootstrap`");
  key_source_ = "account " + name_space + "/" + kReader;
  key_ = transport::KeyPair::generate();
  token_target_ = "/api/v1/namespaces/" + name_space + "/serviceaccounts/" + kReader + "/token";
  http::Origin origin{"127.0.0.1", parse::integer<std::uint16_t>(port).value_or(0), http::Trust{}};
  WATTLE_TRY(origin.tls->ca_file, cluster_.keep(ca_pem, "controller-ca.pem"));
  origin.tls->server_name = "wattle-controller." + name_space + ".svc";
  enrolment_url_ = origin.url();
  enrolment_.emplace(std::move(origin), std::size_t{1} << 16);
  return log_in();
}

Status ClusterRoute::log_in() {
  const MonoTime now = clock_.mono();
  const auto issued = cluster_.post(
      token_target_,
      OrderedJson{
          {"apiVersion", "authentication.k8s.io/v1"},
          {"kind", "TokenRequest"},
          {"spec", {{"audiences", OrderedJson::array({kTokenAudience})}, {"expirationSeconds", kTokenLife_s}}}});
  if (!issued) return tl::unexpected<Error>(with_role(issued.error()));
  const std::string token = View(*issued)["status"]["token"].text_or("");
  if (token.empty() || token.find_first_not_of(kTokenCharacters) != token.npos)
    return fail(Errc::malformed, "POST " + token_target_, "the answer contains no token",
                "check that the address is that of an API server");
  enrolment_->bearer(token);
  auto admitted = http::enrol(*enrolment_, enrolment_url_, "/api/v1/enrol", key_.public_key, "");
  if (!admitted) return forward_error(admitted);
  if (admitted->valid_s <= 0)
    return fail(Errc::unsupported, "controller", "admits no readers by a token of the cluster",
                "upgrade Wattle there, and set enrol.kubernetes.reader of the controller");
  const Duration valid = std::chrono::seconds(admitted->valid_s);
  valid_until_ = now + valid;
  renew_at_ = now + valid * 2 / 3;
  return {};
}

Status ClusterRoute::keep_valid() {
  const MonoTime now = clock_.mono();
  if (!enrolment_ || now < renew_at_) return {};
  Status renewed = log_in();
  if (renewed || now >= valid_until_) return renewed;
  renew_at_ = std::min(now + kRetry, valid_until_);
  return {};
}

}  // namespace wattle::cli
