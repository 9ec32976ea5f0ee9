#include "cli/controller.hpp"

#include <algorithm>
#include <optional>

#include "common/json/value.hpp"

namespace wattle::cli {

namespace {
Result<transport::ClientOptions> client_options(const Settings& settings, const std::string& endpoint) {
  if (settings.key_file.empty())
    return fail(Errc::not_found, "--key", "no key file is named", "give --key FILE, made by 'wattle keys new FILE'");
  if (settings.server_key_file.empty())
    return fail(Errc::not_found, "--server-key", "no file with the controller's public key is named",
                "give --server-key FILE");
  auto loaded = transport::KeyPair::load(settings.key_file);
  if (!loaded && !settings.found && loaded.error().code == Errc::not_found)
    return fail(
        Errc::not_found, "no configuration",
        "neither WATTLE_CONFIG nor ~/.config/wattle/cli.yaml nor /etc/wattle/cli.yaml says where the controller is",
        "`wattle up` and scripts/demo print one; `wattle keys controller` writes one where a controller runs");
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
Error with_mend(Error error, const Settings& settings) {
  if (error.code == Errc::denied && error.mend.empty())
    error.mend = "our key is in " + settings.key_file + ", the server's in " + settings.server_key_file;
  if (error.code == Errc::timeout && error.mend.empty()) error.mend = "try a longer --timeout";
  return error;
}

// True for choices that every controller has, such as mode and reward: an unknown word is a usage error.
bool is_choice(const std::string& subject) { return subject.starts_with("policy "); }

// Renders an unknown name as "node a: not found: no agent of that name has said Hello (...)".
std::string what_of(Errc code, const std::string& subject, std::string what) {
  // True for "node a", but not for "gaps", which has no name.
  const bool named = subject.find(' ') != std::string::npos && !is_choice(subject);
  return code == Errc::not_found && named ? "not found: " + std::move(what) : std::move(what);
}

// True if the controller refused an argument as mistyped. Damaged files and networks are not usage errors.
bool is_of_argument(const Error& error) {
  const std::string& subject = error.subject;
  if (error.code == Errc::not_found) return is_choice(subject);
  if (error.code != Errc::malformed && error.code != Errc::out_of_range) return false;
  return !subject.starts_with("/") && !subject.starts_with("model ") && subject != "trained network";
}

// Keeps the controller's own error text: "not found: node a: no agent of that name has said Hello (...)".
std::optional<Error> own_words(const Error& error, const std::string& subject) {
  if (error.subject != subject) return std::nullopt;
  for (int number = 0; number <= static_cast<int>(Errc::io); ++number) {
    const auto code = static_cast<Errc>(number);
    const std::string opening = std::string(to_string(code)) + ": ";
    if (!error.what.starts_with(opening)) continue;
    const auto colon = error.what.find(": ", opening.size());
    if (colon == std::string::npos) return std::nullopt;
    const std::string named = error.what.substr(opening.size(), colon - opening.size());
    return Error{code, named, what_of(code, named, error.what.substr(colon + 2)), ""};
  }
  return std::nullopt;
}
}  // namespace

Result<transport::Subscriber> Controller::listen(std::span<const std::string> topics) {
  WATTLE_TRY(const transport::ClientOptions options, client_options(settings_, settings_.feed));
  return transport::Subscriber::connect(*context_, options, topics);
}

Result<wire::Suggestion> Controller::place(const wire::Ask& ask) {
  // Queries first, because an ask fails until the link is up, and a query waits for the first attempt.
  WATTLE_CHECK(this->ask("status", {}));
  auto told = client_.ask(ask, settings_.timeout);
  if (!told) return tl::unexpected<Error>(with_mend(std::move(told.error()), settings_));
  return told;
}

Result<OrderedJson> Controller::ask(const std::string& what, const std::map<std::string, std::string>& arguments,
                                    std::chrono::milliseconds patience) {
  refused_argument_ = false;
  auto body = client_.query(what, arguments, std::max(settings_.timeout, patience));
  if (!body) {
    if (auto told = own_words(body.error(), settings_.server + " " + what)) {
      refused_argument_ = is_of_argument(*told);
      return tl::unexpected<Error>(std::move(*told));
    }
    return tl::unexpected<Error>(with_mend(std::move(body.error()), settings_));
  }
  auto document = OrderedJson::read(*body, {.text_bytes = 64 << 20, .built_bytes = 512 << 20});
  if (!document.is_object())
    return fail(Errc::malformed, settings_.server + " " + what, "the answer is no JSON object",
                "is the endpoint the controller's ask port, and its version ours?");
  return document;
}

}  // namespace wattle::cli
