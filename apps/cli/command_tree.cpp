#include "apps/cli/command_tree.h"

#include <algorithm>
#include <functional>
#include <set>
#include <utility>

#include <CLI/CLI.hpp>

namespace sinew::cli {

namespace {

/// The parts of "{a,b,c}"; none of other texts.
std::vector<std::string> members_of(const std::string& text) {
  std::vector<std::string> members;
  if (text.size() < 2 || text.front() != '{' || text.back() != '}') return members;
  for (std::size_t begin = 1; begin < text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size() - 1);
    members.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return members;
}

/// What the parser's checks say about themselves: "{a,b,c}" or "INT in [1 - 8]".
std::vector<std::string> checks_of(CLI::Option& option) {
  std::vector<std::string> checks;
  try {
    for (int i = 0;; ++i) checks.push_back(option.get_validator(i)->get_description());
  } catch (const CLI::OptionNotFound&) {
    return checks;  // the only way to learn how many there are
  }
}

/// In the order of the alphabet: the parser has them in that of their addresses.
std::vector<std::string> names_of(const std::set<CLI::Option*>& options) {
  std::vector<std::string> names;
  for (const CLI::Option* option : options) names.push_back(option->get_name());
  std::sort(names.begin(), names.end());
  return names;
}

Argument describe_option(CLI::Option& option) {
  Argument argument;
  argument.positional = option.get_positional();
  if (argument.positional) argument.names.push_back(option.get_name(true));
  for (const std::string& name : option.get_snames()) argument.names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) argument.names.push_back("--" + name);
  argument.takes_value = option.get_items_expected_min() > 0;
  argument.required = option.get_required();
  argument.repeatable = option.get_expected_max() == CLI::detail::expected_max_vector_size;
  argument.default_value = option.get_default_str();
  argument.description = option.get_description();
  argument.needs = names_of(option.get_needs());
  argument.excludes = names_of(option.get_excludes());
  if (!argument.takes_value) return argument;
  argument.type = option.get_type_name();  // the checks' texts follow it
  std::size_t behind = 0;
  for (const std::string& check : checks_of(option)) {
    if (check.empty()) continue;
    behind += 1 + check.size();
    argument.offer.words = members_of(check);
    const std::size_t range = check.find(" in [");
    if (range == std::string::npos) continue;
    argument.range = check.substr(range + 5, check.size() - range - 6);
    if (const std::size_t dash = argument.range.find(" - "); dash != std::string::npos)
      argument.range.replace(dash, 3, " to ");
  }
  argument.type.resize(argument.type.size() - behind);
  if (argument.offer.words.empty()) argument.offer = offer_for(argument.type);
  return argument;
}

Command describe_command(CLI::App& app) {
  Command command;
  command.name = app.get_name();
  command.summary = app.get_description();
  while (command.summary.ends_with('\n')) command.summary.pop_back();
  for (CLI::Option* option : app.get_options(std::function<bool(CLI::Option*)>())) {
    Argument argument = describe_option(*option);
    (argument.positional ? command.positionals : command.options).push_back(std::move(argument));
  }
  return command;
}

}  // namespace

CommandTree describe_program(CLI::App& root) {
  CommandTree tree;
  tree.program = describe_command(root);
  tree.footer = root.get_footer();
  for (CLI::App* verb : root.get_subcommands([](CLI::App*) { return true; }))
    tree.verbs.push_back(describe_command(*verb));
  return tree;
}

}  // namespace sinew::cli
