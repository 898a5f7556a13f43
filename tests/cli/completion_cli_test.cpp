// `sinew completion` and `sinew man` write from the parser's own description; here they are held against
// --help.
#include <algorithm>
#include <cstdlib>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <sinew/character/layer.h>
#include <sinew/core/file.h>

#include "tests/support/cli_fixture.h"

namespace sinew {
namespace {

using test::Outcome;

class CompletionCli : public test::CliFixture {
 protected:
  std::string output_of(const std::string& arguments) {
    const Outcome outcome = sinew(arguments);
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    EXPECT_EQ(outcome.err, "");
    return outcome.out;
  }

  /// Verbs and their options, -s and --long, as help has them; those of the program under "".
  std::map<std::string, std::set<std::string>> options_in_help() {
    std::map<std::string, std::set<std::string>> options;
    std::vector<std::string> verbs{""};
    std::istringstream help(output_of("--help"));
    bool listed = false;
    for (std::string line; std::getline(help, line);) {
      if (line.starts_with("Subcommands:")) {
        listed = true;
      } else if (listed && line.starts_with("  ")) {
        verbs.push_back(line.substr(2, line.find(' ', 2) - 2));
      } else if (listed) {
        break;
      }
    }
    for (const std::string& verb : verbs) {
      std::istringstream lines(output_of(verb + " --help"));
      for (std::string line; std::getline(lines, line);) {
        if (!line.starts_with("  -")) continue;
        std::istringstream names(line.substr(2, line.find(' ', 2) - 2));
        for (std::string name; std::getline(names, name, ',');) options[verb].insert(name);
      }
    }
    return options;
  }

  /// What bash would offer for a line with the cursor behind it.
  std::vector<std::string> bash_offers(const std::string& line) {
    write_file(directory_ / "sinew.bash", output_of("completion bash"));
    write_file(directory_ / "try.bash", "COMP_WORDBREAKS=$' \\t\\n\"\\'><=;|&(:'\nsource " +
                                            path("sinew.bash") + "\ncd " + directory_.path().string() +
                                            "\nCOMP_LINE='" + line + "'\nCOMP_POINT=${#COMP_LINE}\n_sinew\n" +
                                            "printf '%s\\n' \"${COMPREPLY[@]}\" >replies\n");
    EXPECT_EQ(std::system(("bash " + path("try.bash")).c_str()), 0);
    std::vector<std::string> offers;
    std::istringstream replies{std::string(as_text(read_file(directory_ / "replies")))};
    for (std::string reply; std::getline(replies, reply);)
      if (!reply.empty()) offers.push_back(reply);
    return offers;
  }

  static bool there_is(const std::string& program) {
    return std::system(("command -v " + program + " >/dev/null 2>&1").c_str()) == 0;
  }
};

/// The part of a text from `begin` to the next `end`.
std::string part_of(const std::string& text, const std::string& begin, const std::string& end) {
  const std::size_t at = text.find(begin);
  if (at == std::string::npos) return {};
  return text.substr(at, text.find(end, at + begin.size()) - at);
}

/// Whether a word stands in a text and does not go on.
bool has_word(const std::string& text, const std::string& word) {
  const auto goes_on = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || c == '-' || c == '_';
  };
  for (std::size_t at = 0; (at = text.find(word, at)) != std::string::npos; ++at)
    if (at + word.size() >= text.size() || !goes_on(text[at + word.size()])) return true;
  return false;
}

std::string in_roff(std::string text) {
  for (std::size_t at = 0; (at = text.find('-', at)) != std::string::npos; at += 2)
    text.replace(at, 1, "\\-");
  return text;
}

TEST_F(CompletionCli, NamesEveryVerbAndOption) {
  const std::string bash = output_of("completion bash"), zsh = output_of("completion zsh"),
                    fish = output_of("completion fish"), man = output_of("man");
  const auto all = options_in_help();
  EXPECT_GE(all.size(), 15u);
  std::size_t options = 0;
  for (const auto& [verb, names] : all) {
    const std::string bash_part =
                          part_of(bash, verb.empty() ? "\n    *)\n" : "\n    " + verb + ")\n", "esac ;;"),
                      zsh_part = verb.empty() ? part_of(zsh, "_arguments -C", "->verb")
                                              : part_of(zsh, "        " + verb + ")\n", "return 0"),
                      man_part = verb.empty() ? part_of(man, ".SH OPTIONS", ".SH VERBS")
                                              : part_of(man, ".SS \"sinew " + verb + " ", "\n.S");
    std::string fish_part;
    std::istringstream lines(fish);
    const std::string condition =
        verb.empty() ? "-n __fish_use_subcommand " : "-n '__fish_seen_subcommand_from " + verb + "' ";
    for (std::string line; std::getline(lines, line);)
      if (line.find(condition) != std::string::npos) fish_part += line + "\n";
    for (const std::string& part : {bash_part, zsh_part, man_part, fish_part}) EXPECT_NE(part, "") << verb;
    EXPECT_NE(fish.find("-a " + verb), std::string::npos) << verb;
    for (const std::string& name : names) {
      EXPECT_TRUE(has_word(bash_part, name)) << verb << " " << name << " in bash";
      EXPECT_TRUE(has_word(zsh_part, name)) << verb << " " << name << " in zsh";
      EXPECT_TRUE(has_word(man_part, in_roff(name))) << verb << " " << name << " in the manual page";
      const std::string in_fish = name.starts_with("--") ? "-l " + name.substr(2) : "-s " + name.substr(1);
      EXPECT_TRUE(has_word(fish_part, in_fish)) << verb << " " << name << " in fish";
      ++options;
    }
  }
  EXPECT_GT(options, 100u);
}

TEST_F(CompletionCli, ScriptsAreValid) {
  for (const auto& [shell, check] : {std::pair("bash", "bash -n "), std::pair("zsh", "zsh -n "),
                                     std::pair("fish", "fish --no-execute ")}) {
    if (!there_is(shell)) continue;
    write_file(directory_ / shell, output_of(std::string("completion ") + shell));
    EXPECT_EQ(std::system((check + path(shell)).c_str()), 0) << shell;
  }
}

TEST_F(CompletionCli, BashOffersWhatFits) {
  if (!there_is("bash")) GTEST_SKIP() << "no bash here";
  using Words = std::vector<std::string>;
  write_file(directory_ / "body.glb", "");
  write_file(directory_ / "my body.glb", "");
  std::filesystem::create_directory(directory_ / "box");
  EXPECT_EQ(bash_offers("sinew ba"), (Words{"bake"}));
  EXPECT_EQ(bash_offers("sinew --threads 2 ba"), (Words{"bake"}));
  EXPECT_EQ(bash_offers("sinew --v"), (Words{"--version"}));
  EXPECT_EQ(bash_offers("sinew bake --sk"), (Words{"--skin"}));
  EXPECT_EQ(bash_offers("sinew bake body.glb --thr"), (Words{"--threads"}));
  EXPECT_EQ(bash_offers("sinew bake --skin implici"), (Words{"implicit"}));
  EXPECT_EQ(bash_offers("sinew bake --skin ").size(), layer_methods().size());
  EXPECT_EQ(bash_offers("sinew bake --up "), (Words{"y", "z"}));
  EXPECT_EQ(bash_offers("sinew bake --frames "), (Words{})) << "anything may follow";
  EXPECT_EQ(bash_offers("sinew bind --symmetry n"), (Words{"none"}));
  EXPECT_EQ(bash_offers("sinew measure body.glb --compare dqs,ela"), (Words{"dqs,elastic"}));
  EXPECT_EQ(bash_offers("sinew bake bod"), (Words{"body.glb"}));
  EXPECT_EQ(bash_offers("sinew bake --loop bod"), (Words{"body.glb"})) << "a flag takes no value";
  EXPECT_EQ(bash_offers("sinew bake my"), (Words{"my body.glb"}));
  EXPECT_EQ(bash_offers("sinew bake model:mann"), (Words{"mannequin"})) << "model: stands there already";
  EXPECT_EQ(bash_offers("sinew bake model:m"), (Words{"mannequin"}));
  EXPECT_EQ(bash_offers("sinew fit body.glb --rig template:b"), (Words{"biped"}));
  EXPECT_EQ(bash_offers("sinew generate mann"), (Words{"mannequin"}));
  EXPECT_EQ(bash_offers("sinew demo -o b"), (Words{"box"})) << "a directory is wanted";
  EXPECT_EQ(bash_offers("sinew completion "), (Words{"bash", "zsh", "fish"}));
}

TEST_F(CompletionCli, ManualPageIsComplete) {
  const std::string man = output_of("man");
  std::size_t last = 0;
  for (const char* heading :
       {".SH NAME\nsinew \\- rigs characters", ".SH SYNOPSIS", ".SH DESCRIPTION", ".SH OPTIONS", ".SH VERBS",
        ".SH ENVIRONMENT", ".SH EXIT STATUS", ".SH EXAMPLES"}) {
    const std::size_t at = man.find(heading);
    ASSERT_NE(at, std::string::npos) << heading;
    EXPECT_GT(at, last) << heading;
    last = at;
  }
  EXPECT_TRUE(
      std::all_of(man.begin(), man.end(), [](char c) { return static_cast<unsigned char>(c) < 0x80; }));
  EXPECT_NE(man.find("SINEW_CACHE"), std::string::npos);
  for (const char* text : {"One of: draft, final.", "Default: heat.", "Range: 1 to 1024.",
                           "Not with \\-\\-skin.", "Required.", "Needs \\-\\-profiles."})
    EXPECT_NE(man.find(text), std::string::npos) << text;
  if (!there_is("groff")) GTEST_SKIP() << "no groff here";
  write_file(directory_ / "sinew.1", man);
  EXPECT_EQ(std::system(("groff -man -ww -z " + path("sinew.1") + " 2>" + path("warnings")).c_str()), 0);
  EXPECT_EQ(as_text(read_file(directory_ / "warnings")), "");
}

TEST_F(CompletionCli, ExamplesOfTheManualPageUseRealOptions) {
  const auto options = options_in_help();
  std::istringstream man(output_of("man"));
  int examples = 0;
  for (std::string line; std::getline(man, line);) {
    if (!line.starts_with("sinew ") || line.starts_with("sinew \\-")) continue;
    line = std::regex_replace(line, std::regex(R"(\\-)"), "-");
    std::istringstream words(line.substr(6));
    std::string verb;
    words >> verb;
    ASSERT_TRUE(options.contains(verb)) << line;
    for (std::string word; words >> word;)
      EXPECT_TRUE(!word.starts_with("-") || options.at(verb).contains(word)) << line;
    ++examples;
  }
  EXPECT_GE(examples, 6);
}

TEST_F(CompletionCli, Mistakes) {
  expect_failure("completion", "SHELL");
  expect_failure("completion tcsh", "bash,zsh,fish");
}

}  // namespace
}  // namespace sinew
