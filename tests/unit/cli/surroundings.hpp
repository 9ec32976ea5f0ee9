// surroundings: an environment of `wattle` that a test can inspect.
#pragma once

#include <doctest/doctest.h>

#include <cstdlib>
#include <filesystem>
#include <map>
#include <sstream>
#include <string>

#include "cli/app.hpp"

namespace wattle::cli::test {

struct Outside {
  std::ostringstream out, err;
  std::map<std::string, std::string> variables;
  bool terminal = false;

  int run(const std::vector<std::string>& words) {
    out.str("");
    err.str("");
    Surroundings around{out, err, terminal, [this](const char* name) -> std::optional<std::string> {
                          const auto found = variables.find(name);
                          return found == variables.end() ? std::nullopt : std::optional(found->second);
                        }};
    return run_app(words, around);
  }
  bool complains_of(const std::string& text) const { return err.str().find(text) != std::string::npos; }
};

struct Folder {
  Folder() {
    std::string name = (std::filesystem::temp_directory_path() / "wattle-cli-XXXXXX").string();
    REQUIRE(::mkdtemp(name.data()) != nullptr);
    path = name;
  }
  ~Folder() { std::filesystem::remove_all(path); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  std::string operator/(const std::string& name) const { return path + "/" + name; }
  std::string path;
};

}  // namespace wattle::cli::test
