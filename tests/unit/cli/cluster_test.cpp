#include "cli/cluster.hpp"
#include "cli/cluster_route.hpp"

#include <doctest/doctest.h>
#include <signal.h>

#include "cli/process.hpp"
#include "common/dir.hpp"
#include "common/json/value.hpp"
#include "common/parse.hpp"
#include "common/yaml_tree.hpp"
#include "tests/unit/cli/surroundings.hpp"

using namespace wattle;
using namespace wattle::cli;
using Json = wattle::OrderedJson;

namespace {

Json kubeconfig() {
  return parse_yaml(R"(
apiVersion: v1
kind: Config
current-context: one
clusters:
  - {name: c1, cluster: {server: "https://10.0.0.1:6443", certificate-authority-data: Y2E=}}
  - {name: c2, cluster: {server: "https://10.0.0.2:6443", certificate-authority: ca.pem}}
users:
  - {name: u1, user: {client-certificate-data: Y2VydA==, client-key-data: a2V5}}
  - {name: u2, user: {token: word}}
  - {name: u3, user: {exec: {command: aws}}}
contexts:
  - {name: one, context: {cluster: c1, user: u1}}
  - {name: two, context: {cluster: c2, user: u2}}
  - {name: three, context: {cluster: c2, user: u3}}
  - {name: four, context: {cluster: c9, user: u3}}
)",
                    "it")
      .value()
      .at(0);
}

// Writes a kubeconfig for this user of a server that nothing listens at, and returns its path.
std::string unreachable(const cli::test::Folder& folder, const std::string& user) {
  const std::string file = folder.path + "/config";
  REQUIRE(write_file_atomically(file, R"(
current-context: one
clusters: [{name: c1, cluster: {server: "http://127.0.0.1:1"}}]
users: [{name: u1, user: )" + user + R"(}]
contexts: [{name: one, context: {cluster: c1, user: u1}}]
)",
                                0600));
  return file;
}

}  // namespace

TEST_CASE("a kubeconfig gives the server, authority and login of a context") {
  const auto one = read_kubeconfig(kubeconfig(), "it", "");
  REQUIRE(one);
  CHECK(one->server == "https://10.0.0.1:6443");
  CHECK(one->ca_pem == "ca");
  CHECK(one->certificate_pem == "cert");
  CHECK(one->key_pem == "key");
  const auto two = read_kubeconfig(kubeconfig(), "it", "two");
  REQUIRE(two);
  CHECK(two->ca_file == "ca.pem");
  CHECK(two->token == "word");
}

TEST_CASE("an unusable kubeconfig is refused by name") {
  CHECK(read_kubeconfig(kubeconfig(), "it", "five").error().code == Errc::not_found);
  CHECK(read_kubeconfig(kubeconfig(), "it", "four").error().code == Errc::malformed);
  CHECK(read_kubeconfig(kubeconfig(), "it", "three").error().code == Errc::unsupported);
  Json open = kubeconfig();
  open["clusters"][0]["cluster"]["insecure-skip-tls-verify"] = true;
  CHECK(read_kubeconfig(open, "it", "").error().code == Errc::denied);
  Json broken = kubeconfig();
  broken["users"][0]["user"]["client-key-data"] = "!";
  CHECK(read_kubeconfig(broken, "it", "").error().code == Errc::malformed);
  CHECK_FALSE(read_kubeconfig(Json::array(), "it", ""));
  Json user = kubeconfig();
  user["users"][0]["user"]["as"] = "somebody";
  CHECK(read_kubeconfig(user, "it", "").error().code == Errc::unsupported);
  Json half = kubeconfig();
  half["users"][0]["user"].erase("client-key-data");
  CHECK(read_kubeconfig(half, "it", "").error().what == "the user's client-certificate has no client-key");
}

TEST_CASE("the name of the cluster's certificate is respected, and a proxy before it is refused") {
  Json config = kubeconfig();
  Json& cluster = config["clusters"][0]["cluster"];
  cluster["tls-server-name"] = "kube.teleport.example.com";
  const auto one = read_kubeconfig(config, "it", "");
  REQUIRE_MESSAGE(one, one.error().message());
  CHECK(one->server_name == "kube.teleport.example.com");
  cluster["proxy-url"] = "socks5://127.0.0.1:1080";
  CHECK(read_kubeconfig(config, "it", "").error().code == Errc::unsupported);
}

TEST_CASE("an unreachable API server's error names a configured proxy, because wattle ignores it") {
  const cli::test::Folder folder;
  const std::string file = unreachable(folder, "{token: word}");
  cli::test::Outside outside;
  const std::vector<std::string> command{"status", "--kubeconfig", file, "--context", "one"};
  CHECK(outside.run(command) != kOk);
  CHECK_FALSE(outside.complains_of("proxy"));
  CHECK_FALSE(outside.complains_of("PROXY"));
  outside.variables["HTTPS_PROXY"] = "http://proxy.example:3128";
  CHECK(outside.run(command) != kOk);
  CHECK_MESSAGE(outside.complains_of("HTTPS_PROXY is set, but wattle connects to API servers directly"),
                outside.err.str());
}

TEST_CASE("a value that YAML does not read as text is refused by its key, as by kubectl") {
  const auto refused = [](const char* key, auto change) {
    Json config = kubeconfig();
    change(config);
    const auto read = read_kubeconfig(config, "it", "");
    CAPTURE(key);
    REQUIRE_FALSE(read);
    CHECK(read.error().code == Errc::malformed);
    CHECK(read.error().what == std::string(key) + " is not text");
    CHECK(read.error().fix.find("quotes") != std::string::npos);
  };
  refused("current-context", [](Json& config) { config["current-context"] = 1e3; });
  refused("cluster", [](Json& config) { config["contexts"][0]["context"]["cluster"] = 12; });
  refused("server", [](Json& config) { config["clusters"][0]["cluster"]["server"] = true; });
  refused("token", [](Json& config) { config["users"][0]["user"]["token"] = 123456; });
  refused("tokenFile", [](Json& config) { config["users"][0]["user"]["tokenFile"] = Json::array(); });
  CHECK(merged({Json{{"current-context", ""}}, Json{{"current-context", 12}}})["current-context"] == 12);
  Json exec = {{"apiVersion", "client.authentication.k8s.io/v1"}, {"command", "login"}};
  exec["args"] = {"--port", 8080};
  CHECK(read_exec(View(exec), "it").error().what.find("an argument that is not text") != std::string::npos);
  exec["args"] = {"--port", "8080"};
  exec["env"] = {{{"name", "DEBUG"}, {"value", true}}};
  CHECK(read_exec(View(exec), "it").error().what.find("a variable that is not text") != std::string::npos);
}

TEST_CASE("a token takes precedence over a login program, and a server without a scheme is reached by https") {
  Json config = kubeconfig();
  config["users"][2]["user"]["exec"] = {{"apiVersion", "client.authentication.k8s.io/v1"}, {"command", "aws"}};
  config["users"][2]["user"]["tokenFile"] = "/run/token";
  config["clusters"][1]["cluster"]["server"] = "10.0.0.2:6443";
  const auto three = read_kubeconfig(config, "it", "three");
  REQUIRE_MESSAGE(three, three.error().message());
  CHECK_FALSE(three->exec);
  CHECK(three->token_file == "/run/token");
  CHECK(three->server == "https://10.0.0.2:6443");
}

TEST_CASE("several kubeconfigs are merged: the first entry of a name wins, and paths are relative to their own file") {
  const auto read = [](const std::string& text) { return parse_yaml(text, "it").value().at(0); };
  const Json first = with_paths_from(read(R"(
clusters: [{name: c1, cluster: {server: "https://one", certificate-authority: pki/ca.pem}}]
users: [{name: u1, user: {client-certificate: own.pem, client-key: /abs/own.key, tokenFile: token}}]
)"),
                                     "/srv/kube/first");
  const Json second = with_paths_from(read(R"(
current-context: two
clusters:
  - {name: c1, cluster: {server: "https://elsewhere", tls-server-name: other}}
  - {name: c2, cluster: {server: "https://two"}}
users:
  - {name: u2, user: {exec: {apiVersion: client.authentication.k8s.io/v1, command: ./bin/login}}}
  - {name: u3, user: {exec: {apiVersion: client.authentication.k8s.io/v1, command: login}}}
contexts:
  - {name: one, context: {cluster: c1, user: u1}}
  - {name: two, context: {cluster: c2, user: u2}}
  - {name: three, context: {cluster: c2, user: u3}}
)"),
                                      "conf/second");
  const Json third = read("current-context: one\nclusters: null\n");
  const Json all = merged({first, second, third});
  const auto two = read_kubeconfig(all, "it", "");
  REQUIRE_MESSAGE(two, two.error().message());
  CHECK(two->server == "https://two");
  REQUIRE(two->exec);
  CHECK(two->exec->words.front() == "conf/./bin/login");
  CHECK(read_kubeconfig(all, "it", "three")->exec->words.front() == "login");
  const auto one = read_kubeconfig(all, "it", "one");
  REQUIRE_MESSAGE(one, one.error().message());
  CHECK(one->server == "https://one");
  CHECK(one->server_name.empty());
  CHECK(one->ca_file == "/srv/kube/pki/ca.pem");
  CHECK(one->certificate_file == "/srv/kube/own.pem");
  CHECK(one->key_file == "/abs/own.key");
  CHECK(one->token_file == "/srv/kube/token");
}

TEST_CASE("missing files of KUBECONFIG are skipped if at least one exists") {
  const cli::test::Folder folder;
  REQUIRE(write_file_atomically(
      folder / "there",
      R"({"current-context": "a", "contexts": [{"name": "a", "context": {"cluster": "a", "user": "a"}}],
    "clusters": [{"name": "a", "cluster": {"server": "https://one"}}], "users": [{"name": "a", "user": {"token": "word"}}]})",
      0600));
  REQUIRE(write_file_atomically(folder / "list", "- 1\n", 0600));
  const auto load = [&](const std::string& paths) { return load_kubeconfig(paths, ""); };
  CHECK(load((folder / "absent") + ":" + (folder / "there") + ":")->server == "https://one");
  CHECK(load((folder / "absent") + ":" + (folder / "neither")).error().code == Errc::not_found);
  CHECK(load((folder / "there") + ":" + (folder / "list")).error().code == Errc::malformed);
  CHECK(load(":").error().code == Errc::malformed);
}

TEST_CASE("a login program is read from the kubeconfig, and its result from its ExecCredential") {
  Json config = kubeconfig();
  config["users"][2]["user"]["exec"] = {{"apiVersion", "client.authentication.k8s.io/v1beta1"},
                                        {"command", "aws"},
                                        {"args", {"eks", "get-token"}},
                                        {"env", {{{"name", "AWS_PROFILE"}, {"value", "shop"}}}},
                                        {"provideClusterInfo", true}};
  const auto three = read_kubeconfig(config, "it", "three");
  REQUIRE_MESSAGE(three, three.error().message());
  REQUIRE(three->exec);
  CHECK(three->exec->words == std::vector<std::string>{"aws", "eks", "get-token"});
  CHECK(three->exec->environment.front() == std::pair<std::string, std::string>("AWS_PROFILE", "shop"));
  CHECK(three->exec->wants_cluster);
  CHECK(three->exec->cluster.server == "https://10.0.0.2:6443");
  CHECK(three->exec->interactive == ExecLogin::Interactive::if_available);
  Json& exec = config["users"][2]["user"]["exec"];
  for (const auto& [word, meant] : std::vector<std::pair<std::string, ExecLogin::Interactive>>{
           {"Never", ExecLogin::Interactive::never}, {"Always", ExecLogin::Interactive::always}}) {
    exec["interactiveMode"] = word;
    CHECK(read_kubeconfig(config, "it", "three")->exec->interactive == meant);
  }
  exec["interactiveMode"] = "Sometimes";
  CHECK(read_kubeconfig(config, "it", "three").error().code == Errc::malformed);
  const auto credential = [&](const std::string& status, const std::string& version = "v1beta1") {
    return parse_exec_credential(R"({"kind": "ExecCredential", "apiVersion": "client.authentication.k8s.io/)" +
                                     version + R"(", "status": )" + status + "}",
                                 *three->exec);
  };
  const auto token = credential(R"({"token": "word", "expirationTimestamp": "2026-01-01T00:00:00Z"})");
  REQUIRE_MESSAGE(token, token.error().message());
  CHECK(token->token == "word");
  CHECK(token->expires_s == 1767225600);
  CHECK(credential(R"({"token": "w", "expirationTimestamp": "2026-01-01T01:00:00.5+01:00"})")->expires_s == 1767225600);
  CHECK_FALSE(credential(R"({"clientCertificateData": "c", "clientKeyData": "k"})")->expires_s);
  CHECK(credential(R"({"clientCertificateData": "c"})").error().code == Errc::malformed);
  CHECK(credential(R"({"token": "w", "expirationTimestamp": "soon"})").error().code == Errc::malformed);
  CHECK(credential(R"({"token": "w"})", "v1").error().code == Errc::malformed);
  CHECK(parse_exec_credential("{", *three->exec).error().code == Errc::malformed);
}

TEST_CASE("a login is the standard output of its program, which gets the cluster if it asks for it") {
  ExecLogin login;
  login.api_version = "client.authentication.k8s.io/v1";
  login.wants_cluster = true;
  login.cluster = {"https://one", "name.example", "pem", Json{{"region", "eu"}}};
  login.environment = {{"WORD", "secret"}};
  login.words = {
      "/bin/sh", "-c",
      R"(case "$KUBERNETES_EXEC_INFO" in *'"interactive":false'*'"server":"https://one","tls-server-name":"name.example","certificate-authority-data":"cGVt","config":{"region":"eu"}'*) ;; *) exit 3 ;; esac; echo noise >&2
echo "{\"kind\": \"ExecCredential\", \"apiVersion\": \"client.authentication.k8s.io/v1\", \"status\": {\"token\": \"$WORD\"}}")"};
  const auto in = log_in(login, false);
  REQUIRE_MESSAGE(in, in.error().message());
  CHECK(in->token == "secret");
  login.cluster.server = "https://two";
  CHECK(log_in(login, false).error().code == Errc::denied);
  login.wants_cluster = false;
  CHECK(log_in(login, false).error().code == Errc::denied);
  login.interactive = ExecLogin::Interactive::always;
  CHECK(log_in(login, false).error().what.find("interactiveMode: Always") != std::string::npos);
  login.interactive = ExecLogin::Interactive::never;
  login.words = {"/no/such/plugin"};
  login.install_hint = "install it";
  CHECK(log_in(login, false).error().code == Errc::not_found);
  CHECK(log_in(login, false).error().fix == "install it");
  login.install_hint.clear();
  CHECK(log_in(login, false).error().fix == "install it or add its folder to PATH");
  login.words = {"/etc"};
  CHECK(log_in(login, false).error().code == Errc::denied);
  login.words = {"/bin/sh", "-c", "exit 127"};  // the shell exists, and its command does not
  CHECK(log_in(login, false).error().what == "failed with exit code 127");
}

TEST_CASE("a program that does not end is ended with an error, and one whose helper stays is not waited for") {
  const auto late = output_of({"/bin/sh", "-c", "exec sleep 3600"}, {}, false, std::chrono::seconds(1));
  CHECK(late.error().code == Errc::timeout);
  CHECK(late.error().subject == "/bin/sh");
  const auto flood = output_of({"/bin/sh", "-c", "exec yes"}, {}, false, std::chrono::seconds(1));
  CHECK(flood.error().code == Errc::timeout);
  const auto helped = output_of({"/bin/sh", "-c", "sleep 3600 & echo $!"}, {});
  REQUIRE(helped);
  CHECK(helped->code == 0);
  const auto helper = parse::integer<pid_t>(parse::trim(helped->said));
  REQUIRE(helper);
  CHECK(::kill(*helper, SIGKILL) == 0);
  const auto closed = output_of({"/bin/sh", "-c", "echo said; exec >&-; exit 4"}, {}, false, std::chrono::seconds(60));
  REQUIRE(closed);
  CHECK(closed->said == "said\n");
  CHECK(closed->code == 4);
  const auto much = output_of({"/bin/sh", "-c", "yes | head -c 300000"}, {});
  REQUIRE(much);
  CHECK(much->said.size() == 300'000);
}

TEST_CASE("suggestions come from below the path of the controller's address") {
  const cli::test::Folder folder;
  const std::string file = unreachable(folder, "{token: word}");
  const auto complaint = [&](const std::string& from) {
    cli::test::Outside outside;
    CHECK(outside.run({"provision", "set", "--kubeconfig", file, "--namespace", "shop", "--from", from}) != kOk);
    return outside.err.str();
  };
  for (const char* from : {"http://127.0.0.1:1/tools/wattle", "http://127.0.0.1:1/tools/wattle/"})
    CHECK_MESSAGE(complaint(from).find("127.0.0.1:1/tools/wattle/api/v1/provision?") != std::string::npos,
                  complaint(from));
  CHECK(complaint("http://127.0.0.1:1/").find("127.0.0.1:1/api/v1/provision?") != std::string::npos);
  CHECK(complaint("http://127.0.0.1:1/?a=b").find("contains a query") != std::string::npos);
}

TEST_CASE("an inline token replaces a token file that cannot be read, and otherwise the file takes precedence") {
  const cli::test::Folder folder;
  const auto complaint = [&](const std::string& user) {
    const std::string file = unreachable(folder, user);
    cli::test::Outside outside;
    CHECK(outside.run({"status", "--kubeconfig", file, "--context", "one"}) != kOk);
    return outside.err.str();
  };
  REQUIRE(write_file_atomically(folder.path + "/empty", "\n", 0600));
  REQUIRE(write_file_atomically(folder.path + "/two", "two words\n", 0600));
  const std::string absent = complaint("{tokenFile: absent}");
  CHECK_MESSAGE(absent.find("absent") != std::string::npos, absent);
  CHECK(complaint("{token: word, tokenFile: absent}").find("127.0.0.1:1") != std::string::npos);
  CHECK(complaint("{token: word, tokenFile: empty}").find("127.0.0.1:1") != std::string::npos);
  CHECK(complaint("{token: word, tokenFile: two}").find("contains no token") != std::string::npos);
}

TEST_CASE("without a cluster, keys bootstrap says how to reach one") {
  cli::test::Outside outside;
  const cli::test::Folder folder;
  CHECK(outside.run({"keys", "bootstrap", "--kubeconfig", folder / "absent"}) == kUsage);
  CHECK(outside.run({"keys", "bootstrap", "--namespace", "Not,One"}) == kUsage);
  CHECK(outside.complains_of("is not a valid namespace"));
}

TEST_CASE("the ports of kubectl port-forward are parsed from its output, in any order and among other lines") {
  const std::string both =
      "Forwarding from 127.0.0.1:40001 -> 7462\nForwarding from [::1]:40001 -> 7462\n"
      "Forwarding from 127.0.0.1:40002 -> 7461\n";
  CHECK(forwarded_port(both, 7462) == "40001");
  CHECK(forwarded_port(both, 7461) == "40002");
  CHECK(forwarded_port("Handling connection for 40001\n" + both, 7461) == "40002");
  CHECK(forwarded_port("", 7462).empty());
  CHECK(forwarded_port("Forwarding from 127.0.0.1:40001 -> 7462\n", 7461).empty());
  CHECK(forwarded_port("error: Forwarding from 127.0.0.1:1 -> 7462\n", 7462).empty());
}

TEST_CASE("a missing kubeconfig is an error that names the file") {
  cli::test::Outside outside;
  const cli::test::Folder folder;
  CHECK(outside.run({"nodes", "--context", "there", "--kubeconfig", folder / "absent"}) == kUsage);
  CHECK(outside.complains_of(folder / "absent"));
}

TEST_CASE("keys unpack copies a Secret's files so that only their user can read them, and allows the given key") {
  cli::test::Outside outside;
  const cli::test::Folder folder;
  const std::string key(40, 'a'), other(40, 'b');
  REQUIRE(make_dirs(folder / "secret/..data"));
  REQUIRE(make_dirs(folder / "run"));
  REQUIRE(write_file_atomically(folder / "secret/controller.key", "secret\n", 0440));
  REQUIRE(write_file_atomically(folder / "secret/allow",
                                key + " shim wattle-scheduler\n" + other + " operator operator\n"));
  const std::vector<std::string> words{"keys",         "unpack",       folder / "secret",
                                       folder / "run", "--allow-list", folder / "allow"};
  REQUIRE(outside.run(words) == kOk);
  CHECK((std::filesystem::status(folder / "run/controller.key").permissions() & std::filesystem::perms::all) ==
        std::filesystem::perms::owner_read);
  const auto list = [&] { return Dir::open_(folder / "")->read_file("allow").value(); };
  CHECK(list().find(key + " shim wattle-scheduler\n") != std::string::npos);
  SUBCASE("a repetition changes nothing") {
    const std::string before = list();
    REQUIRE(outside.run(words) == kOk);
    CHECK(list() == before);
  }
  SUBCASE("a revoked key stays revoked") {
    REQUIRE(outside.run({"keys", "revoke", "--allow-list", folder / "allow", "operator"}) == kOk);
    const std::string before = list();
    REQUIRE(outside.run(words) == kOk);
    CHECK(list() == before);
    CHECK(outside.out.str().find("refuses the revoked key") != std::string::npos);
  }
  SUBCASE("a folder without files is not a Secret") {
    CHECK(outside.run({"keys", "unpack", folder / "secret/..data", folder / "run"}) == kProblem);
  }
}
