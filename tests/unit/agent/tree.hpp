// tree: a directory of small files as a literal, in a temporary directory that is removed with it.
#pragma once

#include <doctest/doctest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <string>
#include <utility>

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
  void remove(const std::string& name) const { std::filesystem::remove_all(std::filesystem::path(path_) / name); }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace wattle::agent::test
