// `wattle keys token`: tokens with which nodes enrol, as a file of their hashes.
#include <CLI/CLI.hpp>
#include <array>
#include <ostream>

#include "cli/keys.hpp"
#include "cli/parts.hpp"
#include "cli/show.hpp"
#include "cli/table.hpp"
#include "common/clock.hpp"
#include "common/dir.hpp"
#include "common/enrol_tokens.hpp"
#include "common/json/value.hpp"
#include "common/overwrite.hpp"
#include "common/parse.hpp"
#include "common/transport/allow_edit.hpp"

namespace wattle::cli {

namespace {

constexpr double kLongest_s = 366.0 * 86'400;

std::int64_t now_s() { return to_ns(SystemClock().wall()) / 1'000'000'000; }

// Accepts "36h" and "7d" in addition to the units of configurations.
std::optional<double> span_s(const std::string& text) {
  if (!text.ends_with('d')) return parse::duration_s(text);
  const auto days = parse::real(text.substr(0, text.size() - 1));
  return days ? std::optional<double>(*days * 86'400) : std::nullopt;
}

Status make_token_file(const Arguments& arguments, std::ostream& out) {
  const std::string& node = arguments.words[0];
  WATTLE_TRY(const MadeToken made, make_token(node, arguments.valid, arguments.replace));
  // Writes the token first: a token without its line is harmless, but a line without its token is useless.
  WATTLE_CHECK(write_file_atomically(arguments.words[1], made.secret + "\n", 0400));
  WATTLE_CHECK(add_token(arguments.tokens, made.line));
  out << arguments.words[1] << ": token " << made.line.id() << " for node " << node
      << ", mode 0400, valid for one use within " << arguments.valid << "\n";
  return {};
}

int new_token(const Invocation& invocation) {
  const Status made = make_token_file(invocation.arguments, invocation.around.out);
  if (made) return kOk;
  return complain(invocation, made.error(), made.error().code == Errc::malformed ? kUsage : kProblem);
}

std::string state_of(const EnrolToken& token) {
  if (!token.used_by.empty()) return "used by " + token.used_by;
  return token.expires_s <= now_s() ? "expired" : "open";
}

int list_tokens(const Invocation& invocation) {
  const std::string& path = invocation.arguments.tokens;
  const auto text = read_enrol_file(path);
  if (!text) return complain(invocation, text.error(), kUsage);
  const auto tokens = parse_enrol_tokens(*text, path);
  if (!tokens) return complain(invocation, tokens.error(), kUsage);
  Json document{{"tokens", Json::array()}};
  Table table{{{"TOKEN"}, {"NODE"}, {"STATE"}}, {}};
  for (const EnrolToken& token : *tokens) {
    document["tokens"].push_back({{"id", token.id()},
                                  {"node", token.node},
                                  {"expires_s", token.expires_s},
                                  {"replace", token.replace},
                                  {"used_by", token.used_by},
                                  {"state", state_of(token)}});
    table.rows.push_back({token.id(), token.node, state_of(token) + (token.replace ? ", may replace a key" : "")});
  }
  const auto printed = print(invocation, document, [&](const Json&, const Style& style) -> Result<std::string> {
    if (tokens->empty()) return path + ": no tokens\n";
    return to_text(table, style.colour);
  });
  return printed ? kOk : complain(invocation, printed.error(), kProblem);
}

Status drop(const Arguments& arguments, std::ostream& out) {
  const std::string& whose = arguments.words[0];
  WATTLE_TRY(const Fd held, transport::lock_list(arguments.tokens));
  WATTLE_TRY(std::string text, read_enrol_file(arguments.tokens));
  WATTLE_TRY(const auto tokens, parse_enrol_tokens(text, arguments.tokens));
  std::size_t gone = 0;
  for (const EnrolToken& token : tokens) {
    if (token.id() != whose && token.node != whose) continue;
    text = without_enrol_token(text, token.hash);
    out << arguments.tokens << ": token " << token.id() << " of node " << token.node << " revoked\n";
    ++gone;
  }
  if (gone == 0)
    return fail(Errc::not_found, arguments.tokens, "'" + whose + "' not found: the file has no such token or node",
                "list tokens with `wattle keys token list`");
  const Status written = write_file_atomically(arguments.tokens, text, 0644);
  return !written && written.error().code == Errc::exhausted ? overwrite_in_place(arguments.tokens, text) : written;
}

int revoke_tokens(const Invocation& invocation) {
  const Status dropped = drop(invocation.arguments, invocation.around.out);
  return dropped ? kOk : complain(invocation, dropped.error(), kProblem);
}

constexpr std::array kTokenActions{
    KeysAction{"token new", "Create a token for NODE in FILE, valid for one use", new_token},
    KeysAction{"token list", "List tokens without their secrets", list_tokens},
    KeysAction{"token revoke", "Revoke a token, or all tokens of a node", revoke_tokens}};

}  // namespace

Result<MadeToken> make_token(const std::string& node, const std::string& valid, bool replace) {
  const auto valid_s = span_s(valid);
  if (!valid_s || !(*valid_s >= 1 && *valid_s <= kLongest_s))
    return fail(Errc::malformed, "--valid", "'" + valid + "' is not a duration of 1s to 366d", "for example 36h or 7d");
  if (node != kAnyNode && !transport::Identity::from_user_id("agent/" + node))
    return fail(Errc::malformed, node, "is not a valid node name", "use letters, digits, '.', '-', '_'");
  MadeToken made;
  WATTLE_TRY(made.secret, make_enrol_token());
  made.line.hash = enrol_hash(made.secret);
  made.line.node = node;
  made.line.expires_s = now_s() + static_cast<std::int64_t>(*valid_s);
  made.line.replace = replace;
  return made;
}

Status add_token(const std::string& tokens_file, const EnrolToken& line) {
  WATTLE_TRY(const Fd held, transport::lock_list(tokens_file));
  WATTLE_TRY(const std::string text, read_enrol_file(tokens_file));
  WATTLE_CHECK(parse_enrol_tokens(text, tokens_file));
  return write_file_atomically(tokens_file, with_enrol_token(text, line), 0644);
}

void declare_tokens(CLI::App& keys, Arguments& arguments) {
  auto* token =
      keys.add_subcommand("token", "Manage the tokens that nodes use to enrol (enrol.tokens of the controller)");
  token->require_subcommand(1);
  token->fallthrough();
  for (const KeysAction& action : kTokenActions) {
    const std::string name(action.name.substr(action.name.find(' ') + 1));
    auto* sub = token->add_subcommand(name, std::string(action.help));
    sub->fallthrough();
    sub->callback([&arguments, name = action.name] { arguments.action = name; });
    sub->add_option("--tokens", arguments.tokens, "Controller's file of tokens")->type_name("FILE")->required();
    if (name == "revoke") sub->add_option("TOKEN|NODE", arguments.words, "Which")->required()->expected(1);
    if (name != "new") continue;
    sub->add_option("NODE FILE", arguments.words, "Node of the token and file to create")
        ->type_name("FILE")
        ->required()
        ->expected(2);
    sub->add_option("--valid", arguments.valid, "Validity, for example 36h or 7d")->capture_default_str();
    sub->add_flag("--replace", arguments.replace, "Allow the node to replace its existing key");
  }
}

const KeysAction* token_action(std::string_view name) {
  for (const KeysAction& action : kTokenActions)
    if (action.name == name) return &action;
  return nullptr;
}

}  // namespace wattle::cli
