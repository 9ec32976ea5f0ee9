// `wattle keys token`: tokens with which nodes enrol, as a file of their hashes.
#include <sys/socket.h>

#include <array>
#include <ostream>

#include "cli/controller_files.hpp"
#include "cli/declare.hpp"
#include "cli/keys.hpp"
#include "cli/parts.hpp"
#include "cli/process.hpp"
#include "cli/show.hpp"
#include "cli/table.hpp"
#include "common/dir.hpp"
#include "common/enrol_tokens.hpp"
#include "common/host_name.hpp"
#include "common/http/certificate.hpp"
#include "common/join_token.hpp"
#include "common/net_address.hpp"
#include "common/overwrite.hpp"
#include "common/parse.hpp"
#include "common/transport/allow_edit.hpp"
#include "common/transport/keys.hpp"

namespace wattle::cli {

namespace {

constexpr double kLongest_s = 366.0 * 86'400;

// Accepts "36h" and "7d" in addition to the units of configurations.
std::optional<double> span_s(const std::string& text) {
  if (!text.ends_with('d')) return parse::duration_s(text);
  const auto days = parse::real(text.substr(0, text.size() - 1));
  return days ? std::optional<double>(*days * 86'400) : std::nullopt;
}

struct TokensOptions {
  std::string tokens, controller_file;
};

struct NewTokenOptions : TokensOptions {
  std::string node{kAnyNode}, file, address, valid;
  bool replace = false;
};

// Returns the given file of tokens, or that of the controller's configuration.
Result<std::string> tokens_file(const TokensOptions& options) {
  if (!options.tokens.empty()) return options.tokens;
  WATTLE_TRY(const ControllerFiles files, load_controller_files(options.controller_file));
  if (files.tokens.empty())
    return fail(Errc::not_found, options.controller_file, "enrolment with tokens is not configured",
                "set enrol.tokens, or pass --tokens FILE");
  return files.tokens;
}

// A new token and its line in the controller's file.
struct MadeToken {
  EnrolToken line;
  std::string secret;
};

Result<MadeToken> make_token(const NewTokenOptions& options, const std::string& valid) {
  const auto valid_s = span_s(valid);
  if (!valid_s || !(*valid_s >= 1 && *valid_s <= kLongest_s))
    return fail(Errc::malformed, "--valid", "'" + valid + "' is not a duration of 1s to 366d", "for example 36h or 7d");
  if (options.node != kAnyNode && !transport::Identity::from_user_id("agent/" + options.node))
    return fail(Errc::malformed, options.node, "is not a valid node name", "use letters, digits, '.', '-', '_'");
  MadeToken made;
  WATTLE_TRY(made.secret, make_enrol_token());
  made.line.hash = enrol_hash(made.secret);
  made.line.node = options.node;
  made.line.expires_s = unix_now_s() + static_cast<std::int64_t>(*valid_s);
  made.line.replace = options.replace;
  return made;
}

Status add_token(const std::string& path, const EnrolToken& line) {
  WATTLE_TRY(const Fd held, transport::lock_list(path));
  WATTLE_TRY(const std::string text, read_enrol_file(path));
  WATTLE_CHECK(parse_enrol_tokens(text, path));
  return write_file_atomically(path, with_enrol_token(text, line), 0644);
}

// Writes the token to a file, for agents whose configuration names it.
Status make_token_file(const NewTokenOptions& options, const std::string& tokens, std::ostream& out) {
  const std::string valid = options.valid.empty() ? "24h" : options.valid;
  WATTLE_TRY(const MadeToken made, make_token(options, valid));
  // Writes the token first: a token without its line is harmless, but a line without its token is useless.
  WATTLE_CHECK(write_file_atomically(options.file, made.secret + "\n", 0400));
  WATTLE_CHECK(add_token(tokens, made.line));
  out << options.file << ": token " << made.line.id() << " for node " << options.node
      << ", mode 0400, valid for one use within " << valid << "\n";
  return {};
}

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
Result<std::string> address_of(std::string host, const ControllerFiles& files) {
  const bool any = files.enrol_address == "0.0.0.0" || files.enrol_address == "::";
  if (host.empty()) host = any ? own_address() : files.enrol_address;
  if (host.empty()) host = host_name();
  if (!is_host(host))
    return fail(Errc::malformed, "--address", "'" + host + "' is not a host name or address",
                "for example controller.example");
  return host;
}

// Prints the token with all that a machine needs to join.
Status print_token(const Invocation& invocation, const NewTokenOptions& options) {
  WATTLE_TRY(const ControllerFiles files, load_controller_files(options.controller_file));
  if (files.tokens.empty() || files.certificate.empty())
    return fail(
        Errc::not_found, options.controller_file, "enrolment with tokens over TLS is not configured",
        "set enrol.tokens and enrol.tls, then run wattle keys controller and systemctl restart wattle-controller");
  JoinToken join;
  WATTLE_TRY(join.host, address_of(options.address, files));
  join.enrol_port = files.enrol_port;
  join.telemetry_port = files.telemetry_port;
  WATTLE_TRY(const auto keys, transport::load_server_keys(files.key + ".pub"));
  join.server_key = keys.current;
  WATTLE_TRY(join.fingerprint, http::certificate_file_fingerprint(files.certificate));
  const std::string valid = options.valid.empty() ? "15m" : options.valid;
  WATTLE_TRY(MadeToken made, make_token(options, valid));
  if (made.line.replace && options.node == kAnyNode)
    return fail(Errc::malformed, "--replace", "needs a node", "use wattle keys token new --replace NODE");
  WATTLE_CHECK(add_token(options.tokens.empty() ? files.tokens : options.tokens, made.line));
  join.secret = made.secret;
  invocation.around.err << "The token is valid for one use within " << valid << ", for "
                        << (options.node == kAnyNode ? "any machine that is not a node yet" : "node " + options.node)
                        << " that can reach " << join.host << ":" << join.enrol_port << " and "
                        << join.telemetry_endpoint()
                        << ". On that machine, run as root: wattle join - (then paste the token)\n";
  invocation.around.out << to_text(join) << "\n";
  return {};
}

Outcome new_token(const Invocation& invocation, const NewTokenOptions& options) {
  if (options.file.empty()) return misuse_if_malformed(print_token(invocation, options));
  WATTLE_TRY(const std::string tokens, as_misuse(tokens_file(options)));
  return misuse_if_malformed(make_token_file(options, tokens, invocation.around.out));
}

std::string state_of(const EnrolToken& token) {
  if (!token.used_by.empty()) return "used by " + token.used_by;
  return token.expires_s <= unix_now_s() ? "expired" : "open";
}

Outcome list_tokens(const Invocation& invocation, const TokensOptions& options) {
  WATTLE_TRY(const std::string path, as_misuse(tokens_file(options)));
  WATTLE_TRY(const std::string text, as_misuse(read_enrol_file(path)));
  WATTLE_TRY(const auto tokens, as_misuse(parse_enrol_tokens(text, path)));
  Json document{{"tokens", Json::array()}};
  Table table{{"TOKEN", "NODE", "STATE"}, {}};
  for (const EnrolToken& token : tokens) {
    document["tokens"].push_back({{"id", token.id()},
                                  {"node", token.node},
                                  {"expires_s", token.expires_s},
                                  {"replace", token.replace},
                                  {"used_by", token.used_by},
                                  {"state", state_of(token)}});
    table.rows.push_back({token.id(), token.node, state_of(token) + (token.replace ? ", may replace a key" : "")});
  }
  WATTLE_CHECK(print(invocation, document, [&](const Json&, const Style& style) -> Result<std::string> {
    if (tokens.empty()) return path + ": no tokens\n";
    return to_text(table, style.colour);
  }));
  return kOk;
}

struct RevokeTokenOptions : TokensOptions {
  std::string which;
};

Outcome revoke_tokens(const Invocation& invocation, const RevokeTokenOptions& options) {
  const std::string& which = options.which;
  WATTLE_TRY(const std::string path, as_misuse(tokens_file(options)));
  WATTLE_TRY(const Fd held, transport::lock_list(path));
  WATTLE_TRY(std::string text, read_enrol_file(path));
  WATTLE_TRY(const auto tokens, parse_enrol_tokens(text, path));
  std::size_t gone = 0;
  for (const EnrolToken& token : tokens) {
    if (token.id() != which && token.node != which) continue;
    text = without_enrol_token(text, token.hash);
    invocation.around.out << path << ": token " << token.id() << " of node " << token.node << " revoked\n";
    ++gone;
  }
  if (gone == 0)
    return fail(Errc::not_found, path, "'" + which + "' not found: the file has no such token or node",
                "list tokens with `wattle keys token list`");
  Status written = write_file_atomically(path, text, 0644);
  if (!written && written.error().code == Errc::exhausted) written = overwrite_in_place(path, text);
  WATTLE_CHECK(written);
  return kOk;
}

void declare_tokens_file(CLI::App& command, TokensOptions& options) {
  command.add_option("--tokens", options.tokens, "File of tokens (default: enrol.tokens of the configuration)")
      ->type_name("FILE");
  declare_controller_file(command, options.controller_file);
}

void declare_token_new(CLI::App& command, Run& chosen) {
  auto& options = runs(command, chosen, new_token);
  command.add_option("NODE", options.node, "Node that may use the token (default: any machine that is not a node yet)");
  command
      .add_option("FILE", options.file,
                  "File to create with the token alone, for an agent's configuration (default: print the token "
                  "for wattle join)")
      ->type_name("FILE");
  command.add_option("--address", options.address,
                     "Address under which machines reach the controller (default: this machine's address)");
  command.add_option("--valid", options.valid, "Validity, for example 36h or 7d (default: 15m; with FILE 24h)");
  command.add_flag("--replace", options.replace, "Allow NODE to replace its existing key");
  declare_tokens_file(command, options);
}

void declare_token_list(CLI::App& command, Run& chosen) {
  declare_tokens_file(command, runs(command, chosen, list_tokens));
}

void declare_token_revoke(CLI::App& command, Run& chosen) {
  auto& options = runs(command, chosen, revoke_tokens);
  command.add_option("TOKEN|NODE", options.which, "Token, or node whose tokens to revoke")->required();
  declare_tokens_file(command, options);
}

constexpr std::array kTokenCommands{Command{"new", "Create a token for a node, valid for one use", declare_token_new},
                                    Command{"list", "List tokens without their secrets", declare_token_list},
                                    Command{"revoke", "Revoke a token, or all tokens of a node", declare_token_revoke}};

}  // namespace

void declare_tokens(CLI::App& command, Run& chosen) { add_commands(command, kTokenCommands, chosen); }

}  // namespace wattle::cli
