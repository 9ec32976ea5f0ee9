// `wattle dashboard [--open]`: prints the address of the controller's page and opens it in a browser. The controller
// reports the page's port. In a cluster, the page is reached through a forwarded port until Ctrl-C.
#include <unistd.h>

#include <array>
#include <limits>
#include <optional>
#include <ostream>

#include "cli/controller.hpp"
#include "cli/declare.hpp"
#include "cli/port_forward.hpp"
#include "cli/screen.hpp"
#include "cli/settings.hpp"
#include "cli/show.hpp"
#include "common/http/client.hpp"
#include "common/parse.hpp"

namespace wattle::cli {

namespace {
constexpr std::array<std::uint16_t, 1> kPagePort{8050};
constexpr std::chrono::milliseconds kLook{200};

struct DashboardOptions {
  bool open = false;
};

struct Page {
  std::string url;
  bool token_needed = false;
};

// "tcp://[::1]:7462" as "::1"
std::string host_of(std::string_view endpoint) {
  const auto scheme = endpoint.find("://");
  std::string_view host = endpoint.substr(scheme == std::string_view::npos ? 0 : scheme + 3);
  host = host.substr(0, host.rfind(':'));
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  return std::string(host);
}

// Asks the page whether it needs a token. A page with TLS is recognised by a certificate that this machine need not
// trust: the browser decides about it.
Result<Page> find_page(const std::string& host, std::uint16_t port, std::chrono::milliseconds timeout) {
  http::Origin origin{host, port, std::nullopt};
  http::Client plain(origin, 1 << 16);
  const auto answer = plain.request("GET", "/page/pass", "", timeout);
  if (answer && answer->status == 200) {
    const Json state = Json::read(answer->body, {.text_bytes = 1 << 16, .built_bytes = 1 << 20});
    return Page{origin.url() + "/", View(state)["token_needed"].flag() == true};
  }
  origin.tls.emplace();
  http::Client secure(origin, 1 << 16);
  const auto over_tls = secure.request("GET", "/page/pass", "", timeout);
  if (over_tls || over_tls.error().code == Errc::denied) return Page{origin.url() + "/", false};
  if (answer)
    return fail(Errc::malformed, origin.url(),
                "is not the page of a controller: status " + std::to_string(answer->status),
                "http.port of the controller is the page's port, 8050 by default");
  return tl::unexpected<Error>(Error{answer.error().code, answer.error().subject, answer.error().what,
                                     "http.address and http.port of the controller say where the page is; on another "
                                     "machine, see docs/how-to/use-the-page.md"});
}

// The page's port as the controller reports it; the default one if the controller does not answer.
std::uint16_t port_of_page(const Settings& settings) {
  const auto status = [&]() -> Result<Json> {
    WATTLE_TRY(Controller controller, Controller::open_(settings));
    return controller.ask("status", {});
  }();
  const double port = status ? View(*status)["page_port"].number().value_or(0) : 0;
  return port >= 1 && port <= std::numeric_limits<std::uint16_t>::max() ? static_cast<std::uint16_t>(port)
                                                                        : kPagePort[0];
}

bool on_path(const std::string& name, const std::string& path) {
  for (std::size_t from = 0; from <= path.size();) {
    const std::size_t end = std::min(path.find(':', from), path.size());
    if (end > from && ::access((path.substr(from, end - from) + "/" + name).c_str(), X_OK) == 0) return true;
    from = end + 1;
  }
  return false;
}

// The command that opens an address: BROWSER, or xdg-open in a graphical session; without one xdg-open would take the
// terminal. Empty: none.
std::string browser(const Surroundings& around) {
  if (const auto named = around.variable("BROWSER"); named && !named->empty()) return *named;
  const auto set = [&](const char* name) { return !around.variable(name).value_or("").empty(); };
  const bool graphical = set("DISPLAY") || set("WAYLAND_DISPLAY");
  return graphical && on_path("xdg-open", around.variable("PATH").value_or("")) ? "xdg-open" : "";
}

// Prints the address, how to get the token, and opens the browser.
Status present(const Invocation& invocation, const DashboardOptions& options, const Page& page, bool by_cluster) {
  invocation.around.out << page.url << "\n" << std::flush;
  if (page.token_needed) {
    const std::string& context = invocation.common.cluster.context;
    invocation.around.err << (by_cluster ? "The page asks for a token: kubectl" +
                                               (context.empty() ? "" : " --context " + context) + " --namespace " +
                                               invocation.common.controller_namespace +
                                               " get secret wattle-metrics -o jsonpath='{.data.token}' | base64 -d\n"
                                         : "The page asks for the token in http.token_file of the controller\n")
                          << std::flush;
  }
  const std::string command = browser(invocation.around);
  if (!options.open && (command.empty() || !invocation.around.terminal)) return {};
  if (command.empty())
    return fail(Errc::not_found, "--open", "no browser was found", "set BROWSER to the command that opens an address");
  WATTLE_CHECK(start_program({command, page.url}, "/dev/null"));
  return {};
}

Outcome serve(const Invocation& invocation, const DashboardOptions& options, const Settings& settings) {
  WATTLE_TRY(const StopKeys stop, StopKeys::open_());
  WATTLE_TRY(PortForward forward, PortForward::open_(invocation, kPagePort));
  const auto port = parse::integer<std::uint16_t>(forward.ports()[0]);
  WATTLE_TRY(const Page page, find_page("127.0.0.1", port.value_or(0), settings.timeout));
  WATTLE_CHECK(present(invocation, options, page, true));
  invocation.around.err << "Ctrl-C ends the forwarding\n" << std::flush;
  while (!stop.pressed(kLook)) WATTLE_CHECK(forward.check());
  return kOk;
}

Outcome run_dashboard(const Invocation& invocation, const DashboardOptions& options) {
  WATTLE_TRY(const Settings settings, as_misuse(read_settings(invocation)));
  if (settings.by_cluster) return serve(invocation, options, settings);
  WATTLE_TRY(const Page page, find_page(host_of(settings.server), port_of_page(settings), settings.timeout));
  WATTLE_CHECK(present(invocation, options, page, false));
  return kOk;
}
}  // namespace

void declare_dashboard(CLI::App& command, Run& chosen) {
  auto& options = runs(command, chosen, run_dashboard);
  command.add_flag("--open", options.open,
                   "Open a browser also if the output is not a terminal; an error if there is none");
}

}  // namespace wattle::cli
