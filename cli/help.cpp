// `wattle help [COMMAND...]`: prints the help of the program or of a command.
#include <ostream>

#include "cli/declare.hpp"
#include "cli/table.hpp"
#include "common/cmdline/usage.hpp"
#include "common/nearest.hpp"

namespace wattle::cli {

namespace {
struct HelpOptions {
  std::vector<std::string> words;
};

Outcome run_help(const Invocation& invocation, const CLI::App& program, const HelpOptions& options) {
  const CLI::App* at = &program;
  std::string before;
  for (const std::string& word : options.words) {
    std::vector<std::string> names;
    const CLI::App* next = nullptr;
    for (const CLI::App* each : at->get_subcommands([](const CLI::App*) { return true; })) {
      names.push_back(each->get_name());
      if (each->check_name(word)) next = each;
    }
    if (next == nullptr)
      return misuse({Errc::malformed, "unknown command \"" + word + '"', "",
                     names.empty()
                         ? "see " + before + " " + at->get_name() + " --help"
                         : did_you_mean(word, names,
                                        "see " + before + (before.empty() ? "" : " ") + at->get_name() + " --help")});
    before += (before.empty() ? "" : " ") + at->get_name();
    at = next;
  }
  invocation.around.out << cmdline::fitted(
      at->get_formatter()->make_help(at, before.empty() ? at->get_name() : before + " " + at->get_name(),
                                     CLI::AppFormatMode::Normal),
      text_width());
  if (!invocation.around.out.flush()) return fail(Errc::io, "stdout", "cannot be written");
  return kOk;
}
}  // namespace

void declare_help(CLI::App& command, Run& chosen) {
  const auto options = std::make_shared<HelpOptions>();
  command.callback([&command, &chosen, options] {
    chosen = [&command, options](const Invocation& invocation) {
      return run_help(invocation, *command.get_parent(), *options);
    };
  });
  command.add_option("COMMAND", options->words, "Words of the command, for example policy set");
}

}  // namespace wattle::cli
