// `wattle version`: shows the versions of this program and of the controller. Without an answer of the controller it
// still shows the former, and exits with 1.
#include "common/version.hpp"
#include "cli/declare.hpp"
#include "cli/show.hpp"
#include "common/error_line.hpp"
#include "common/printable.hpp"

namespace wattle::cli {

namespace {
Result<std::string> controller_version(const Invocation& invocation) {
  WATTLE_TRY(const Settings settings, load_settings(invocation));
  WATTLE_TRY(Controller controller, Controller::open_(settings));
  WATTLE_TRY(const Json status, controller.ask("status", {}));
  return View(status)["version"].text_or();
}

Outcome run_version(const Invocation& invocation) {
  const auto controller = controller_version(invocation);
  Json document{{"client", std::string(kVersion)}, {"controller", nullptr}, {"error", nullptr}};
  if (controller)
    document["controller"] = *controller;
  else
    document["error"] = error_text(controller.error());
  WATTLE_CHECK(print(invocation, document, render_version));
  return controller ? kOk : kProblem;
}
}  // namespace

Result<std::string> render_version(const Json& document, const Style& style) {
  const View view(document);
  const bool known = view["controller"].present();
  return "client      " + printable(view["client"].text_or()) + "\ncontroller  " +
         toned(printable(view[known ? "controller" : "error"].text_or()), known ? Tone::plain : Tone::bad,
               style.colour) +
         "\n";
}

void declare_version(CLI::App& command, Run& chosen) { runs(command, chosen, run_version); }

}  // namespace wattle::cli
