#include "cli/show.hpp"

#include <ostream>

#include "cli/parts.hpp"
#include "cli/yaml.hpp"
#include "common/error_line.hpp"
#include "common/json/value.hpp"

namespace wattle::cli {

Error unknown_name(const std::string& kind, const std::string& name, std::string why, std::string fix) {
  return {Errc::not_found, kind + " \"" + name + "\" not found", std::move(why), std::move(fix)};
}

int complain(const Invocation& invocation, Error error, int exit_code) {
  // "wattle: node: "a" not found", without the kind that the command already names.
  if (error.subject.starts_with(invocation.command + " \"")) error.subject.erase(0, invocation.command.size() + 1);
  invocation.around.err << error_line("wattle", invocation.command, error) << "\n";
  return exit_code;
}

Style style_of(const Invocation& invocation) {
  const auto no_colour = invocation.around.variable("NO_COLOR");
  return {.wide = invocation.arguments.output == Output::wide,
          .colour = invocation.around.terminal && (!no_colour || no_colour->empty())};
}

int with_controller(const Invocation& invocation, const std::function<Result<int>(Controller&)>& work) {
  const auto settings = load_settings(invocation);
  if (!settings) return complain(invocation, settings.error(), kUsage);
  auto controller = Controller::open_(*settings);
  if (!controller) return complain(invocation, controller.error(), kUsage);
  const auto done = work(*controller);
  return done ? *done : complain(invocation, done.error(), controller->refused_argument() ? kUsage : kProblem);
}

Status print(const Invocation& invocation, const Json& document, const Render& render) {
  std::ostream& out = invocation.around.out;
  switch (invocation.arguments.output) {
    case Output::json:
      // Escapes non-ASCII text: a JSON reader gets the same text, and a terminal gets no control sequences.
      out << document.dump(2, JsonText::ascii) << "\n";
      break;
    case Output::yaml:
      out << to_yaml(document);
      break;
    case Output::name:
    case Output::table:
    case Output::wide: {
      WATTLE_TRY(const std::string text, render(document, style_of(invocation)));
      out << text;
    }
  }
  if (!out.flush()) return fail(Errc::io, "stdout", "cannot be written");
  return {};
}

int show(const Invocation& invocation, const std::string& what, const std::map<std::string, std::string>& arguments,
         const Render& render) {
  return with_controller(invocation, [&](Controller& controller) -> Result<int> {
    WATTLE_TRY(const Json document, controller.ask(what, arguments));
    WATTLE_CHECK(print(invocation, document, render));
    return kOk;
  });
}

}  // namespace wattle::cli
