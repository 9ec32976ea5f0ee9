#include "cli/exec_login.hpp"

#include <ctime>

#include "cli/process.hpp"
#include "cli/view.hpp"
#include "common/base64.hpp"

namespace wattle::cli {
namespace {

// A plugin without a terminal asks a server for a token. With one, it may wait for a person.
constexpr std::chrono::seconds kLimit{60};
constexpr const char* kVersions[] = {"client.authentication.k8s.io/v1", "client.authentication.k8s.io/v1beta1"};

// "2026-01-02T03:04:05Z", or with an offset.
std::optional<std::int64_t> unix_time_of(const std::string& text) {
  std::tm at{};
  const char* rest = ::strptime(text.c_str(), "%Y-%m-%dT%H:%M:%S", &at);
  if (rest == nullptr) return std::nullopt;
  const std::int64_t local_s = ::timegm(&at);
  if (*rest == '.') do
      ++rest;
    while (*rest >= '0' && *rest <= '9');
  if (*rest == 'Z') return local_s;
  std::tm offset{};
  if ((*rest != '+' && *rest != '-') || ::strptime(rest + 1, "%H:%M", &offset) == nullptr) return std::nullopt;
  const std::int64_t offset_s = offset.tm_hour * 3600 + offset.tm_min * 60;
  return *rest == '+' ? local_s - offset_s : local_s + offset_s;
}

Json info_for(const ExecLogin& login, bool interactive) {
  Json spec = {{"interactive", interactive}};
  if (login.wants_cluster) {
    const ExecCluster& of = login.cluster;
    Json cluster = {{"server", of.server}};
    if (!of.server_name.empty()) cluster["tls-server-name"] = of.server_name;
    if (!of.ca_pem.empty()) cluster["certificate-authority-data"] = base64_encode(of.ca_pem);
    if (!of.config.is_null()) cluster["config"] = of.config;
    spec["cluster"] = std::move(cluster);
  }
  return {{"apiVersion", login.api_version}, {"kind", "ExecCredential"}, {"spec", std::move(spec)}};
}

}  // namespace

Result<ExecLogin> read_exec(const View& from, const std::string& name) {
  ExecLogin login;
  login.api_version = from["apiVersion"].text_or("");
  login.install_hint = from["installHint"].text_or("");
  login.wants_cluster = from["provideClusterInfo"].flag() == true;
  const std::string mode = from["interactiveMode"].text_or("IfAvailable");
  if (mode != "Never" && mode != "IfAvailable" && mode != "Always")
    return fail(Errc::malformed, name, "the exec plugin of the user has interactiveMode '" + mode + "'",
                "use Never, IfAvailable or Always");
  login.interactive = mode == "Never"    ? ExecLogin::Interactive::never
                      : mode == "Always" ? ExecLogin::Interactive::always
                                         : ExecLogin::Interactive::if_available;
  const std::string command = from["command"].text_or("");
  if (command.empty()) return fail(Errc::malformed, name, "the exec plugin of the user has no command");
  if (login.api_version != kVersions[0] && login.api_version != kVersions[1])
    return fail(Errc::unsupported, name, "the exec plugin of the user has apiVersion '" + login.api_version + "'",
                std::string("update the plugin to one of ") + kVersions[0]);
  login.words.push_back(command);
  const auto not_text = [&](const char* what) {
    return fail(Errc::malformed, name, std::string("the exec plugin of the user has ") + what + " that is not text",
                "write it in quotes");
  };
  for (const View& word : from["args"].items()) {
    if (!word.text()) return not_text("an argument");
    login.words.push_back(*word.text());
  }
  for (const View& pair : from["env"].items()) {
    if (!pair["name"].text() || !pair["value"].text()) return not_text("a variable");
    login.environment.emplace_back(*pair["name"].text(), *pair["value"].text());
  }
  return login;
}

Result<ExecCredential> parse_exec_credential(const std::string& text, const ExecLogin& login) {
  const Json document = Json::read(text, {.text_bytes = 1 << 20, .built_bytes = 16 << 20});
  const View status = View(document)["status"];
  const std::string& program = login.words.front();
  if (View(document)["kind"].text() != "ExecCredential")
    return fail(Errc::malformed, program, "returned no ExecCredential of " + login.api_version,
                "run it by hand: its standard output must be that object alone");
  if (const auto version = View(document)["apiVersion"].text(); version != login.api_version)
    return fail(
        Errc::malformed, program,
        "returned an ExecCredential of '" + version.value_or("") + "', but the kubeconfig has " + login.api_version,
        "set the kubeconfig's apiVersion to the version that the plugin supports, or update the plugin");
  ExecCredential out;
  out.token = status["token"].text_or("");
  out.certificate_pem = status["clientCertificateData"].text_or("");
  out.key_pem = status["clientKeyData"].text_or("");
  if (out.token.empty() && (out.certificate_pem.empty() || out.key_pem.empty()))
    return fail(Errc::malformed, program, "the ExecCredential contains neither a token nor a certificate with its key");
  if (const auto until = status["expirationTimestamp"].text()) {
    out.expires_s = unix_time_of(*until);
    if (!out.expires_s)
      return fail(Errc::malformed, program, "expirationTimestamp '" + *until + "' is not a timestamp");
  }
  return out;
}

Result<ExecCredential> log_in(const ExecLogin& login, bool terminal) {
  const std::string& program = login.words.front();
  if (login.interactive == ExecLogin::Interactive::always && !terminal)
    return fail(Errc::denied, program, "requires input (interactiveMode: Always), but standard input is not a terminal",
                "run the command in a terminal, or use a kubeconfig whose plugin works without one");
  const bool interactive = terminal && login.interactive != ExecLogin::Interactive::never;
  auto environment = login.environment;
  environment.emplace_back("KUBERNETES_EXEC_INFO", info_for(login, interactive).dump());
  const auto ran = output_of(login.words, environment, interactive, interactive ? std::chrono::seconds(0) : kLimit);
  if (!ran && ran.error().code == Errc::not_found)
    return fail(Errc::not_found, program, "the exec plugin of the kubeconfig is not installed",
                login.install_hint.empty() ? "install it or add its folder to PATH" : login.install_hint);
  if (!ran) return fail(ran.error().code, program, ran.error().what, ran.error().fix);
  if (ran->code != 0)
    return fail(Errc::denied, login.words.front(), "failed with exit code " + std::to_string(ran->code),
                "run the plugin by hand to see its error");
  return parse_exec_credential(ran->said, login);
}

}  // namespace wattle::cli
