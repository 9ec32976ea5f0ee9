#include "cli/cluster.hpp"

#include <cerrno>
#include <cstdlib>
#include <filesystem>

#include "cli/command.hpp"
#include "cli/process.hpp"
#include "cli/view.hpp"
#include "common/dir.hpp"
#include "common/http/access.hpp"
#include "common/parse.hpp"

namespace wattle::cli {

namespace {
constexpr std::chrono::seconds kPatience{10};
constexpr const char* kNameOne = "pass --kubeconfig FILE or set KUBECONFIG";

// True for the refusal of a request that exceeds the node's capacity. Kubernetes 1.37's API server answers it with this
// cause and status 403.
bool is_of_capacity(const Json& body) {
  for (const View& cause : View(body)["details"]["causes"].items())
    if (cause["reason"].text() == "NodeCapacity") return true;
  return false;
}

tl::unexpected<Error> refused(const std::string& what, const kube::Reply& reply) {
  const Json body = Json::read(reply.body, {.text_bytes = 64 << 20, .built_bytes = 512 << 20});
  const Errc code = is_of_capacity(body)                         ? Errc::exhausted
                    : reply.status == 401 || reply.status == 403 ? Errc::denied
                    : reply.status == 404                        ? Errc::not_found
                    : reply.status == 409                        ? Errc::conflict
                    : reply.status == 422                        ? Errc::malformed
                                                                 : Errc::unavailable;
  const auto reported = View(body)["message"].text();
  return fail(code, what, reported ? *reported : "the API server returned " + std::to_string(reply.status),
              code == Errc::denied ? "see docs/reference/kubernetes.md for the permissions" : "");
}

Result<Json> parsed(const std::string& what, const kube::Reply& reply) {
  Json body = Json::read(reply.body, {.text_bytes = 64 << 20, .built_bytes = 512 << 20});
  if (!body.is_object())
    return fail(Errc::malformed, what, "the answer is not a JSON object",
                "check that the address is that of an API server");
  return body;
}
}  // namespace

struct Cluster::Folder {
  std::string path;
  Folder() = default;
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  ~Folder() {
    std::error_code ignored;
    if (!path.empty()) std::filesystem::remove_all(path, ignored);
  }
  Status make() {
    std::error_code error;
    std::string name = (std::filesystem::temp_directory_path(error) / "wattle-XXXXXX").string();
    if (error || ::mkdtemp(name.data()) == nullptr) return fail_errno(errno, name);
    path = name;
    return {};
  }
  // Writes inline content to a file in our folder, or returns the path of the named file.
  Result<std::string> keep(const std::string& file, const std::string& content, const char* as) const {
    if (content.empty()) return file;
    WATTLE_CHECK(write_file_atomically(path + "/" + as, content, 0400));
    return path + "/" + as;
  }
  Status keep_login(const ExecCredential& login) const {
    if (!login.token.empty()) WATTLE_CHECK(write_file_atomically(path + "/token", login.token, 0400));
    if (login.certificate_pem.empty()) return {};
    WATTLE_CHECK(write_file_atomically(path + "/own.pem", login.certificate_pem, 0400));
    return write_file_atomically(path + "/own.key", login.key_pem, 0400);
  }
};

class Cluster::Session final : public kube::Api {
 public:
  // Opens a session with a server whose credentials are in files.
  Session(kube::ApiServer server, std::shared_ptr<Folder> folder)
      : server_(std::move(server)), folder_(std::move(folder)), api_(server_, kPatience, kPatience) {}
  // Runs the credential plugin and makes a session with its login.
  static Result<std::shared_ptr<Session>> logged_in(kube::ApiServer server, std::shared_ptr<Folder> folder,
                                                    ExecLogin exec, bool terminal) {
    WATTLE_TRY(const ExecCredential first, cli::log_in(exec, terminal));
    WATTLE_CHECK(folder->keep_login(first));
    if (!first.token.empty()) server.token_file = folder->path + "/token";
    if (!first.certificate_pem.empty() && server.origin.tls) {
      server.origin.tls->certificate = folder->path + "/own.pem";
      server.origin.tls->key = folder->path + "/own.key";
    }
    auto session = std::make_shared<Session>(std::move(server), std::move(folder));
    session->exec_ = std::move(exec);
    session->terminal_ = terminal;
    session->expires_s_ = first.expires_s;
    return session;
  }

  const kube::ApiServer& server() const { return server_; }
  Folder& folder() { return *folder_; }
  // Names the variable of a proxy, which a failed connection then mentions.
  void note_proxy(std::string variable) { proxy_ = std::move(variable); }
  Result<kube::Reply> get(const std::string& target) override {
    return request([&] { return api_.get(target); });
  }
  Result<kube::Reply> stream(const std::string& target, const std::function<bool(std::string_view)>& line) override {
    return request([&] { return api_.stream(target, line); });
  }
  Result<kube::Reply> post(const std::string& target, const std::string& body) {
    return request([&] { return api_.post(target, body); });
  }
  Result<kube::Reply> put(const std::string& target, const std::string& body) {
    return request([&] { return api_.put(target, body); });
  }
  Result<kube::Reply> patch(const std::string& target, const std::string& body) {
    return request([&] { return api_.patch(target, body); });
  }

 private:
  // Sends with a valid login. Renews the login after a 401 too, because the API server may have revoked it early.
  template <class Send>
  Result<kube::Reply> request(Send send) {
    constexpr std::int64_t kBefore_s = 10;
    const std::int64_t now_s = unix_now_s();
    if (exec_ && expires_s_ && now_s + kBefore_s >= *expires_s_) WATTLE_CHECK(renew());
    auto reply = send();
    if (!reply && !proxy_.empty())
      reply.error().fix += std::string(reply.error().fix.empty() ? "" : "; ") + proxy_ +
                           " is set, but wattle connects to API servers directly: run it where that is possible";
    if (!exec_ || !reply || reply->status != 401) return reply;
    WATTLE_CHECK(renew());
    return send();
  }
  Status renew() {
    WATTLE_TRY(const ExecCredential login, cli::log_in(*exec_, terminal_));
    WATTLE_CHECK(folder_->keep_login(login));
    expires_s_ = login.expires_s;
    if (!login.certificate_pem.empty()) api_.renew_certificate();
    return {};
  }

  kube::ApiServer server_;
  std::shared_ptr<Folder> folder_;
  std::optional<ExecLogin> exec_;
  std::string proxy_;
  bool terminal_ = false;
  std::optional<std::int64_t> expires_s_;
  kube::HttpApi api_;
};

Cluster::Cluster(std::shared_ptr<Session> session) : session_(std::move(session)) {
  const kube::ApiServer& server = session_->server();
  url_ = server.origin.url() + server.prefix;
  if (server.origin.tls) certificate_file_ = server.origin.tls->certificate;
}

kube::Api& Cluster::api() { return *session_; }

Result<std::string> Cluster::keep(const std::string& content, const char* as) {
  Folder& folder = session_->folder();
  if (folder.path.empty()) WATTLE_CHECK(folder.make());
  return folder.keep("", content, as);
}

Result<Cluster> Cluster::open_(const Invocation& invocation) {
  auto cluster = open_known(invocation);
  if (!cluster) return cluster;
  for (const char* name : {"HTTPS_PROXY", "https_proxy"})
    if (const auto proxy = invocation.around.variable(name); proxy && !proxy->empty())
      cluster->session_->note_proxy(name);
  return cluster;
}

Result<Cluster> Cluster::open_known(const Invocation& invocation) {
  const ClusterOptions& given = invocation.common.cluster;
  const auto& variable = invocation.around.variable;
  const auto open = [&](const std::string& paths) {
    return open_kubeconfig(paths, given.context, invocation.around.keyboard);
  };
  if (!given.kubeconfig.empty()) return open(given.kubeconfig);
  if (const auto paths = variable("KUBECONFIG"); paths && !paths->empty()) return open(*paths);
  auto in_pod = open_in_pod();
  const auto home = variable("HOME");
  std::error_code ignored;
  if (in_pod || !home) {
    if (!in_pod) in_pod.error().fix = kNameOne;
    return in_pod;
  }
  if (const std::string usual = *home + "/.kube/config"; std::filesystem::exists(usual, ignored)) return open(usual);
  in_pod.error().fix = kNameOne;
  return in_pod;
}

Result<Cluster> Cluster::open_in_pod() {
  WATTLE_TRY(auto server, kube::in_cluster());
  return Cluster(std::make_shared<Session>(std::move(server), std::make_shared<Folder>()));
}

Result<Cluster> Cluster::open_kubeconfig(const std::string& paths, const std::string& context, bool terminal) {
  WATTLE_TRY(KubeAccess access, load_kubeconfig(paths, context));
  auto folder = std::make_shared<Folder>();
  WATTLE_CHECK(folder->make());
  WATTLE_TRY(kube::ApiServer server, kube::parse_server(access.server));
  if (!server.origin.tls && server.origin.host != "localhost" && !http::is_loopback(server.origin.host))
    return fail(Errc::denied, paths, "the token would be sent unencrypted", "use an https:// address for the server");
  // Like client-go, a token file takes precedence over an inline token and is read again for each request. The inline
  // token replaces one that cannot be read.
  const auto in_file = read_file(access.token_file.empty() ? "/dev/null" : access.token_file);
  if (!access.token_file.empty() && access.token.empty() && !in_file) return tl::unexpected<Error>(in_file.error());
  const bool reads_file = access.token.empty() || (in_file && !parse::trim(*in_file).empty());
  WATTLE_TRY(server.token_file, folder->keep(access.token_file, reads_file ? "" : access.token, "token"));
  if (server.origin.tls) {
    http::Trust& tls = *server.origin.tls;
    tls.server_name = access.server_name;
    WATTLE_TRY(tls.ca_file, folder->keep(access.ca_file, access.ca_pem, "ca.pem"));
    WATTLE_TRY(tls.certificate, folder->keep(access.certificate_file, access.certificate_pem, "own.pem"));
    WATTLE_TRY(tls.key, folder->keep(access.key_file, access.key_pem, "own.key"));
  }
  if (!access.exec) return Cluster(std::make_shared<Session>(std::move(server), std::move(folder)));
  access.exec->cluster.ca_pem = access.ca_pem;
  if (access.ca_pem.empty() && !access.ca_file.empty()) {
    WATTLE_TRY(access.exec->cluster.ca_pem, read_file(access.ca_file));
  }
  WATTLE_TRY(auto session, Session::logged_in(std::move(server), std::move(folder), std::move(*access.exec), terminal));
  return Cluster(std::move(session));
}

Result<Json> Cluster::get(const std::string& target) {
  WATTLE_TRY(const kube::Reply reply, session_->get(target));
  if (reply.status != 200) return refused("GET " + target, reply);
  return parsed("GET " + target, reply);
}

Result<std::optional<Json>> Cluster::find(const std::string& target) {
  auto found = get(target);
  if (found) return std::optional<Json>(std::move(*found));
  if (found.error().code == Errc::not_found) return std::optional<Json>();
  return forward_error(found);
}

Result<Json> Cluster::post(const std::string& target, const Json& object) {
  WATTLE_TRY(const kube::Reply reply, session_->post(target, object.dump()));
  if (reply.status != 200 && reply.status != 201) return refused("POST " + target, reply);
  return parsed("POST " + target, reply);
}

Result<Json> Cluster::put(const std::string& target, const Json& object) {
  WATTLE_TRY(const kube::Reply reply, session_->put(target, object.dump()));
  if (reply.status != 200 && reply.status != 201) return refused("PUT " + target, reply);
  return parsed("PUT " + target, reply);
}

Result<Json> Cluster::patch(const std::string& target, const Json& object) {
  WATTLE_TRY(const kube::Reply reply, session_->patch(target, object.dump()));
  if (reply.status != 200) return refused("PATCH " + target, reply);
  return parsed("PATCH " + target, reply);
}

Result<bool> Cluster::create(const std::string& target, const Json& object) {
  const auto made = post(target, object);
  if (made) return true;
  if (made.error().code == Errc::conflict) return false;
  return tl::unexpected<Error>(made.error());
}

}  // namespace wattle::cli
