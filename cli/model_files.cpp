// model_files: `wattle model record FILE` writes the cluster's history to a file for `wattle-sim improve`; `wattle
// model add NAME FILE` adds a network from a file to the controller's networks.
#include <array>
#include <map>
#include <ostream>

#include "cli/archive.hpp"
#include "cli/declare.hpp"
#include "cli/human.hpp"
#include "cli/model_files.hpp"
#include "cli/process.hpp"
#include "cli/show.hpp"
#include "cli/view.hpp"
#include "common/base64.hpp"
#include "common/digest.hpp"
#include "common/dir.hpp"
#include "common/enrol_tokens.hpp"
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

struct RecordOptions {
  std::string file, since;
  bool hash_names = false;
};

Result<int> write_record(const Invocation& invocation, Controller& controller, const RecordOptions& options) {
  const std::string& to = options.file;
  WATTLE_CHECK(refuse_taken(to));
  WATTLE_TRY(const Names names, Names::make(options.hash_names));
  // Checks for a controller first with the usual timeout instead of that of a page.
  WATTLE_CHECK(controller.ask("status", {}));
  std::string text = Json{{"wattle_record", 1},
                          {"version", kVersion},
                          {"to_s", unix_now_s()},
                          {"names", names.hashed() ? "hashed" : "plain"}}
                         .dump() +
                     "\n";
  std::array<std::size_t, kParts.size()> rows{};
  for (std::size_t part = 0; part < kParts.size(); ++part) {
    std::map<std::string, std::string> query{{"of", kParts[part]}};
    if (part > 0 && !options.since.empty()) query["since"] = options.since;
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

// Splits a network's file into arguments of the query model-add.
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

struct ModelAddOptions {
  std::string name, file, why;
};

Outcome add_model(const Invocation& invocation, const ModelAddOptions& options) {
  WATTLE_TRY(auto pairs, network_parts(options.file));
  pairs["name"] = options.name;
  if (!options.why.empty()) pairs["why"] = options.why;
  return show(invocation, "model-add", pairs, render_models);
}

}  // namespace

void declare_model_record(CLI::App& command, Run& chosen) {
  auto& options = runs<RecordOptions>(command, chosen, [](const Invocation& invocation, const RecordOptions& given) {
    return with_controller(invocation,
                           [&](Controller& controller) { return write_record(invocation, controller, given); });
  });
  command.add_option("FILE", options.file, "File to create, with mode 0600; must not exist yet")
      ->type_name("FILE")
      ->required();
  command.add_option("--since", options.since, "Period to record, for example 24h or 7d (default 30d)");
  command.add_flag("--hash-names", options.hash_names, "Replace names of nodes and applications by hashes");
}

void declare_model_add(CLI::App& command, Run& chosen) {
  auto& options = runs(command, chosen, add_model);
  command.add_option("NAME", options.name, "Name for the network")->required();
  command.add_option("FILE", options.file, "File that wattle-sim improve or train wrote")
      ->type_name("FILE")
      ->required();
  command.add_option("--why", options.why, kWhyOfModel);
}

}  // namespace wattle::cli
