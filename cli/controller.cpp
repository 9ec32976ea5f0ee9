#include "cli/controller.hpp"

#include <algorithm>
#include <optional>

#include "cli/show.hpp"

namespace wattle::cli {

namespace {
Result<transport::ClientOptions> client_options(const Settings& settings, const std::string& endpoint) {
  if (settings.route != nullptr) {
    transport::ClientOptions options;
    options.endpoint = endpoint;
    options.key = settings.route->key();
    options.server_key = settings.route->server_key();
    return options;
  }
  if (settings.key_file.empty())
    return fail(Errc::not_found, "--key", "no key file is configured",
                "pass --key FILE; create the file with `wattle keys new FILE`");
  if (settings.server_key_file.empty())
    return fail(Errc::not_found, "--server-key", "no file with the controller's public key is configured",
                "pass --server-key FILE");
  auto loaded = transport::KeyPair::load(settings.key_file);
  if (!loaded && !settings.found && loaded.error().code == Errc::not_found)
    return fail(
        Errc::not_found, "no configuration",
        "none of WATTLE_CONFIG, ~/.config/wattle/cli.yaml and /etc/wattle/cli.yaml names the controller",
        "`wattle up` and scripts/demo print one; `wattle keys controller` writes one on the controller's machine");
  WATTLE_TRY(transport::KeyPair key, std::move(loaded));
  transport::ClientOptions options;
  options.endpoint = endpoint;
  options.key = std::move(key);
  WATTLE_CHECK(options.read_server_keys(settings.server_key_file));
  return options;
}
}  // namespace

Result<Controller> Controller::open_(const Settings& settings) {
  WATTLE_TRY(const transport::ClientOptions options, client_options(settings, settings.server));
  auto context = std::make_unique<transport::Context>();
  WATTLE_TRY(transport::AskClient client, transport::AskClient::connect(*context, options));
  // While a server's key is replaced, the other key is tried after a refusal.
  if (options.next_server_key.empty()) client.give_up_when_refused();
  return Controller(settings, std::move(context), std::move(client));
}

namespace {
Error with_fix(Error error, const Settings& settings) {
  if (error.code == Errc::denied && error.fix.empty())
    error.fix =
        settings.route != nullptr
            ? "the key is that of " + settings.route->key_source() + "; --as-operator uses the operator's"
            : "your key file is " + settings.key_file + ", the server's key file is " + settings.server_key_file;
  if (error.code == Errc::timeout && error.fix.empty()) error.fix = "increase --timeout";
  return error;
}

// True for choices that every controller has, such as mode and reward: an unknown word is a usage error.
bool is_choice(const std::string& subject) { return subject.starts_with("policy "); }

// True if the controller refused an argument as mistyped. Damaged files and networks are not usage errors.
bool is_of_argument(const Error& error) {
  const std::string& subject = error.subject;
  if (error.code == Errc::not_found) return is_choice(subject);
  if (error.code != Errc::malformed && error.code != Errc::out_of_range) return false;
  return !subject.starts_with("/") && !subject.starts_with("model ") && subject != "trained network";
}

// Restores the controller's own error from its text, for example "not found: node a: no agent has registered (...)".
std::optional<Error> own_error(const Error& error, const std::string& subject) {
  if (error.subject != subject) return std::nullopt;
  for (int number = 0; number <= static_cast<int>(Errc::io); ++number) {
    const auto code = static_cast<Errc>(number);
    const std::string opening = std::string(to_string(code)) + ": ";
    if (!error.what.starts_with(opening)) continue;
    const auto colon = error.what.find(": ", opening.size());
    if (colon == std::string::npos) return std::nullopt;
    return Error{code, error.what.substr(opening.size(), colon - opening.size()), error.what.substr(colon + 2), ""};
  }
  return std::nullopt;
}

// Renders the subject "node a" of an unknown name as `node "a" not found`; leaves "gaps", which has no name.
Error with_quoted_name(Error error) {
  const auto blank = error.subject.find(' ');
  if (error.code != Errc::not_found || blank == std::string::npos || is_choice(error.subject)) return error;
  return unknown_name(error.subject.substr(0, blank), error.subject.substr(blank + 1), error.what, error.fix);
}
}  // namespace

Result<transport::Subscriber> Controller::listen(std::span<const std::string> topics) {
  WATTLE_TRY(const transport::ClientOptions options, client_options(settings_, settings_.feed));
  return transport::Subscriber::connect(*context_, options, topics);
}

Result<wire::Suggestion> Controller::place(const wire::Ask& ask) {
  // Queries first, because an ask fails until the link is up, and a query waits for the first attempt.
  WATTLE_CHECK(this->ask("status", {}));
  auto answer = client_.ask(ask, settings_.timeout);
  if (!answer) return tl::unexpected<Error>(with_fix(std::move(answer.error()), settings_));
  return answer;
}

Result<OrderedJson> Controller::ask(const std::string& what, const std::map<std::string, std::string>& arguments,
                                    std::chrono::milliseconds patience) {
  refused_argument_ = false;
  WATTLE_CHECK(keep_valid());
  auto body = client_.query(what, arguments, std::max(settings_.timeout, patience));
  if (!body) {
    if (auto refused = own_error(body.error(), settings_.server + " " + what)) {
      refused_argument_ = is_of_argument(*refused);
      return tl::unexpected<Error>(with_quoted_name(std::move(*refused)));
    }
    return tl::unexpected<Error>(with_fix(std::move(body.error()), settings_));
  }
  auto document = OrderedJson::read(*body, {.text_bytes = 64 << 20, .built_bytes = 512 << 20});
  if (!document.is_object())
    return fail(Errc::malformed, settings_.server + " " + what, "the answer is not a JSON object",
                "check that the endpoint is the controller's ask port and that both have the same version");
  return document;
}

}  // namespace wattle::cli
