// Command `wattle-load resource`: runs stress-ng at levels.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <cstdlib>
#include <memory>

#include "common/parse.hpp"
#include "load/commands.hpp"
#include "load/resource.hpp"

namespace wattle::load {
namespace {

constexpr double kMostCores = 4096, kLeastBytes = 1e6, kMostBytes = 1e13, kLeastRate = 1e3, kMostRate = 1e11;

struct ResourceArguments {
  std::string cpu, memory, disk, network, length = "60s", directory, output = "text";
};

Status set_level(const char* option, const std::string& text, double least, double most, const char* form,
                 std::optional<double>& level) {
  if (text.empty()) return {};
  level = parse::quantity(text);
  if (!level || *level < least || *level > most)
    return fail(Errc::malformed, std::string(option) + " " + text, std::string("is not a ") + form);
  return {};
}

Result<ResourceLoad> resource_load_of(const ResourceArguments& arguments) {
  ResourceLoad load;
  Levels& levels = load.levels;
  WATTLE_CHECK(set_level("--cpu", arguments.cpu, 0.01, kMostCores, "number of cores from 0.01, for example 0.6 or 600m",
                         levels.cpu_cores));
  WATTLE_CHECK(set_level("--memory", arguments.memory, kLeastBytes, kMostBytes, "size from 1M, for example 512M or 2Gi",
                         levels.memory_bytes));
  WATTLE_CHECK(set_level("--disk", arguments.disk, kLeastRate, kMostRate, "rate from 1k bytes/s, for example 10M",
                         levels.disk_bytes_per_s));
  WATTLE_CHECK(set_level("--network", arguments.network, kLeastRate, kMostRate, "rate from 1k bytes/s, for example 5M",
                         levels.network_bytes_per_s));
  if (levels.none())
    return fail(Errc::malformed, "resource", "no level is given",
                "pass one or more of --cpu, --memory, --disk and --network");
  WATTLE_TRY(load.length, parse_span("--for", arguments.length));
  const char* const temporary = std::getenv("TMPDIR");
  load.directory = !arguments.directory.empty() ? arguments.directory : temporary != nullptr ? temporary : "/tmp";
  const char* const path = std::getenv("PATH");
  load.path = path != nullptr ? path : "/usr/bin:/bin";
  return load;
}

int run_resource(const ResourceArguments& arguments) {
  const auto load = resource_load_of(arguments);
  if (!load) return misused(load.error());
  auto stop = StopSignal::open_();
  if (!stop) return complain(stop.error());
  std::function<void(const ResourceUse&)> reported;
  if (isatty(STDERR_FILENO) != 0)
    reported = [](const ResourceUse& use) { std::fprintf(stderr, "%s\n", resource_line(use).c_str()); };
  const SystemClock clock;
  const auto use = apply_resources(*load, clock, *stop, reported);
  if (!use) return complain(use.error());
  const Status printed = print(arguments.output == "json" ? resource_json(*use) : resource_text(*use));
  return printed ? kOk : complain(printed.error());
}

}  // namespace

std::function<int()> declare_resource(CLI::App& app) {
  auto arguments = std::make_shared<ResourceArguments>();
  ResourceArguments& to = *arguments;
  app.add_option("--cpu", to.cpu, "Busy cores, for example 0.6 or 600m");
  app.add_option("--memory", to.memory, "Bytes of allocated memory, for example 512M or 2Gi");
  app.add_option("--disk", to.disk, "Bytes/s written to disk, for example 10M");
  app.add_option("--network", to.network, "Bytes/s sent over the loopback interface, for example 5M");
  app.add_option("--for", to.length, "Duration, for example 90s or 5m")->capture_default_str();
  app.add_option("--directory", to.directory,
                 "Folder on the disk to write to (default: $TMPDIR, else the folder for temporary files)")
      ->type_name("DIR");
  app.add_option("-o,--output", to.output, "Output format: text or json")
      ->check(CLI::IsMember({"text", "json"}))
      ->capture_default_str();
  return [arguments] { return run_resource(*arguments); };
}

}  // namespace wattle::load
