// outline: a command line as values: the commands, options and operands that a program declares to CLI11.
// Why      completion scripts and manual pages are generated from it, so that they always match the program
// Source   a fully declared CLI::App; leaves out everything hidden from its help (group "")
// Errors   none
// Threads  any
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace wattle::cmdline {

struct Parameter {
  std::vector<std::string> names;    // "-o", "--output"; empty: an operand
  std::string type;                  // type of its value: FILE, DIR, TEXT; empty: a flag
  std::string label;                 // name of the value: its type; for an operand its name
  std::vector<std::string> choices;  // the only values; empty: any
  std::string range;                 // allowed values in words: "INT in [1 - 1000]"
  std::string text, standard;        // description; default
  std::size_t most = 1;              // number of values per use
  bool required = false;
  bool endless = false;  // takes any number of values

  bool is_file() const { return type == "FILE"; }
  bool is_folder() const { return type == "DIR"; }
};

struct Outline {
  std::string name, about, footer;
  std::vector<Parameter> options, operands;
  std::vector<Outline> commands;
};

Outline outline_of(const CLI::App& app);

}  // namespace wattle::cmdline
