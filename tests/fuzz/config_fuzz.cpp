// Configurations: any text parses or gives a list of errors.
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "common/config.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace wattle::config;
  auto document = Document::parse(std::string(reinterpret_cast<const char*>(data), size), "fuzz.yaml");
  if (!document) {
    if (document.error().what.empty()) std::abort();
    return 0;
  }
  Section root = document->root();
  std::string text;
  double number = 1;
  int count = 1;
  bool on = false;
  std::size_t choice = 0;
  std::vector<std::string> texts;
  std::vector<double> numbers;
  std::map<std::string, std::string> labels;
  std::map<std::string, double> weights;
  root.read("text", text, true);
  root.read("tick", number, {.min = 0.1, .max = 60, .unit = Unit::seconds});
  root.read("count", count, {.min = 1, .max = 10});
  root.read("on", on);
  root.read_choice("mode", choice, {"off", "live"});
  root.read("texts", texts);
  root.read("numbers", numbers);
  root.read("labels", labels);
  root.read("weights", weights, {.min = 0, .max = 1});
  Section inner = root.section("inner");
  inner.read("text", text);
  for (Section& section : root.sections("list")) section.read("text", text);
  if (number < 0.1 || number > 60 || count < 1 || count > 10 || choice > 1) std::abort();
  const auto status = document->finish();
  if (!status && status.error().what.empty()) std::abort();
  return 0;
}
