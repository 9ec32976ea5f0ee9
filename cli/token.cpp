// token: `wattle token`: creates, on the controller's machine, a token with which one machine joins by `wattle join`.
#include <sys/socket.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <array>
#include <ostream>

#include "cli/commands.hpp"
#include "cli/controller_files.hpp"
#include "cli/keys.hpp"
#include "common/dir.hpp"
#include "common/http/certificate.hpp"
#include "common/join_token.hpp"
#include "common/net_address.hpp"
#include "common/transport/keys.hpp"

namespace wattle::cli {

namespace {

// Returns the local address for outgoing connections, IPv4 first, without sending packets. Empty if there is no route.
std::string own_address() {
  for (const char* documentation : {"192.0.2.1", "2001:db8::1"}) {
    const auto far = numeric_address(documentation, 9);
    if (!far) continue;
    const Fd fd(::socket(far->storage.ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    NetAddress own;
    own.length = sizeof own.storage;
    if (fd.valid() && ::connect(fd.get(), far->get(), far->length) == 0 &&
        ::getsockname(fd.get(), reinterpret_cast<sockaddr*>(&own.storage), &own.length) == 0)
      return own.host();
  }
  return {};
}

// Returns the controller's address for others: the given one, the bound address of enrolment, this machine's own, or
// its name.
Result<std::string> address_of(const Arguments& arguments, const ControllerFiles& files) {
  std::string host = arguments.address;
  const bool any = files.enrol_address == "0.0.0.0" || files.enrol_address == "::";
  if (host.empty()) host = any ? own_address() : files.enrol_address;
  if (host.empty()) {
    std::array<char, 256> name{};
    if (::gethostname(name.data(), name.size() - 1) == 0) host = name.data();
  }
  if (!is_host(host))
    return fail(Errc::malformed, "--address", "'" + host + "' is not a host name or address",
                "for example controller.example");
  return host;
}

Status print_token(const Invocation& invocation) {
  const Arguments& arguments = invocation.arguments;
  WATTLE_TRY(const ControllerFiles files, load_controller_files(arguments.controller_file));
  if (files.tokens.empty() || files.certificate.empty())
    return fail(
        Errc::not_found, arguments.controller_file, "enrolment with tokens over TLS is not configured",
        "set enrol.tokens and enrol.tls, then run wattle keys controller and systemctl restart wattle-controller");
  JoinToken join;
  WATTLE_TRY(join.host, address_of(arguments, files));
  join.enrol_port = files.enrol_port;
  join.telemetry_port = files.telemetry_port;
  WATTLE_TRY(const auto keys, transport::load_server_keys(files.key + ".pub"));
  join.server_key = keys.current;
  WATTLE_TRY(join.fingerprint, http::certificate_file_fingerprint(files.certificate));
  const std::string node = arguments.words.empty() ? std::string(kAnyNode) : arguments.words[0];
  WATTLE_TRY(MadeToken made, make_token(node, arguments.join_valid, arguments.replace));
  if (made.line.replace && node == kAnyNode)
    return fail(Errc::malformed, "--replace", "needs a node", "use wattle token --replace NODE");
  WATTLE_CHECK(add_token(files.tokens, made.line));
  join.secret = made.secret;
  invocation.around.err << "The token is valid for one use within " << arguments.join_valid << ", for "
                        << (node == kAnyNode ? "any machine that is not a node yet" : "node " + node)
                        << " that can reach " << join.host << ":" << join.enrol_port << " and "
                        << join.telemetry_endpoint()
                        << ". On that machine, run as root: wattle join - (then paste the token)\n";
  invocation.around.out << to_text(join) << "\n";
  return {};
}

}  // namespace

void declare_token(CLI::App& command, Arguments& arguments) {
  command
      .add_option("NODE", arguments.words, "Node that may use the token (default: any machine that is not a node yet)")
      ->expected(0, 1);
  command.add_option("--address", arguments.address,
                     "Address under which machines reach the controller (default: this machine's address)");
  command.add_option("--valid", arguments.join_valid, "Validity, for example 15m, 36h or 7d")->capture_default_str();
  command.add_flag("--replace", arguments.replace, "Allow NODE to replace its existing key");
  command.add_option("--config", arguments.controller_file, "Controller's configuration")
      ->type_name("FILE")
      ->capture_default_str();
}

int run_token(const Invocation& invocation) {
  const Status printed = print_token(invocation);
  if (printed) return kOk;
  return complain(invocation, printed.error(), printed.error().code == Errc::malformed ? kUsage : kProblem);
}

}  // namespace wattle::cli
