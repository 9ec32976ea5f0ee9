#include "cli/cluster.hpp"

#include <doctest/doctest.h>

#include "common/dir.hpp"
#include "common/json/value.hpp"
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

}  // namespace

TEST_CASE("a kubeconfig gives server, authority and login of a context") {
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

TEST_CASE("a kubeconfig that cannot be followed is refused by name") {
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
}

TEST_CASE("a program that logs in is read from the kubeconfig, and what it gives from its ExecCredential") {
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

TEST_CASE("a login is the standard output of its program, which is told about the cluster") {
  ExecLogin login;
  login.api_version = "client.authentication.k8s.io/v1";
  login.wants_cluster = true;
  login.environment = {{"WORD", "secret"}};
  login.words = {"/bin/sh", "-c",
                 R"(case "$KUBERNETES_EXEC_INFO" in *'"server":"https://one"'*) ;; *) exit 3 ;; esac; echo noise >&2
echo "{\"kind\": \"ExecCredential\", \"apiVersion\": \"client.authentication.k8s.io/v1\", \"status\": {\"token\": \"$WORD\"}}")"};
  const auto in = log_in(login, "https://one", "pem");
  REQUIRE_MESSAGE(in, in.error().message());
  CHECK(in->token == "secret");
  CHECK(log_in(login, "https://two", "pem").error().code == Errc::denied);
  login.words = {"/no/such/plugin"};
  login.install_hint = "install it";
  CHECK(log_in(login, "", "").error().code == Errc::not_found);
  CHECK(log_in(login, "", "").error().mend == "install it");
}

TEST_CASE("keys bootstrap says how to reach a cluster when there is none") {
  cli::test::Outside outside;
  const cli::test::Folder folder;
  CHECK(outside.run({"keys", "bootstrap", "--kubeconfig", folder / "absent"}) == kUsage);
  CHECK(outside.run({"keys", "bootstrap", "--namespace", "Not,One"}) == kUsage);
  CHECK(outside.complains_of("is no namespace"));
}

TEST_CASE("keys unpack copies a Secret's files for their user alone, and allows whom it names") {
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
  SUBCASE("again, it changes nothing") {
    const std::string before = list();
    REQUIRE(outside.run(words) == kOk);
    CHECK(list() == before);
  }
  SUBCASE("a key that was revoked stays revoked") {
    REQUIRE(outside.run({"keys", "revoke", "--allow-list", folder / "allow", "operator"}) == kOk);
    const std::string before = list();
    REQUIRE(outside.run(words) == kOk);
    CHECK(list() == before);
    CHECK(outside.out.str().find("was told to refuse") != std::string::npos);
  }
  SUBCASE("a folder without files is no Secret") {
    CHECK(outside.run({"keys", "unpack", folder / "secret/..data", folder / "run"}) == kProblem);
  }
}
