#include "apps/cli/completion_scripts.h"

#include <algorithm>
#include <iterator>
#include <map>

#include <fmt/format.h>

namespace sinew::cli {

namespace {

std::string joined(const std::vector<std::string>& words, const char* separator) {
  return fmt::format("{}", fmt::join(words, separator));
}

void replace_all(std::string& text, const std::string& from, const std::string& to) {
  for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
    text.replace(at, from.size(), to);
}

/// A word in single quotes, for bash and zsh.
std::string quoted(std::string text) {
  replace_all(text, "'", "'\\''");
  return "'" + text + "'";
}

/// The program's options that may follow a verb, which has its own --help.
std::vector<Argument> options_everywhere(const CommandTree& tree) {
  std::vector<Argument> options;
  std::copy_if(tree.program.options.begin(), tree.program.options.end(), std::back_inserter(options),
               [](const Argument& option) { return option.takes_value; });
  return options;
}

std::vector<Argument> options_of(const Command& verb, const CommandTree& tree) {
  std::vector<Argument> options = verb.options;
  for (Argument& option : options_everywhere(tree)) options.push_back(std::move(option));
  return options;
}

/// All that any positional argument of a verb may be.
Offer positional_offer(const Command& verb) {
  Offer all;
  for (const Argument& argument : verb.positionals) {
    all.files = all.files || argument.offer.files;
    all.directories = all.directories || argument.offer.directories;
    for (const std::string& word : argument.offer.words)
      if (std::find(all.words.begin(), all.words.end(), word) == all.words.end()) all.words.push_back(word);
  }
  return all;
}

std::string option_names(const std::vector<Argument>& options) {
  std::string names;
  for (const Argument& option : options)
    for (const std::string& name : option.names) names += (names.empty() ? "" : " ") + name;
  return names;
}

// ---- bash

std::string bash_offer(const Offer& offer) {
  std::string text = fmt::format("words={}", quoted(joined(offer.words, " ")));
  if (offer.files) text += " paths=-f";
  if (offer.directories) text += " paths=-d";
  if (offer.list) text += " list=yes";
  return text;
}

/// The branches of a case on the word before: options that take a value.
std::string bash_values(const std::vector<Argument>& options, const char* indent) {
  std::string text;
  for (const Argument& option : options)
    if (option.takes_value)
      text +=
          fmt::format("{}{}) value=yes {} ;;\n", indent, joined(option.names, "|"), bash_offer(option.offer));
  return text;
}

// ---- zsh

/// Within the brackets of an option's description, or before a colon.
std::string zsh_text(std::string text) {
  replace_all(text, "\\", "\\\\");
  for (const char* special : {"[", "]", ":"}) replace_all(text, special, "\\" + std::string(special));
  return text;
}

/// Functions that offer values, one for each kind of offer.
class ZshOffers {
 public:
  /// The name of the function for an offer; a blank for one that has nothing.
  std::string function(const Offer& offer) {
    if (offer.empty()) return " ";
    std::string body;
    if (offer.list)
      body += fmt::format("  _values -s , value {}\n", quoted_words(offer));
    else if (!offer.words.empty())
      body += fmt::format("  compadd -- {}\n", quoted_words(offer));
    if (offer.files) body += "  _files\n";
    if (offer.directories) body += "  _files -/\n";
    return names_.try_emplace(body, fmt::format("_sinew_values_{}", names_.size() + 1)).first->second;
  }

  std::string definitions() const {
    std::string text;
    for (const auto& [body, name] : names_) text += fmt::format("{}() {{\n{}}}\n\n", name, body);
    return text;
  }

 private:
  static std::string quoted_words(const Offer& offer) {
    std::string text;
    for (const std::string& word : offer.words) text += (text.empty() ? "" : " ") + quoted(word);
    return text;
  }

  std::map<std::string, std::string> names_;  // by what the functions do
};

/// Arguments of zsh's _arguments for one option: a line for each of its names.
std::string zsh_option(const Argument& option, ZshOffers& offers, const char* indent) {
  std::string text;
  for (const std::string& name : option.names) {
    std::string spec;
    if (option.repeatable)
      spec = "*";
    else if (option.names.size() > 1)
      spec = "(" + joined(option.names, " ") + ")";
    spec += fmt::format("{}[{}]", name, zsh_text(option.description));
    if (option.takes_value)
      spec += fmt::format(":{}:{}", zsh_text(option.type), offers.function(option.offer));
    text += fmt::format("{}{} \\\n", indent, quoted(spec));
  }
  return text;
}

// ---- fish

std::string fish_quoted(std::string text) {
  replace_all(text, "\\", "\\\\");
  replace_all(text, "'", "\\'");
  return "'" + text + "'";
}

std::string fish_offer(const Offer& offer) {
  std::string text = offer.files ? " -F" : "";
  if (offer.list)
    text += " -a " + fish_quoted("(__fish_append , " + joined(offer.words, " ") + ")");
  else if (!offer.words.empty())
    text += " -a " + fish_quoted(joined(offer.words, " "));
  if (offer.directories) text += " -a '(__fish_complete_directories)'";
  return text;
}

std::string fish_option(const std::string& condition, const Argument& option) {
  std::string text = "complete -c sinew" + condition;
  for (const std::string& name : option.names)
    text += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
  if (option.takes_value) text += (option.offer.files ? " -r" : " -x") + fish_offer(option.offer);
  return text + " -d " + fish_quoted(option.description) + "\n";
}

}  // namespace

std::string bash_completion(const CommandTree& tree) {
  std::string verb_names;
  for (const Command& verb : tree.verbs) verb_names += (verb_names.empty() ? "" : "|") + verb.name;
  std::string text = fmt::format(R"(# Completion of sinew for bash, made by `sinew completion bash`.
_sinew() {{
  local line=${{COMP_LINE:0:COMP_POINT}} current previous word verb= value= options= words= paths= list= prefix=
  local -a before=()
  # COMP_WORDS is split at the colon of model:NAME, too.
  current=${{line##*[[:space:]]}}
  read -r -a before <<<"${{line%"$current"}}"
  previous=${{before[${{#before[@]}}-1]}}
  for word in "${{before[@]:1}}"; do
    case $word in
      {}) verb=$word; break ;;
    esac
  done
)",
                                 verb_names);
  text += "  case $verb in\n";
  for (const Command& verb : tree.verbs) {
    const std::vector<Argument> options = options_of(verb, tree);
    text += fmt::format("    {})\n      options={}\n      case $previous in\n", verb.name,
                        quoted(option_names(options)));
    text += bash_values(options, "        ");
    text += fmt::format("        *) {} ;;\n      esac ;;\n", bash_offer(positional_offer(verb)));
  }
  std::string verbs = verb_names;
  std::replace(verbs.begin(), verbs.end(), '|', ' ');
  text += fmt::format(
      "    *)\n      options={}\n      case $previous in\n{}        *) words={} ;;\n      esac ;;\n  esac\n",
      quoted(option_names(tree.program.options)), bash_values(tree.program.options, "        "),
      quoted(verbs));
  text += R"(  if [[ -z $value && $current == -* ]]; then
    words=$options paths= list=
  elif [[ -n $list && $current == *,* ]]; then
    prefix=${current%,*},
  fi
  COMPREPLY=()
  while IFS= read -r word; do
    COMPREPLY+=("$word")
  done < <(
    [[ -n $words ]] && compgen -P "$prefix" -W "$words" -- "${current#"$prefix"}"
    [[ -n $paths ]] && compgen "$paths" -- "$current"
  )
  # Only what stands behind the last colon is replaced.
  if [[ $current == *:* && $COMP_WORDBREAKS == *:* ]]; then
    COMPREPLY=("${COMPREPLY[@]#"${current%"${current##*:}"}"}")
  elif [[ -n $paths && "${COMPREPLY[*]}" != *:* ]]; then
    compopt -o filenames 2>/dev/null
  fi
}
complete -F _sinew sinew
)";
  return text;
}

std::string zsh_completion(const CommandTree& tree) {
  ZshOffers offers;
  std::string main =
      "_sinew() {\n  local curcontext=$curcontext state line\n  typeset -A opt_args\n  _arguments -C \\\n";
  for (const Argument& option : tree.program.options) main += zsh_option(option, offers, "    ");
  main += "    '1:verb:->verb' \\\n    '*::argument:->arguments'\n  case $state in\n    verb)\n";
  main += "      local -a verbs=(\n";
  for (const Command& verb : tree.verbs)
    main += fmt::format("        {}\n", quoted(verb.name + ":" + zsh_text(verb.summary)));
  main += "      )\n      _describe verb verbs ;;\n    arguments)\n      case $words[1] in\n";
  for (const Command& verb : tree.verbs) {
    main += fmt::format("        {})\n          _arguments \\\n", verb.name);
    for (const Argument& option : options_of(verb, tree)) main += zsh_option(option, offers, "            ");
    int place = 0;
    for (const Argument& argument : verb.positionals)
      main += fmt::format("            {} \\\n",
                          quoted(fmt::format("{}:{}:{}", ++place, zsh_text(argument.names[0]),
                                             offers.function(argument.offer))));
    main += "            && return 0 ;;\n";
  }
  main += "      esac ;;\n  esac\n}\n";
  return "#compdef sinew\n# Completion of sinew for zsh, made by `sinew completion zsh`.\n\n" +
         offers.definitions() + main + "\n_sinew \"$@\"\n";
}

std::string fish_completion(const CommandTree& tree) {
  std::string text =
      "# Completion of sinew for fish, made by `sinew completion fish`.\n"
      "complete -c sinew -f\n";
  const std::string no_verb = " -n __fish_use_subcommand";
  for (const Command& verb : tree.verbs)
    text += fmt::format("complete -c sinew{} -a {} -d {}\n", no_verb, verb.name, fish_quoted(verb.summary));
  for (const Argument& option : tree.program.options) text += fish_option(no_verb, option);
  for (const Command& verb : tree.verbs) {
    const std::string condition = fmt::format(" -n '__fish_seen_subcommand_from {}'", verb.name);
    for (const Argument& option : options_of(verb, tree)) text += fish_option(condition, option);
    const Offer offer = positional_offer(verb);
    if (!offer.empty()) text += "complete -c sinew" + condition + fish_offer(offer) + "\n";
  }
  return text;
}

}  // namespace sinew::cli
