#pragma once

#include <string>
#include <vector>

#include "apps/cli/argument_types.h"

namespace CLI {
class App;
}

/// The command line as its parser knows it, for what is written from it: completion scripts and the manual
/// page.
namespace sinew::cli {

struct Argument {
  std::vector<std::string> names;  ///< "-o", "--output"; of a positional one its name alone
  bool positional = false;
  bool takes_value = false;
  bool required = false;
  bool repeatable = false;
  std::string type;           ///< FILE, INT, …
  std::string range;          ///< "1 to 8"; empty: any
  std::string default_value;  ///< empty: the description may tell
  std::string description;
  std::vector<std::string> needs, excludes;  ///< names of other options
  Offer offer;                               ///< what completion offers for the value
};

struct Command {
  std::string name;
  std::string summary;
  std::vector<Argument> options;      ///< --help included
  std::vector<Argument> positionals;  ///< in order
};

struct CommandTree {
  Command program;  ///< its options may follow any verb, too, but for --help and --version
  std::vector<Command> verbs;
  std::string footer;
};

/// Of the root of a parser.
CommandTree describe_program(CLI::App& root);

}  // namespace sinew::cli
