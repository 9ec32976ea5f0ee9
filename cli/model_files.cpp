// model_files: `wattle model record FILE` writes the cluster's history to a file for `wattle-sim improve`; `wattle
// model add NAME FILE` adds a network from a file to the controller's networks.
#include <CLI/CLI.hpp>
#include <array>
#include <map>
#include <ostream>

#include "cli/archive.hpp"
#include "cli/human.hpp"
#include "cli/model_files.hpp"
#include "cli/show.hpp"
#include "cli/view.hpp"
#include "common/base64.hpp"
#include "common/clock.hpp"
#include "common/digest.hpp"
#include "common/dir.hpp"
#include "common/enrol_tokens.hpp"
#include "common/json/value.hpp"
#include "common/version.hpp"

namespace wattle::cli {

namespace {

constexpr std::array kParts{"nodes", "pods", "hours"};
constexpr std::size_t kMostNetworkBytes = 512 << 10;
constexpr std::size_t kHashed = 16;  // digits

// Hashes names consistently within one file; other files use another salt.
class Names {
 public:
  static Result<Names> make(bool hashed) {
    if (!hashed) return Names({});
    WATTLE_TRY(std::string salt, make_enrol_token());
    return Names(std::move(salt));
  }
  void hide(Json& row) const {
    if (salt_.empty()) return;
    for (const char* key : {"name", "node", "owner", "image", "labels"}) {
      const auto found = row.find(key);
      if (found == row.end() || !found->is_string() || found->string().empty()) continue;
      *found = sha256_hex(salt_ + found->get<std::string>()).substr(0, kHashed);
    }
  }
  bool hashed() const { return !salt_.empty(); }

 private:
  explicit Names(std::string salt) : salt_(std::move(salt)) {}
  std::string salt_;
};

Result<int> write_record(const Invocation& invocation, Controller& controller) {
  const Arguments& arguments = invocation.arguments;
  const std::string& to = arguments.words.at(0);
  WATTLE_CHECK(refuse_taken(to));
  WATTLE_TRY(const Names names, Names::make(arguments.hash_names));
  // Checks for a controller first with the usual timeout instead of that of a page.
  WATTLE_CHECK(controller.ask("status", {}));
  std::string text = Json{{"wattle_record", 1},
                          {"version", kVersion},
                          {"to_s", to_ns(SystemClock().wall()) / 1'000'000'000},
                          {"names", names.hashed() ? "hashed" : "plain"}}
                         .dump() +
                     "\n";
  std::array<std::size_t, kParts.size()> rows{};
  for (std::size_t part = 0; part < kParts.size(); ++part) {
    std::map<std::string, std::string> query{{"of", kParts[part]}};
    if (part > 0 && !arguments.since.empty()) query["since"] = arguments.since;
    for (;;) {
      WATTLE_TRY(Json page, controller.ask("record", query, std::chrono::minutes(1)));
      for (Json& row : page["rows"]) {
        names.hide(row);
        text += Json{{kParts[part], std::move(row)}}.dump() + "\n";
        ++rows[part];
      }
      const auto next = View(page)["next"].text();
      if (!next) break;
      query["after"] = *next;
    }
  }
  WATTLE_CHECK(write_file_atomically(to, text, 0600));
  invocation.around.out << to << ": " << rows[0] << " nodes, " << rows[1] << " pods, " << rows[2] << " node-hours, "
                        << bytes(static_cast<double>(text.size())) << ", mode 0600; names are "
                        << (names.hashed() ? "hashed" : "in plain text") << "\n";
  return kOk;
}

}  // namespace

void declare_model_files(CLI::App& command, Arguments& arguments) {
  auto* record = command.add_subcommand("record", "Write the cluster's history to a file for wattle-sim improve");
  record->fallthrough();
  record->callback([&arguments] { arguments.action = "record"; });
  record->add_option("FILE", arguments.words, "File to create, with mode 0600; must not exist yet")
      ->type_name("FILE")
      ->required()
      ->expected(1);
  record->add_option("--since", arguments.since, "Period to record, for example 24h or 7d (default 30d)");
  record->add_flag("--hash-names", arguments.hash_names, "Replace names of nodes and applications by hashes");
  auto* add = command.add_subcommand("add", "Store a network from a file under a name; `load` puts it in use");
  add->fallthrough();
  add->callback([&arguments] { arguments.action = "add"; });
  add->add_option("NAME", arguments.name, "Name for the network")->required();
  add->add_option("FILE", arguments.words, "File that wattle-sim improve or train wrote")
      ->type_name("FILE")
      ->required()
      ->expected(1);
  add->add_option("--why", arguments.why, "Reason, recorded with the change");
}

int run_model_record(const Invocation& invocation) {
  return with_controller(invocation, [&](Controller& controller) { return write_record(invocation, controller); });
}

Result<std::map<std::string, std::string>> network_parts(const std::string& file) {
  constexpr std::size_t kPart = 4000;  // limit of a text on the wire: 4096 bytes
  WATTLE_TRY(const std::string content, read_file(file, kMostNetworkBytes));
  // The format is a length of 8 bytes, then JSON.
  if (content.size() < 9 || content[8] != '{')
    return fail(Errc::malformed, file, "is not a network", "use a safetensors file as written by wattle-sim improve");
  const std::string text = base64_encode(content);
  std::map<std::string, std::string> parts;
  for (std::size_t at = 0; at < text.size(); at += kPart) {
    const std::string number = std::to_string(at / kPart);
    parts["network." + std::string(4 - number.size(), '0') + number] = text.substr(at, kPart);
  }
  return parts;
}

}  // namespace wattle::cli
