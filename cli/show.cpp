#include "cli/show.hpp"

#include <ostream>

#include "cli/json_template.hpp"
#include "cli/parts.hpp"
#include "cli/yaml.hpp"
#include "common/error_line.hpp"

namespace wattle::cli {

Error unknown_name(const std::string& kind, const std::string& name, std::string why, std::string fix) {
  return {Errc::not_found, kind + " \"" + name + "\" not found", std::move(why), std::move(fix)};
}

void complain(const Invocation& invocation, Error error) {
  // "wattle: node: "a" not found", without the kind that the command already names.
  if (error.subject.starts_with(invocation.command + " \"")) error.subject.erase(0, invocation.command.size() + 1);
  invocation.around.err << error_line("wattle", invocation.command, error) << "\n";
}

Style style_of(const Invocation& invocation) {
  const auto no_colour = invocation.around.variable("NO_COLOR");
  return {.wide = invocation.common.output == Output::wide,
          .colour = invocation.around.terminal && (!no_colour || no_colour->empty())};
}

Outcome with_controller(const Invocation& invocation, const std::function<Result<int>(Controller&)>& work) {
  WATTLE_TRY(const Settings settings, as_misuse(load_settings(invocation)));
  WATTLE_TRY(Controller controller, as_misuse(Controller::open_(settings)));
  auto done = work(controller);
  return controller.refused_argument() ? Outcome(as_misuse(std::move(done))) : Outcome(std::move(done));
}

Status print(const Invocation& invocation, const Json& document, const Render& render) {
  std::ostream& out = invocation.around.out;
  switch (invocation.common.output) {
    case Output::json:
      // Escapes non-ASCII text: a JSON reader gets the same text, and a terminal gets no control sequences.
      out << document.dump(2, JsonText::ascii) << "\n";
      break;
    case Output::yaml:
      out << to_yaml(document);
      break;
    case Output::jsonpath: {
      WATTLE_TRY(const std::string text, invocation.common.jsonpath->text_of(document));
      out << text;
      break;
    }
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

Outcome show(const Invocation& invocation, const std::string& what, const std::map<std::string, std::string>& arguments,
             const Render& render) {
  return with_controller(invocation, [&](Controller& controller) -> Result<int> {
    WATTLE_TRY(const Json document, controller.ask(what, arguments));
    WATTLE_CHECK(print(invocation, document, render));
    return kOk;
  });
}

}  // namespace wattle::cli
