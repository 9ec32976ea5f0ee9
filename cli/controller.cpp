#include "cli/controller.hpp"

#include <nlohmann/json.hpp>

namespace wattle::cli {

Result<Controller> Controller::open_(const Settings& settings) {
  if (settings.key_file.empty())
    return fail(Errc::not_found, "--key", "no key file is named", "give --key FILE, made by 'wattle keys new FILE'");
  if (settings.server_key_file.empty())
    return fail(Errc::not_found, "--server-key", "no file with the controller's public key is named",
                "give --server-key FILE");
  WATTLE_TRY(transport::KeyPair key, transport::KeyPair::load(settings.key_file));
  auto context = std::make_unique<transport::Context>();
  transport::ClientOptions options;
  options.endpoint = settings.server;
  options.key = std::move(key);
  WATTLE_CHECK(options.read_server_keys(settings.server_key_file));
  WATTLE_TRY(transport::AskClient client, transport::AskClient::connect(*context, options));
  return Controller(settings, std::move(context), std::move(client));
}

Result<nlohmann::ordered_json> Controller::ask(const std::string& what,
                                               const std::map<std::string, std::string>& arguments) {
  auto body = client_.query(what, arguments, settings_.timeout);
  if (!body) {
    Error error = std::move(body.error());
    if (error.code == Errc::denied && error.mend.empty())
      error.mend = "our key is in " + settings_.key_file + ", the server's in " + settings_.server_key_file;
    if (error.code == Errc::timeout && error.mend.empty()) error.mend = "try a longer --timeout";
    return tl::unexpected<Error>(std::move(error));
  }
  auto document = nlohmann::ordered_json::parse(*body, nullptr, false);
  if (!document.is_object())
    return fail(Errc::malformed, settings_.server + " " + what, "the answer is no JSON object",
                "is the endpoint the controller's ask port, and its version ours?");
  return document;
}

}  // namespace wattle::cli
