#include "cli/cluster.hpp"

#include <cerrno>
#include <cstdlib>
#include <filesystem>

#include "cli/view.hpp"
#include "common/base64.hpp"
#include "common/clock.hpp"
#include "common/dir.hpp"
#include "common/json/value.hpp"
#include "common/yaml_tree.hpp"

namespace wattle::cli {

namespace {
using Json = OrderedJson;
constexpr std::chrono::seconds kPatience{10};

// The object under `inside` of the list's item of that name.
std::optional<View> named(const View& list, const std::string& name, const char* inside) {
  for (const View& item : list.items())
    if (item["name"].text() == name) return item[inside];
  return std::nullopt;
}

Status read_inline(const View& from, const char* key, const std::string& name, std::string& out) {
  const auto text = from[key].text();
  if (!text) return {};
  auto decoded = base64_decode(*text);
  if (!decoded) return fail(Errc::malformed, name, std::string(key) + " is no base64");
  out = std::move(*decoded);
  return {};
}

Status refuse_foreign(const View& cluster, const View& user, const std::string& name) {
  if (cluster["insecure-skip-tls-verify"].flag() == true)
    return fail(Errc::denied, name, "insecure-skip-tls-verify would let anybody pass for the API server",
                "name its certificate-authority");
  for (const char* key : {"tls-server-name", "proxy-url"})
    if (cluster[key].present()) return fail(Errc::unsupported, name, std::string(key) + " is not followed");
  for (const char* key : {"auth-provider", "username"})
    if (user[key].present())
      return fail(Errc::unsupported, name, std::string("the user logs in by ") + key,
                  "take a kubeconfig with a token: kubectl create token");
  return {};
}

// The API server of Kubernetes 1.37 itself refuses what the pod's node can never give, with this cause and status 403.
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
  const auto told = View(body)["message"].text();
  return fail(code, what, told ? *told : "answers " + std::to_string(reply.status),
              code == Errc::denied ? "see docs/reference/kubernetes.md for the permissions" : "");
}

Result<Json> parsed(const std::string& what, const kube::Reply& reply) {
  Json body = Json::read(reply.body, {.text_bytes = 64 << 20, .built_bytes = 512 << 20});
  if (!body.is_object()) return fail(Errc::malformed, what, "the answer is no JSON object", "is it an API server?");
  return body;
}
}  // namespace

Result<KubeAccess> read_kubeconfig(const Json& document, const std::string& name, const std::string& context) {
  const View config(document);
  const std::string wanted = context.empty() ? config["current-context"].text_or("") : context;
  if (wanted.empty()) return fail(Errc::not_found, name, "has no current context", "give --context NAME");
  const auto chosen = named(config["contexts"], wanted, "context");
  if (!chosen) return fail(Errc::not_found, name, "has no context '" + wanted + "'", "kubectl config get-contexts");
  const auto cluster = named(config["clusters"], (*chosen)["cluster"].text_or(""), "cluster");
  const auto user = named(config["users"], (*chosen)["user"].text_or(""), "user");
  if (!cluster || !user)
    return fail(Errc::malformed, name, "context '" + wanted + "' names no cluster or user there is");
  WATTLE_CHECK(refuse_foreign(*cluster, *user, name));
  KubeAccess out;
  out.server = (*cluster)["server"].text_or("");
  out.ca_file = (*cluster)["certificate-authority"].text_or("");
  out.token = (*user)["token"].text_or("");
  out.token_file = (*user)["tokenFile"].text_or("");
  out.certificate_file = (*user)["client-certificate"].text_or("");
  out.key_file = (*user)["client-key"].text_or("");
  WATTLE_CHECK(read_inline(*cluster, "certificate-authority-data", name, out.ca_pem));
  WATTLE_CHECK(read_inline(*user, "client-certificate-data", name, out.certificate_pem));
  WATTLE_CHECK(read_inline(*user, "client-key-data", name, out.key_pem));
  if (const View exec = (*user)["exec"]; exec.present()) {
    WATTLE_TRY(out.exec, read_exec(exec, name));
  }
  if (out.server.empty()) return fail(Errc::malformed, name, "context '" + wanted + "' has no server");
  return out;
}

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
  // The file as it is named, beside `base` if its path is relative; or the content, in a file of ours.
  Result<std::string> keep(const std::string& file, const std::string& content, const std::string& base,
                           const char* as) {
    if (content.empty()) return file.empty() || file.front() == '/' ? file : base + file;
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

Cluster::Cluster(kube::ApiServer server, std::shared_ptr<Folder> folder)
    : folder_(std::move(folder)),
      url_(server.origin.url() + server.prefix),
      certificate_file_(server.origin.tls ? server.origin.tls->certificate : std::string()),
      api_(std::make_unique<kube::HttpApi>(std::move(server), kPatience, kPatience)) {}

Result<Cluster> Cluster::open_in_pod() {
  WATTLE_TRY(auto server, kube::in_cluster());
  return Cluster(std::move(server), std::make_shared<Folder>());
}

Result<Cluster> Cluster::open_kubeconfig(const std::string& path, const std::string& context) {
  WATTLE_TRY(const auto documents, load_yaml(path));
  if (documents.size() != 1) return fail(Errc::malformed, path, "is no kubeconfig");
  WATTLE_TRY(const KubeAccess access, read_kubeconfig(documents.front(), path, context));
  auto folder = std::make_shared<Folder>();
  WATTLE_CHECK(folder->make());
  const std::size_t slash = path.rfind('/');
  const std::string base = slash == std::string::npos ? "" : path.substr(0, slash + 1);
  WATTLE_TRY(kube::ApiServer server, kube::parse_server(access.server));
  if (!server.origin.tls)
    return fail(Errc::denied, path, "a token must not cross a network in the clear", "name the server by https://");
  WATTLE_TRY(server.origin.tls->ca_file, folder->keep(access.ca_file, access.ca_pem, base, "ca.pem"));
  WATTLE_TRY(server.origin.tls->certificate,
             folder->keep(access.certificate_file, access.certificate_pem, base, "own.pem"));
  WATTLE_TRY(server.origin.tls->key, folder->keep(access.key_file, access.key_pem, base, "own.key"));
  WATTLE_TRY(server.token_file, folder->keep(access.token_file, access.token, base, "token"));
  if (!access.exec) return Cluster(std::move(server), std::move(folder));
  std::string ca_pem = access.ca_pem;
  if (const std::string& ca = server.origin.tls->ca_file; ca_pem.empty() && !ca.empty()) {
    WATTLE_TRY(ca_pem, read_file(ca));
  }
  ExecLogin exec = *access.exec;
  if (std::string& program = exec.words.front(); program.find('/') != std::string::npos && program.front() != '/')
    program = base + program;  // as kubectl takes it
  WATTLE_TRY(const ExecCredential login, log_in(exec, access.server, ca_pem));
  WATTLE_CHECK(folder->keep_login(login));
  if (!login.token.empty()) server.token_file = folder->path + "/token";
  if (!login.certificate_pem.empty()) server.origin.tls->certificate = folder->path + "/own.pem";
  if (!login.certificate_pem.empty()) server.origin.tls->key = folder->path + "/own.key";
  Cluster cluster(std::move(server), std::move(folder));
  cluster.exec_ = std::move(exec);
  cluster.expires_s_ = login.expires_s;
  cluster.ca_pem_ = std::move(ca_pem);
  return cluster;
}

// A program says for how long its login stands; files are read before each request.
Status Cluster::renew() {
  constexpr std::int64_t kBefore_s = 10;
  const std::int64_t now_s = to_ns(SystemClock().wall()) / 1'000'000'000;
  if (!exec_ || !expires_s_ || now_s + kBefore_s < *expires_s_) return {};
  WATTLE_TRY(const ExecCredential login, log_in(*exec_, url_, ca_pem_));
  expires_s_ = login.expires_s;
  return folder_->keep_login(login);
}

Result<kube::Reply> Cluster::request(Result<kube::Reply> (kube::HttpApi::*method)(const std::string&,
                                                                                  const std::string&),
                                     const std::string& target, const Json& object) {
  WATTLE_CHECK(renew());
  return (api_.get()->*method)(target, object.dump());
}

Result<Json> Cluster::get(const std::string& target) {
  WATTLE_CHECK(renew());
  WATTLE_TRY(const kube::Reply reply, api_->get(target));
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
  WATTLE_TRY(const kube::Reply reply, request(&kube::HttpApi::post, target, object));
  if (reply.status != 200 && reply.status != 201) return refused("POST " + target, reply);
  return parsed("POST " + target, reply);
}

Result<Json> Cluster::put(const std::string& target, const Json& object) {
  WATTLE_TRY(const kube::Reply reply, request(&kube::HttpApi::put, target, object));
  if (reply.status != 200 && reply.status != 201) return refused("PUT " + target, reply);
  return parsed("PUT " + target, reply);
}

Result<Json> Cluster::patch(const std::string& target, const Json& object) {
  WATTLE_TRY(const kube::Reply reply, request(&kube::HttpApi::patch, target, object));
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
