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
