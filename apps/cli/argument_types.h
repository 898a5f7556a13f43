#pragma once

#include <string>
#include <vector>

namespace CLI {
class Validator;
}

/// What the values of arguments are. Help and the manual page name these types, completion offers what fits:
/// `add_option(…)->type_name(kFile)`.
namespace sinew::cli {

inline constexpr const char* kFile = "FILE";
inline constexpr const char* kDirectory = "DIR";
inline constexpr const char* kCharacter = "FILE|model:NAME";
inline constexpr const char* kRig = "FILE|model:NAME|template:NAME";
inline constexpr const char* kModelName = "MODEL";  ///< a built-in character, without the model:
inline constexpr const char* kMethod = "METHOD";    ///< a way to deform
inline constexpr const char* kMethods = "METHODS";  ///< several, separated by commas

/// What completion offers for a value.
struct Offer {
  std::vector<std::string> words;
  bool files = false;
  bool directories = false;
  bool list = false;  ///< the words may follow each other, separated by commas

  bool empty() const { return words.empty() && !files && !directories; }
};

/// A check that lets everything pass: help and completion tell what there is, and the verb says itself what
/// is wrong. `add_option(…)->check(choices({"x", "y"}))`.
CLI::Validator choices(const std::vector<std::string>& words);

/// Of any type; nothing for those that are not above.
Offer offer_for(const std::string& type);

}  // namespace sinew::cli
