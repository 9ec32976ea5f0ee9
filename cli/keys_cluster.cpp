// `wattle keys bootstrap` and `wattle keys unpack`: the keys of an installation in a Kubernetes cluster.
//
// Secret wattle-shim       shim.key, shim.key.pub
// Secret wattle-operator   operator.key, operator.key.pub
// Secret wattle-controller controller.key, controller.key.pub, tls.crt, tls.key, allow (keys of the other two)
// Secret wattle-metrics    token that readers of metrics must present; the same in both namespaces
// ConfigMap wattle-public  controller.pub, ca.pem: in the controller's namespace and in the agents'
//
// Existing objects stay unchanged, so the command can run again at any time. The controller's Secret is created last of
// the three.
#include <algorithm>
#include <ostream>
#include <tuple>

#include "cli/cluster.hpp"
#include "cli/declare.hpp"
#include "cli/keys.hpp"
#include "cli/view.hpp"
#include "common/base64.hpp"
#include "common/clock.hpp"
#include "common/dir.hpp"
#include "common/enrol_tokens.hpp"
#include "common/http/certificate.hpp"
#include "common/transport/allow_edit.hpp"
#include "common/transport/keys.hpp"

namespace wattle::cli {

namespace {
using transport::AllowLine;
using transport::KeyPair;
using Texts = std::map<std::string, std::string>;

constexpr std::chrono::hours kCertificateLife{24 * 3650};
constexpr const char* kPublicMap = "wattle-public";
constexpr std::size_t kMaxSecretBytes = 64 << 10;

std::string path_of(const std::string& name_space, const char* kind) {
  return "/api/v1/namespaces/" + name_space + "/" + kind;
}

bool is_label(const std::string& text) {
  return !text.empty() && text.size() <= 63 && text.front() != '-' && text.back() != '-' &&
         text.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-") == std::string::npos;
}

Json object_of(const char* kind, const std::string& name, const std::string& name_space, const char* under,
               const Texts& texts) {
  return {
      {"apiVersion", "v1"},
      {"kind", kind},
      {"metadata", {{"name", name}, {"namespace", name_space}, {"labels", {{"app.kubernetes.io/part-of", "wattle"}}}}},
      {under, texts}};
}

// Returns the texts of a Secret. Skips values that are not base64.
Texts texts_of(const Json& secret) {
  Texts out;
  for (const auto& [key, value] : View(secret)["data"].members())
    if (auto text = base64_decode(value.text_or(""))) out[key] = std::move(*text);
  return out;
}

// Returns the contents of a Secret, which `make` creates if it is missing.
Result<Texts> secret(Cluster& cluster, const std::string& name_space, const std::string& name, std::ostream& out,
                     const std::function<Result<Texts>()>& make) {
  const std::string target = path_of(name_space, "secrets") + "/" + name;
  const std::string reported = "Secret " + name_space + "/" + name;
  WATTLE_TRY(auto found, cluster.find(target));
  if (!found) {
    WATTLE_TRY(Texts made, make());
    WATTLE_TRY(const bool created, cluster.create(path_of(name_space, "secrets"),
                                                  object_of("Secret", name, name_space, "stringData", made)));
    if (created) {
      out << reported << ": created\n";
      return made;
    }
    WATTLE_TRY(found, cluster.find(target));  // another process created it first
    if (!found)
      return fail(Errc::conflict, reported, "the Secret is created and deleted by another client",
                  "run the command again");
  }
  out << reported << ": exists\n";
  return texts_of(*found);
}

Result<std::string> public_key(Cluster& cluster, const std::string& name_space, const std::string& role,
                               std::ostream& out) {
  WATTLE_TRY(const Texts texts, secret(cluster, name_space, "wattle-" + role, out, [&]() -> Result<Texts> {
               const KeyPair pair = KeyPair::generate();
               return Texts{{role + ".key", pair.text()}, {role + ".key.pub", pair.public_key + "\n"}};
             }));
  const auto found = texts.find(role + ".key.pub");
  const std::string key = found == texts.end() ? "" : found->second.substr(0, found->second.find('\n'));
  if (!transport::is_public_key(key))
    return fail(Errc::malformed, "Secret " + name_space + "/wattle-" + role, "contains no key in " + role + ".key.pub",
                "delete it and the Secret wattle-controller, then run the command again to create both");
  return key;
}

Result<Texts> controller_texts(const std::string& name_space, const std::string& allow) {
  const std::string host = "wattle-controller." + name_space + ".svc";
  const KeyPair pair = KeyPair::generate();
  WATTLE_TRY(const http::Certificate own,
             http::self_signed({host, host + ".cluster.local", "wattle-controller." + name_space, "wattle-controller"},
                               SystemClock().wall(), kCertificateLife));
  return Texts{{"controller.key", pair.text()},
               {"controller.key.pub", pair.public_key + "\n"},
               {"tls.crt", own.certificate},
               {"tls.key", own.key},
               {"allow", allow}};
}

Status publish(Cluster& cluster, const std::string& name_space, const Texts& texts, std::ostream& out) {
  const std::string reported = "ConfigMap " + name_space + "/" + kPublicMap;
  WATTLE_TRY(const bool made, cluster.create(path_of(name_space, "configmaps"),
                                             object_of("ConfigMap", kPublicMap, name_space, "data", texts)));
  if (!made) {
    WATTLE_TRY(const Json found, cluster.get(path_of(name_space, "configmaps") + "/" + kPublicMap));
    for (const auto& [key, text] : texts)
      if (View(found)["data"][key].text() != text)
        return fail(Errc::conflict, reported, key + " differs from the key of the Secret wattle-controller",
                    "delete the ConfigMap and run the command again");
  }
  out << reported << (made ? ": created\n" : ": exists\n");
  return {};
}

Status make_all(Cluster& cluster, const std::string& control, const std::string& agents, std::ostream& out) {
  WATTLE_TRY(const std::string shim, public_key(cluster, control, "shim", out));
  WATTLE_TRY(const std::string operator_key, public_key(cluster, control, "operator", out));
  std::string allow;
  for (const auto& [key, role, name] : {std::tuple{shim, transport::Role::shim, "wattle-scheduler"},
                                        std::tuple{operator_key, transport::Role::operator_, "operator"}})
    allow = transport::with_line(allow, {key, std::string(transport::to_string(role)), name});
  WATTLE_TRY(const Texts texts,
             secret(cluster, control, "wattle-controller", out, [&] { return controller_texts(control, allow); }));
  const auto text = [&](const char* key) {
    const auto found = texts.find(key);
    return found == texts.end() ? std::string() : found->second;
  };
  for (const std::string& key : {shim, operator_key})
    if (text("allow").find(key) == std::string::npos)
      return fail(Errc::conflict, "Secret " + control + "/wattle-controller",
                  "its `allow` does not contain the key " + key,
                  "add the key, or delete the Secret and run the command again to create it");
  const auto metrics = [&](const std::string& name_space, const std::function<Result<Texts>()>& make) {
    return secret(cluster, name_space, "wattle-metrics", out, make);
  };
  WATTLE_TRY(const Texts shown, metrics(control, []() -> Result<Texts> {
               WATTLE_TRY(std::string word, make_enrol_token());
               return Texts{{"token", std::move(word)}};
             }));
  WATTLE_CHECK(metrics(agents, [&shown]() -> Result<Texts> { return shown; }));
  WATTLE_CHECK(
      publish(cluster, control, {{"controller.pub", text("controller.key.pub")}, {"ca.pem", text("tls.crt")}}, out));
  return publish(cluster, agents, {{"ca.pem", text("tls.crt")}}, out);
}

struct BootstrapOptions {
  std::string control = "wattle", agents = "wattle-agent";  // namespaces
};

Outcome bootstrap(const Invocation& invocation, const BootstrapOptions& options) {
  for (const std::string& name : {options.control, options.agents})
    if (!is_label(name))
      return misuse({Errc::malformed, "'" + name + "'", "is not a valid namespace", "use letters, digits and '-'"});
  WATTLE_TRY(Cluster cluster, as_misuse(Cluster::open_(invocation)));
  WATTLE_CHECK(make_all(cluster, options.control, options.agents, invocation.around.out));
  return kOk;
}

// Returns the lines that the list does not have yet. A revoked key stays revoked.
Status allow_lines_of(const std::string& text, const std::string& path, std::ostream& out) {
  WATTLE_TRY(const Fd held, transport::lock_list(path));
  WATTLE_TRY(const std::string before, transport::read_list(path, true));
  std::string after = before;
  const auto known = transport::allow_lines(before);
  for (const AllowLine& line : transport::allow_lines(text)) {
    const auto same =
        std::find_if(known.begin(), known.end(), [&](const AllowLine& one) { return one.key == line.key; });
    if (same != known.end()) continue;
    const bool revoked = transport::is_revoked(before, line.key);
    out << path << (revoked ? ": refuses the revoked key " : ": allows ") << line.key << " " << line.role << " "
        << line.name << "\n";
    if (!revoked) after = transport::with_line(after, line);
  }
  return after == before ? Status() : transport::write_list(path, after);
}

Status copy_all(const std::string& from, const std::string& to, const std::string& allow_list, std::ostream& out) {
  WATTLE_TRY(const Dir source, Dir::open_(from));
  WATTLE_TRY(const auto entries, source.list());
  std::size_t copied = 0;
  for (const DirEntry& entry : entries) {
    if (entry.is_dir || entry.name.starts_with(".")) continue;  // the kubelet's own entries in a mounted Secret
    WATTLE_TRY(const std::string text, source.read_file(entry.name, kMaxSecretBytes));
    WATTLE_CHECK(write_file_atomically(to + "/" + entry.name, text, 0400));
    ++copied;
    if (entry.name == "allow" && !allow_list.empty()) WATTLE_CHECK(allow_lines_of(text, allow_list, out));
  }
  if (copied == 0)
    return fail(Errc::not_found, from, "contains no files", "check that it is the folder of a mounted Secret");
  out << to << ": " << copied << " files, mode 0400\n";
  return {};
}

struct UnpackOptions {
  std::vector<std::string> folders;
  std::string allow_list;
};

Outcome unpack(const Invocation& invocation, const UnpackOptions& options) {
  WATTLE_CHECK(copy_all(options.folders[0], options.folders[1], options.allow_list, invocation.around.out));
  return kOk;
}
}  // namespace

void declare_bootstrap(CLI::App& command, Run& chosen) {
  auto& options = runs(command, chosen, bootstrap);
  command.add_option("--namespace", options.control, "Namespace of the controller (default wattle)");
  command.add_option("--agents-namespace", options.agents, "Namespace of the agents (default wattle-agent)");
}

void declare_unpack(CLI::App& command, Run& chosen) {
  auto& options = runs(command, chosen, unpack);
  command.add_option("FROM TO", options.folders, "Folder of the Secret and destination folder")
      ->type_name("DIR")
      ->required()
      ->expected(2);
  command.add_option("--allow-list", options.allow_list, "Controller's allow list")->type_name("FILE");
}

}  // namespace wattle::cli
