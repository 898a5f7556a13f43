#include "apps/cli/man_page.h"

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <utility>

#include <fmt/format.h>

#include <sinew/version.h>

namespace sinew::cli {

namespace {

struct Example {
  const char* what;
  const char* command;
};

constexpr Example kExamples[] = {
    {"What a file holds, and what is wrong with it:", "sinew info human.glb"},
    {"Weights that make a skeleton move a mesh:", "sinew bind body.obj --rig rig.glb -o body.glb"},
    {"A rig, with its controllers, in a mesh that has none:",
     "sinew fit body.obj --rig template:biped -o rigged.glb"},
    {"A picture:", "sinew render human.glb -o human.png"},
    {"Two methods side by side, moving:",
     "sinew render human.glb --clip bend --compare dqs,implicit -o bend.webp"},
    {"What they do to the surface, in figures:",
     "sinew measure human.glb --clip bend --compare dqs,implicit"},
    {"A cache for Blender:", "sinew bake human.glb --clip bend --skin implicit --up z -o bend.pc2"},
    {"Completion in this session of bash:", "source <(sinew completion bash)"},
};

/// Plain text for troff: what it would take for a command is escaped, other characters than ASCII become
/// names.
std::string escaped(const std::string& text) {
  std::string out;
  for (std::size_t i = 0; i < text.size();) {
    const auto c = static_cast<unsigned char>(text[i++]);
    if (c < 0x80) {
      if (c == '\\')
        out += "\\e";
      else if (c == '-')
        out += "\\-";
      else if ((c == '.' || c == '\'') && (out.empty() || out.back() == '\n'))
        out += fmt::format("\\&{}", static_cast<char>(c));
      else if (c == '\'')
        out += "\\(aq";
      else if (c == '`')
        out += "\\(ga";
      else
        out += static_cast<char>(c);
      continue;
    }
    std::uint32_t code = c >= 0xf0 ? c & 0x07u : c >= 0xe0 ? c & 0x0fu : c & 0x1fu;
    while (i < text.size() && (static_cast<unsigned char>(text[i]) & 0xc0) == 0x80)
      code = code << 6 | (static_cast<unsigned char>(text[i++]) & 0x3fu);
    out += fmt::format("\\[u{:04X}]", code);
  }
  return out;
}

/// As the argument of a macro.
std::string argument_of_macro(const std::string& text) {
  std::string out = "\"";
  for (const char c : escaped(text)) out += c == '"' ? std::string("\\(dq") : std::string(1, c);
  return out + "\"";
}

std::string sentence(std::string text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == '.')) text.pop_back();
  if (!text.empty()) text += '.';
  return text;
}

std::string listed(const std::vector<std::string>& words) {
  return fmt::format("{}", fmt::join(words, ", "));
}

/// An option or argument with all that the parser knows of it.
std::string entry(const Argument& argument) {
  std::string head;
  for (const std::string& name : argument.names)
    head += fmt::format("{}\\fB{}\\fR", head.empty() ? "" : ", ", escaped(name));
  if (argument.takes_value && !(argument.positional && argument.type == "TEXT"))
    head += fmt::format(" \\fI{}\\fR", escaped(argument.type));
  std::string text = fmt::format(".TP\n{}\n{}\n", head, escaped(sentence(argument.description)));
  // Files and built-in names are said by the type.
  if (!argument.offer.words.empty() && !argument.offer.files)
    text += escaped(fmt::format("One of: {}.\n", listed(argument.offer.words)));
  if (!argument.range.empty()) text += escaped(fmt::format("Range: {}.\n", argument.range));
  if (!argument.default_value.empty()) text += escaped(fmt::format("Default: {}.\n", argument.default_value));
  if (argument.required) text += "Required.\n";
  if (!argument.needs.empty()) text += escaped(fmt::format("Needs {}.\n", listed(argument.needs)));
  if (!argument.excludes.empty()) text += escaped(fmt::format("Not with {}.\n", listed(argument.excludes)));
  return text;
}

std::string synopsis(const Command& verb) {
  std::string text = fmt::format("sinew {} [OPTIONS]", verb.name);
  for (const Argument& argument : verb.positionals)
    text += argument.required ? " " + argument.names[0] : " [" + argument.names[0] + "]";
  for (const Argument& option : verb.options)
    if (option.required) text += fmt::format(" {} {}", option.names[0], option.type);
  return text;
}

}  // namespace

std::string man_page(const CommandTree& tree) {
  std::string summary = tree.program.summary;
  if (const std::string name = "Sinew "; summary.starts_with(name)) summary.erase(0, name.size());
  while (summary.ends_with('.')) summary.pop_back();
  std::string page = fmt::format(
      ".\\\" Made by `sinew man`.\n.TH SINEW 1 \"\" \"sinew {}\" \"User Commands\"\n.SH NAME\nsinew \\- {}\n",
      SINEW_VERSION, escaped(summary));
  page += ".SH SYNOPSIS\n.B sinew\n[\\fIOPTIONS\\fR] \\fIVERB\\fR [\\fIARGUMENTS\\fR]\n";
  page += fmt::format(
      ".SH DESCRIPTION\n{}\nData goes to standard output, messages and progress to standard error.\n",
      escaped(tree.program.summary));
  page += "The verbs are:\n";
  for (const Command& verb : tree.verbs)
    page += fmt::format(".TP\n.B {}\n{}\n", verb.name, escaped(sentence(verb.summary)));
  page += ".SH OPTIONS\nThose that take a value may follow the verb, too.\n";
  for (const Argument& option : tree.program.options) page += entry(option);
  page += ".SH VERBS\n";
  for (const Command& verb : tree.verbs) {
    page += fmt::format(".SS {}\n{}\n", argument_of_macro(synopsis(verb)), escaped(sentence(verb.summary)));
    for (const Argument& argument : verb.positionals) page += entry(argument);
    for (const Argument& option : verb.options) page += entry(option);
  }
  page +=
      fmt::format(".SH ENVIRONMENT\n.TP\n.BR SINEW_CACHE \", \" XDG_CACHE_HOME\n{}\n", escaped(tree.footer));
  page +=
      ".SH EXIT STATUS\n.TP\n.B 0\nThe verb did what it was asked to do.\n.TP\n.B 1\nIt failed, and one line "
      "on "
      "standard error says why.\nOutput files appear whole or not at all.\n";
  page += ".SH EXAMPLES\n";
  for (const Example& example : kExamples)
    page += fmt::format(".PP\n{}\n.PP\n.RS\n.nf\n{}\n.fi\n.RE\n", escaped(example.what),
                        escaped(example.command));
  return page;
}

}  // namespace sinew::cli
