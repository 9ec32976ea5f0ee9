#include "cli/provision_set.hpp"

#include <map>
#include <ostream>

#include "cli/declare.hpp"
#include "cli/parts.hpp"
#include "cli/process.hpp"
#include "cli/requests/setter.hpp"
#include "cli/screen.hpp"
#include "cli/show.hpp"
#include "cli/table.hpp"
#include "common/dir.hpp"
#include "common/error_line.hpp"
#include "common/http/client.hpp"
#include "common/http/url.hpp"
#include "common/parse.hpp"
#include "common/printable.hpp"

namespace wattle::cli {
namespace {

constexpr std::chrono::seconds kPatience{30};

struct RequestsOptions {
  std::string workload, from, token_file;
  std::vector<std::string> name_spaces;
  bool follow = false, dry_run = false;
  int every_s = 30;
};

// A full workload name includes its namespace.
Result<std::vector<std::string>> namespaces_of(const std::string& workload, std::vector<std::string> spaces) {
  if (const auto slash = workload.find('/'); spaces.empty() && workload.find('/', slash + 1) != std::string::npos)
    spaces.push_back(workload.substr(0, slash));
  if (spaces.empty())
    return fail(Errc::malformed, "--namespace", "no namespace given",
                "pass --namespace NAME or the workload as NAMESPACE/KIND/NAME");
  return spaces;
}

// The source of suggestions: the controller's ask socket, or its page by HTTP.
class Advisor {
 public:
  static Result<Advisor> open_(const Invocation& invocation, const RequestsOptions& options) {
    Advisor advisor;
    if (!options.from.empty()) {
      const std::string example = "for example http://wattle-controller.wattle.svc:8050";
      WATTLE_TRY(http::Url url, http::parse_url(options.from, example));
      if (url.target.find('?') != std::string::npos)
        return fail(Errc::malformed, options.from, "contains a query", example);
      while (url.target.ends_with('/')) url.target.pop_back();
      advisor.prefix_ = std::move(url.target);
      advisor.token_file_ = options.token_file;
      advisor.http_ = std::make_unique<http::Client>(std::move(url.origin));
      return advisor;
    }
    WATTLE_TRY(const Settings settings, load_settings(invocation));
    WATTLE_TRY(Controller controller, Controller::open_(settings));
    advisor.controller_ = std::make_unique<Controller>(std::move(controller));
    return advisor;
  }

  Result<Json> of_namespace(const std::string& name_space) {
    if (controller_) return controller_->ask("provision", {{"namespace", name_space}});
    return by_http("GET", "/api/v1/provision?namespace=" + name_space, "");
  }

  Status report(const Json& done) {
    if (!controller_) return sent(by_http("POST", "/api/v1/provision", done.dump()));
    // An argument of a query has at most 4 KiB.
    constexpr std::size_t kMostBytes = 4000;
    const Json empty{{"namespace", View(done)["namespace"].text_or("")}, {"workloads", Json::object()}};
    Json part = empty;
    for (const auto& [workload, said] : View(done)["workloads"].members()) {
      Json more = part;
      more["workloads"][workload] = said.json();
      if (more.dump().size() > kMostBytes) {
        WATTLE_CHECK(sent(controller_->ask("provision-report", {{"report", part.dump()}})));
        more = empty;
        more["workloads"][workload] = said.json();
      }
      part = std::move(more);
    }
    return sent(controller_->ask("provision-report", {{"report", part.dump()}}));
  }

 private:
  Result<Json> by_http(const char* method, const std::string& target, const std::string& body) {
    if (!token_file_.empty()) {
      WATTLE_TRY(const std::string token, read_file(token_file_));
      http_->bearer(std::string(parse::trim(token)));
    }
    WATTLE_TRY(const http::Answer answer, http_->request(method, prefix_ + target, body, kPatience));
    Json document = Json::read(answer.body, {.text_bytes = 64 << 20, .built_bytes = 512 << 20});
    if (answer.status != 200)
      return fail(answer.status == 401 ? Errc::denied : Errc::unavailable, target,
                  "the controller returned " + std::to_string(answer.status) +
                      (answer.status == 401 ? "" : ": " + View(document)["error"].text_or("no reason is given")),
                  answer.status == 401 ? "pass --token-file FILE" : "");
    if (!document.is_object()) return fail(Errc::malformed, target, "the answer is not a JSON object");
    return document;
  }

  static Status sent(Result<Json> answer) {
    if (!answer) return forward_error(answer);
    return {};
  }

  Advisor() = default;
  std::unique_ptr<Controller> controller_;
  std::unique_ptr<http::Client> http_;
  std::string prefix_, token_file_;  // path before the API's, as behind an ingress
};

Json done_json(const std::string& name_space, const PodDone& one) {
  return {{"namespace", name_space}, {"pod", one.pod},       {"workload", one.workload},
          {"state", one.state},      {"before", one.before}, {"after", one.after},
          {"why", one.why}};
}

Tone tone_of_state(const std::string& state) {
  if (state == "refused" || state == "infeasible" || state == "failing") return Tone::warning;
  return state == "in_force" || state == "restored" ? Tone::good : Tone::plain;
}

Result<std::string> render_pods_done(const Json& document, const Style& style) {
  Table table{{"POD", "WORKLOAD", "STATE", "HAD", "HAS", "WHY"}, {}};
  for (const View& one : View(document)["pods"].items()) {
    const std::string state = one["state"].text_or();
    table.rows.push_back({one["namespace"].text_or() + "/" + one["pod"].text_or(), one["workload"].text_or(),
                          Cell{state, tone_of_state(state)}, one["before"].text_or(), one["after"].text_or(),
                          one["why"].text_or()});
  }
  return table.rows.empty() ? std::string("no pods\n") : to_text(table, style.colour);
}

Result<std::vector<PodDone>> set_once(Cluster& cluster, Advisor& advisor, const std::string& name_space,
                                      const RequestsOptions& said) {
  WATTLE_TRY(const Json document, advisor.of_namespace(name_space));
  if (said.follow && View(document)["level"].text() != "requests")
    return fail(Errc::denied, "provisioning.level",
                "is " + View(document)["level"].text_or() + ", so requests are not set",
                "set it to requests in the controller's configuration");
  SetOptions options;
  options.workload = said.workload;
  options.by_hand = !said.follow;
  options.dry_run = said.dry_run;
  options.now_s = unix_now_s();
  auto done = set_requests(cluster, name_space, document, options);
  if (!done || !said.follow || said.dry_run) return done;
  if (const Status taken = advisor.report(report_of(name_space, document, *done)); !taken)
    done->push_back({"(report)", "", "failing", "The controller rejects the report: " + taken.error().what, "", ""});
  return done;
}

// Runs until a signal and prints a line per change. Reports each failure once and retries.
int follow(const Invocation& invocation, const StopKeys& stop, Cluster& cluster, Advisor& advisor,
           const std::vector<std::string>& spaces, const RequestsOptions& options) {
  using Lines = std::map<std::string, std::string>;  // about -> what
  std::map<std::string, Lines> reported;
  do {
    for (const std::string& space : spaces) {
      auto done = set_once(cluster, advisor, space, options);
      Lines now{{"namespace " + space, done ? "is followed" : error_text(done.error())}};
      if (!done) now.insert(reported[space].begin(), reported[space].end());  // keeps the last state of its pods
      for (const PodDone& one : done ? *done : std::vector<PodDone>())
        now[space + "/" + one.pod] = one.state + (one.after.empty() ? "" : ": " + one.before + " -> " + one.after) +
                                     (one.why.empty() ? "" : ". " + one.why);
      for (const auto& [about, what] : now)
        if (reported[space][about] != what)
          invocation.around.out << printable(about + ": " + what) << "\n" << std::flush;
      reported[space] = std::move(now);
    }
  } while (!stop.pressed(std::chrono::seconds(options.every_s)));
  return kOk;
}

Outcome set_all(const Invocation& invocation, const RequestsOptions& options) {
  WATTLE_TRY(const StopKeys stop, StopKeys::open_());  // before any thread
  WATTLE_TRY(const auto spaces, as_misuse(namespaces_of(options.workload, options.name_spaces)));
  WATTLE_TRY(Cluster cluster, Cluster::open_(invocation));
  WATTLE_TRY(Advisor advisor, Advisor::open_(invocation, options));
  if (options.follow) return follow(invocation, stop, cluster, advisor, spaces, options);
  Json list = Json::array();
  for (const std::string& space : spaces) {
    WATTLE_TRY(const auto done, set_once(cluster, advisor, space, options));
    for (const PodDone& one : done) list.push_back(done_json(space, one));
  }
  WATTLE_CHECK(print(invocation, Json{{"pods", std::move(list)}}, render_pods_done));
  return kOk;
}

struct RestoreRequestsOptions {
  std::string workload;
  std::vector<std::string> name_spaces;
};

Outcome restore_all(const Invocation& invocation, const RestoreRequestsOptions& options) {
  WATTLE_TRY(const auto spaces, as_misuse(namespaces_of(options.workload, options.name_spaces)));
  WATTLE_TRY(Cluster cluster, Cluster::open_(invocation));
  Json list = Json::array();
  bool well = true;
  for (const std::string& space : spaces) {
    WATTLE_TRY(const auto done, restore_requests(cluster, space, options.workload));
    for (const PodDone& one : done) {
      list.push_back(done_json(space, one));
      well = well && one.state != "refused";
    }
  }
  WATTLE_CHECK(print(invocation, Json{{"pods", std::move(list)}}, render_pods_done));
  return well ? kOk : kProblem;
}

template <class Options>
void declare_target(CLI::App& command, Options& options) {
  command.add_option("WORKLOAD", options.workload,
                     "Workload as NAMESPACE/KIND/NAME or a suffix of it (default: all of the namespaces)");
  command.add_option("--namespace", options.name_spaces, "Namespace of the pods; can be repeated");
}

}  // namespace

void declare_provision_restore(CLI::App& command, Run& chosen) {
  declare_target(command, runs(command, chosen, restore_all));
}

void declare_provision_set(CLI::App& command, Run& chosen) {
  auto& options = runs(command, chosen, set_all);
  declare_target(command, options);
  command.add_flag("--dry-run", options.dry_run, "Show the changes without making them");
  command.add_flag("--follow", options.follow, "Run until stopped; needs provisioning.level requests");
  command.add_option("--every", options.every_s, "With --follow: seconds between passes, 1 to 3600")
      ->check(CLI::Range(1, 3600))
      ->capture_default_str();
  command
      .add_option("--from", options.from,
                  "Controller's HTTP address, for example http://host:8050 (default: its ask endpoint)")
      ->type_name("URL");
  command.add_option("--token-file", options.token_file, "With --from: file with the bearer token")->type_name("FILE");
}

}  // namespace wattle::cli
