#include "cli/kubeconfig.hpp"

#include <utility>

#include "cli/view.hpp"
#include "common/base64.hpp"
#include "common/parse.hpp"
#include "common/yaml_tree.hpp"

namespace wattle::cli {

namespace {

struct NamedList {
  const char *list, *inside;
};
constexpr NamedList kLists[] = {{"clusters", "cluster"}, {"users", "user"}, {"contexts", "context"}};

// Returns the object `inside` of the list's item with that name.
std::optional<View> named(const View& list, const std::string& name, const char* inside) {
  for (const View& item : list.items())
    if (item["name"].text() == name) return item[inside];
  return std::nullopt;
}

// YAML reads some unquoted words as numbers or booleans. kubectl refuses them too.
Status check_texts(const View& object, std::initializer_list<const char*> keys, const std::string& name) {
  for (const char* key : keys)
    if (object[key].present() && !object[key].text())
      return fail(Errc::malformed, name, std::string(key) + " is not text", "write its value in quotes");
  return {};
}

Status read_inline(const View& from, const char* key, const std::string& name, std::string& out) {
  const auto text = from[key].text();
  if (!text) return {};
  auto decoded = base64_decode(*text);
  if (!decoded) return fail(Errc::malformed, name, std::string(key) + " is not base64");
  out = std::move(*decoded);
  return {};
}

Status refuse_foreign(const View& cluster, const View& user, const std::string& name) {
  if (cluster["insecure-skip-tls-verify"].flag() == true)
    return fail(Errc::denied, name, "insecure-skip-tls-verify is set: any host could impersonate the API server",
                "set certificate-authority to the file of the cluster's CA");
  if (cluster["proxy-url"].present())
    return fail(Errc::unsupported, name, "the cluster is behind a proxy (proxy-url)",
                "use a context that reaches the API server directly");
  for (const char* key : {"auth-provider", "username"})
    if (user[key].present())
      return fail(Errc::unsupported, name, std::string("the user authenticates with ") + key,
                  "use an exec plugin, a client certificate or a token from kubectl create token");
  for (const char* key : {"as", "as-uid", "as-groups", "as-user-extra"})
    if (user[key].present())
      return fail(Errc::unsupported, name, std::string("the user is impersonated by ") + key,
                  "use a context of the intended user");
  return {};
}

void make_relative_to(Json& object, const char* key, const std::string& folder) {
  const auto found = object.is_object() ? object.find(key) : object.end();
  if (found == object.end() || !found->is_string()) return;
  const std::string path = found->get<std::string>();
  if (!path.empty() && path.front() != '/') *found = folder + path;
}

// A program name without '/' is unchanged: it is searched in PATH.
void make_command_relative_to(Json& user, const std::string& folder) {
  const auto exec = user.is_object() ? user.find("exec") : user.end();
  if (exec == user.end() || !exec->is_object()) return;
  const std::string command = View(*exec)["command"].text_or("");
  if (command.find('/') != std::string::npos) make_relative_to(*exec, "command", folder);
}

// The `config` that the cluster entry passes to the plugin.
Json exec_config_of(const View& cluster) {
  for (const View& extension : cluster["extensions"].items())
    if (extension["name"].text() == "client.authentication.k8s.io/exec" && extension["extension"].present())
      return extension["extension"].json();
  return nullptr;
}

}  // namespace

Json with_paths_from(Json document, const std::string& path) {
  const std::size_t slash = path.rfind('/');
  const std::string folder = slash == std::string::npos ? "" : path.substr(0, slash + 1);
  if (folder.empty() || !document.is_object()) return document;
  for (const NamedList& each : kLists) {
    const auto list = document.find(each.list);
    if (list == document.end() || !list->is_array()) continue;
    for (Json& item : *list) {
      if (!item.is_object() || !item.contains(each.inside)) continue;
      Json& inside = item[each.inside];
      for (const char* key : {"certificate-authority", "client-certificate", "client-key", "tokenFile"})
        make_relative_to(inside, key, folder);
      make_command_relative_to(inside, folder);
    }
  }
  return document;
}

Json merged(const std::vector<Json>& documents) {
  Json out = Json::object();
  for (const NamedList& each : kLists) out[each.list] = Json::array();
  for (const Json& document : documents) {
    const View one(document);
    const View current = one["current-context"];
    if (!out.contains("current-context") && current.present() && current.text() != "")
      out["current-context"] = current.json();
    for (const NamedList& each : kLists) {
      for (const View& item : one[each.list].items()) {
        const auto name = item["name"].text();
        if (name && !named(View(out)[each.list], *name, each.inside)) out[each.list].push_back(item.json());
      }
    }
  }
  return out;
}

Result<KubeAccess> read_kubeconfig(const Json& document, const std::string& name, const std::string& context) {
  const View config(document);
  if (context.empty()) WATTLE_CHECK(check_texts(config, {"current-context"}, name));
  const std::string wanted = context.empty() ? config["current-context"].text_or("") : context;
  if (wanted.empty()) return fail(Errc::not_found, name, "sets no current context", "pass --context NAME");
  const auto chosen = named(config["contexts"], wanted, "context");
  if (!chosen) return fail(Errc::not_found, name, "has no context '" + wanted + "'", "kubectl config get-contexts");
  WATTLE_CHECK(check_texts(*chosen, {"cluster", "user"}, name));
  const auto cluster = named(config["clusters"], (*chosen)["cluster"].text_or(""), "cluster");
  const auto user = named(config["users"], (*chosen)["user"].text_or(""), "user");
  if (!cluster || !user)
    return fail(Errc::malformed, name, "context '" + wanted + "' names an unknown cluster or user");
  WATTLE_CHECK(refuse_foreign(*cluster, *user, name));
  WATTLE_CHECK(check_texts(*cluster,
                           {"server", "tls-server-name", "certificate-authority", "certificate-authority-data"}, name));
  WATTLE_CHECK(check_texts(
      *user, {"token", "tokenFile", "client-certificate", "client-certificate-data", "client-key", "client-key-data"},
      name));
  KubeAccess out;
  out.server = (*cluster)["server"].text_or("");
  if (out.server.empty()) return fail(Errc::malformed, name, "context '" + wanted + "' has no server");
  if (out.server.find("://") == std::string::npos) out.server.insert(0, "https://");
  out.server_name = (*cluster)["tls-server-name"].text_or("");
  out.ca_file = (*cluster)["certificate-authority"].text_or("");
  out.token = (*user)["token"].text_or("");
  out.token_file = (*user)["tokenFile"].text_or("");
  out.certificate_file = (*user)["client-certificate"].text_or("");
  out.key_file = (*user)["client-key"].text_or("");
  WATTLE_CHECK(read_inline(*cluster, "certificate-authority-data", name, out.ca_pem));
  WATTLE_CHECK(read_inline(*user, "client-certificate-data", name, out.certificate_pem));
  WATTLE_CHECK(read_inline(*user, "client-key-data", name, out.key_pem));
  const bool certificate = !out.certificate_file.empty() || !out.certificate_pem.empty();
  const bool key = !out.key_file.empty() || !out.key_pem.empty();
  if (certificate != key)
    return fail(Errc::malformed, name,
                certificate ? "the user's client-certificate has no client-key"
                            : "the user's client-key has no client-certificate");
  const bool token = !out.token.empty() || !out.token_file.empty();
  if (const View exec = (*user)["exec"]; exec.present() && !token) {
    WATTLE_TRY(out.exec, read_exec(exec, name));
    out.exec->cluster = {out.server, out.server_name, "", exec_config_of(*cluster)};
  }
  return out;
}

Result<KubeAccess> load_kubeconfig(const std::string& paths, const std::string& context) {
  std::vector<Json> documents;
  std::optional<Error> absent;
  for (const std::string_view each : parse::split(paths, ':')) {
    if (each.empty()) continue;
    const std::string path(each);
    auto loaded = load_yaml(path);
    if (!loaded && loaded.error().code == Errc::not_found) {
      absent = absent ? absent : std::optional(loaded.error());
      continue;
    }
    if (!loaded) return forward_error(loaded);
    if (loaded->size() > 1 || (loaded->size() == 1 && !loaded->front().is_object()))
      return fail(Errc::malformed, path, "is not a kubeconfig");
    if (!loaded->empty()) documents.push_back(with_paths_from(std::move(loaded->front()), path));
  }
  if (documents.empty() && absent) return tl::unexpected<Error>(*absent);
  if (documents.empty()) return fail(Errc::malformed, paths, "is not a kubeconfig");
  return read_kubeconfig(merged(documents), paths, context);
}

}  // namespace wattle::cli
