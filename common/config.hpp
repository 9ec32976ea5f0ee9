// config: reads strict YAML configuration. Unknown or duplicate keys, wrong types, durations without a unit and values
// out of range are errors; all errors are reported at once.
// Source   a YAML file; only config.cpp and config_twice.cpp include yaml-cpp
// Errors   malformed, with one line "file:line: key: what (fix)" per mistake in Error::what
// Threads  single owner
//
//   config::Document doc = *config::Document::load(path);   // or Document::parse(text, name)
//   config::Section root = doc.root();
//   root.read("tick", out.tick_s, {.min = 0.1, .max = 60, .unit = config::Unit::seconds});
//   config::Section net = root.section("controller");
//   net.read("endpoint", out.endpoint);
//   WATTLE_CHECK(doc.finish());                              // unknown keys and every mistake so far
//
// A missing key leaves the default in `out`; with `required` it is a mistake.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/result.hpp"

namespace wattle::config {

enum class Unit { none, seconds };  // seconds: written as "250ms", "1s" or "2m"; only 0 needs no unit

struct Bounds {
  double min = -std::numeric_limits<double>::infinity();
  double max = std::numeric_limits<double>::infinity();
  Unit unit = Unit::none;
  bool required = false;
};

// A key that a program reads; the reference of the configuration lists them.
struct Key {
  std::string path;  // "controller.endpoint"; for items of a list "probes[].name"
  std::string kind;  // "text", "boolean", "number", "whole number", "time", "list of texts", ..., or the choices "a, b"
  std::string range;     // "1 to 10", "at least 0"; empty: any
  std::string standing;  // the default; empty: none, or found at run time
  bool required = false;
};

class Document;

class Section {
 public:
  void read(std::string_view key, std::string& out, bool required = false);
  void read(std::string_view key, bool& out);
  void read(std::string_view key, double& out, Bounds bounds = {});
  void read(std::string_view key, std::int64_t& out, Bounds bounds = {});
  void read(std::string_view key, int& out, Bounds bounds = {});
  void read(std::string_view key, std::vector<std::string>& out);
  void read(std::string_view key, std::vector<double>& out, Bounds bounds = {});
  void read(std::string_view key, std::map<std::string, std::string>& out);
  void read(std::string_view key, std::map<std::string, double>& out, Bounds bounds = {});
  // Reads one of the names; `out` becomes its index.
  void read_choice(std::string_view key, std::size_t& out, const std::vector<std::string_view>& names);
  // The map under the key; an empty section if the key is missing.
  Section section(std::string_view key);
  // The maps in the list under the key.
  std::vector<Section> sections(std::string_view key);
  bool has(std::string_view key) const;
  // Adds a mistake about a key of this section.
  void mistake(std::string_view key, std::string_view what, std::string_view fix = {});

 private:
  friend class Document;
  struct Node;
  explicit Section(std::shared_ptr<Node> node);
  std::shared_ptr<Node> node_;
};

class Document {
 public:
  // Fails if the file does not exist or is not YAML.
  static Result<Document> load(const std::string& path);
  // Parses text; `name`: name of the file in messages.
  static Result<Document> parse(const std::string& text, const std::string& name);
  Section root();
  // Returns all mistakes so far, including unknown keys, in one error; success if there is none.
  Status finish();
  // Keys read so far, in order.
  std::vector<Key> keys() const;

 private:
  struct Impl;
  std::shared_ptr<Impl> impl_;
  friend class Section;
};

}  // namespace wattle::config
