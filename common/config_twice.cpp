#include "common/config_twice.hpp"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/yaml.h>

#include <map>
#include <sstream>

namespace wattle::config {
namespace {

// Works on the parser's events, where an alias is a single scalar, so that nested aliases do not expand.
class Twice final : public YAML::EventHandler {
 public:
  Twice(const std::string& name, std::vector<std::pair<int, std::string>>& into) : name_(name), into_(into) {}
  void OnDocumentStart(const YAML::Mark&) override {}
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t) override { value("~", mark); }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t) override { value("*", mark); }
  void OnScalar(const YAML::Mark& mark, const std::string&, YAML::anchor_t, const std::string& text) override {
    value(text, mark);
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t, YAML::EmitterStyle::value) override {
    begin(false, mark);
  }
  void OnSequenceEnd() override { open_.pop_back(); }
  void OnMapStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t, YAML::EmitterStyle::value) override {
    begin(true, mark);
  }
  void OnMapEnd() override { open_.pop_back(); }

 private:
  struct Level {
    bool map = false;
    std::string path;  // path of this list or map
    std::string key;   // key of the next value; only in a map and while key_said
    bool key_said = false;
    std::size_t index = 0;
    std::map<std::string, int> line_of;
  };

  // Path of the value that begins now; for a key, the path of its map.
  std::string here() const {
    if (open_.empty()) return {};
    const Level& level = open_.back();
    if (!level.map) return level.path + "[" + std::to_string(level.index) + "]";
    return level.path.empty() || level.key.empty() ? level.path + level.key : level.path + "." + level.key;
  }
  void begin(bool map, const YAML::Mark& mark) {
    Level next{map, here(), {}, false, 0, {}};
    value({}, mark);
    open_.push_back(std::move(next));
  }
  void value(const std::string& text, const YAML::Mark& mark) {
    if (open_.empty()) return;
    Level& level = open_.back();
    ++level.index;
    if (!level.map) return;
    level.key_said = !level.key_said;
    level.key = level.key_said ? text : std::string();
    if (!level.key_said || text.empty()) return;
    const int line = mark.line + 1;
    if (const auto [before, is_new] = level.line_of.emplace(text, line); !is_new)
      into_.emplace_back(line, name_ + ":" + std::to_string(line) + ": " + here() + ": duplicate of line " +
                                   std::to_string(before->second) + " (remove one of the two)");
  }

  const std::string& name_;
  std::vector<std::pair<int, std::string>>& into_;
  std::vector<Level> open_;
};

// Finds the first value of a document.
class FirstValue final : public YAML::EventHandler {
 public:
  void OnDocumentStart(const YAML::Mark&) override {}
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark&, YAML::anchor_t) override {}
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t) override { note(mark); }
  void OnScalar(const YAML::Mark& mark, const std::string&, YAML::anchor_t, const std::string&) override { note(mark); }
  void OnSequenceStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t, YAML::EmitterStyle::value) override {
    note(mark);
  }
  void OnSequenceEnd() override {}
  void OnMapStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t, YAML::EmitterStyle::value) override {
    note(mark);
  }
  void OnMapEnd() override {}
  int line = 0;  // 0: none

 private:
  void note(const YAML::Mark& mark) {
    if (line == 0) line = mark.line + 1;
  }
};

}  // namespace

void find_twice(const std::string& text, const std::string& name, std::vector<std::pair<int, std::string>>& into) {
  std::istringstream again(text);
  Twice twice(name, into);
  YAML::Parser parser(again);
  parser.HandleNextDocument(twice);
  // yaml-cpp reads some malformed texts as an endless list of empty documents.
  constexpr int kMostDocuments = 16;
  FirstValue later;
  for (int i = 0; i < kMostDocuments && later.line == 0 && parser.HandleNextDocument(later); ++i) {
  }
  if (later.line != 0)
    into.emplace_back(later.line, name + ":" + std::to_string(later.line) +
                                      ": a second document, which would be ignored (remove the line '---' above)");
}

}  // namespace wattle::config
