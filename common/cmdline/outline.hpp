// outline: a command line as values: commands, options, operands, as its program declares them to CLI11.
// Why      completion scripts and manual pages are made of it, so that neither can say what the program does not
// Source   a CLI::App with all that was declared to it; what is hidden from its help (group "") is left out
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
  std::vector<std::string> names;    // "-o", "--output"; none: an operand
  std::string type;                  // of its value: FILE, DIR, TEXT; empty: a flag
  std::string label;                 // what the value is called: the type; of an operand its name
  std::vector<std::string> choices;  // the only values; none: any
  std::string range;                 // which values, in words: "INT in [1 - 1000]"
  std::string text, standard;        // what it means; its default
  std::size_t most = 1;              // values that it takes at once
  bool required = false;
  bool endless = false;  // it takes as many values as there are

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
