// tree: a directory of small files as a literal, in a temporary directory that is removed with it.
#pragma once

#include <doctest/doctest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <string>
#include <utility>

#include "tests/places.hpp"

namespace wattle::agent::test {

class Tree {
 public:
  Tree(std::initializer_list<std::pair<std::string, std::string>> files = {}) {
    std::string pattern = (std::filesystem::temp_directory_path() / "wattle-agent-XXXXXX").string();
    REQUIRE(::mkdtemp(pattern.data()) != nullptr);
    path_ = pattern;
    for (const auto& [name, content] : files) put(name, content);
  }
  Tree(const Tree&) = delete;
  Tree& operator=(const Tree&) = delete;
  ~Tree() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  // Written in place, as the kernel changes its files, so kept descriptors see it.
  void put(const std::string& name, const std::string& content) const {
    const std::filesystem::path file = std::filesystem::path(path_) / name;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file, std::ios::trunc) << content;
  }
  // Writes the files of a text below tests/fixtures/agent: "== PATH" begins a file, and lines with # are comments.
  void lay_out(const std::string& fixture, const std::string& below = "") const {
    std::ifstream in(tests::source_dir() + "/tests/fixtures/agent/" + fixture);
    REQUIRE(in.is_open());
    std::string line, path, text;
    const auto end = [&] {
      if (!path.empty()) put(below + path, text);
      text.clear();
    };
    while (std::getline(in, line)) {
      if (line.starts_with('#')) continue;
      if (!line.starts_with("== ")) {
        text += line + (in.eof() ? "" : "\n");
        continue;
      }
      end();
      path = line.substr(3);
    }
    REQUIRE(!path.empty());
    end();
  }
  void remove(const std::string& name) const { std::filesystem::remove_all(std::filesystem::path(path_) / name); }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace wattle::agent::test
