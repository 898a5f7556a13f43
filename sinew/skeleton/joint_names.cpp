#include <sinew/skeleton/joint_names.h>

#include <algorithm>
#include <array>
#include <span>
#include <tuple>

#include <sinew/core/text.h>

namespace sinew {

namespace {

// Enough letters each to be looked for anywhere in a name.
constexpr std::string_view kLimbs[] = {
    "arm",      "hand",   "wrist", "elbow", "shoulder", "clavicle", "collar", "scapula", "leg",    "thigh",
    "calf",     "shin",   "knee",  "foot",  "feet",     "ankle",    "toe",    "paw",     "hoof",   "metatars",
    "metacarp", "finger", "thumb", "index", "middle",   "ring",     "pinky",  "hip",     "pelvis", "wing"};
constexpr std::string_view kHips[] = {"hips", "pelvis", "hip"};
constexpr std::string_view kTrunk[] = {"spine", "chest", "waist", "abdomen"};
constexpr std::string_view kTail[] = {"tail"};
constexpr std::string_view kGround[] = {"root",   "master",    "world",    "global", "origin",
                                        "ground", "reference", "armature", "motion"};

struct SoftWords {
  SoftPart part;
  std::array<std::string_view, 4> words;
};
constexpr SoftWords kSoftParts[] = {
    {SoftPart::tail, {"tail", "tails"}},
    {SoftPart::tentacle, {"tentacle", "tentacles"}},
    {SoftPart::trunk, {"trunk", "proboscis"}},
    {SoftPart::ear, {"ear", "ears"}},
    {SoftPart::hair, {"hair", "braid", "ponytail", "strand"}},
    {SoftPart::rope, {"rope", "whip"}},
    {SoftPart::antenna, {"antenna", "antennae"}},
    {SoftPart::tongue, {"tongue"}},
    {SoftPart::spine, {"spine", "neck", "vertebra"}},
};

struct FleshWords {
  FleshPart part;
  std::array<std::string_view, 5> words;
};
constexpr FleshWords kFleshParts[] = {
    {FleshPart::thigh, {"thigh", "upleg", "upperleg", "femur"}},
    {FleshPart::calf, {"calf", "shin", "lowerleg", "crus"}},
    {FleshPart::upper_arm, {"upperarm", "uparm", "leftarm", "rightarm", "humerus"}},
    {FleshPart::breast, {"breast", "boob", "bust"}},
    {FleshPart::cheek, {"cheek"}},
    {FleshPart::buttock, {"butt", "glute"}},
};

/// The first word of each row stands for all of them; fingers come last.
constexpr std::size_t kFirstFinger = 13;
constexpr std::array<std::array<std::string_view, 6>, 18> kSynonyms{{
    {"hips", "pelvis", "hip", "hips1"},
    {"thigh", "upleg", "upperleg", "uplegs", "thigh1"},
    {"shin", "leg", "lowerleg", "calf", "knee", "lowleg"},
    {"foot", "ankle"},
    {"toe", "toebase", "ball", "toes", "toe0", "toe1"},
    {"clavicle", "shoulder", "collar", "collarbone"},
    {"upperarm", "arm", "uparm", "shldr", "upperarm1"},
    {"forearm", "lowerarm", "elbow", "lowarm"},
    {"hand", "wrist"},
    {"spine", "abdomen", "spine0"},
    {"chest", "torso"},
    {"neck", "neck1"},
    {"head"},
    {"thumb", "handthumb"},
    {"index", "handindex", "findex"},
    {"middle", "handmiddle", "fmiddle", "mid"},
    {"ring", "handring", "fring"},
    {"pinky", "handpinky", "fpinky", "little", "handlittle"},
}};

bool has_any(const std::string& text, std::span<const std::string_view> words) {
  return std::any_of(words.begin(), words.end(), [&](std::string_view word) {
    return !word.empty() && text.find(word) != std::string::npos;
  });
}

bool separates_words(char c) {
  return c == '_' || c == '.' || c == '-' || c == ' ';
}

bool ends_with_word(std::string_view text, std::string_view word) {
  return text.size() > word.size() && text.ends_with(word) &&
         separates_words(text[text.size() - word.size() - 1]);
}

bool starts_with_word(std::string_view text, std::string_view word) {
  return text.size() > word.size() && text.starts_with(word) && separates_words(text[word.size()]);
}

}  // namespace

std::string letters_of(std::string_view name) {
  std::string letters;
  for (const char c : name)
    if (is_letter(c)) letters += lower_case(c);
  return letters;
}

std::vector<std::string> words_of(std::string_view name) {
  std::vector<std::string> words;
  std::size_t begin = 0;
  for (std::size_t i = 0; i <= name.size(); ++i) {
    const bool ends = i == name.size() || !is_letter(name[i]);
    const bool hump = !ends && i > begin && is_upper(name[i]) && !is_upper(name[i - 1]);
    if (!ends && !hump) continue;
    if (i > begin) words.push_back(lower_case(std::string(name.substr(begin, i - begin))));
    begin = ends ? i + 1 : i;
  }
  return words;
}

std::string_view without_namespace(std::string_view name) {
  const std::size_t last = name.find_last_of(":|");
  return last != std::string_view::npos && last + 1 < name.size() ? name.substr(last + 1) : name;
}

bool is_limb_name(std::string_view name) {
  return has_any(lower_case(std::string(name)), kLimbs);
}

bool is_hip_name(std::string_view name) {
  return has_any(letters_of(name), kHips);
}

bool is_trunk_name(std::string_view name) {
  return has_any(letters_of(name), kTrunk);
}

bool is_tail_name(std::string_view name) {
  return has_any(letters_of(name), kTail);
}

bool is_ground_name(std::string_view name) {
  return std::find(std::begin(kGround), std::end(kGround), letters_of(name)) != std::end(kGround);
}

int head_likeness(std::string_view name) {
  std::string word = lower_case(std::string(name));
  for (const char* separator : {":", "|", "-"})
    if (const std::size_t at = word.rfind(separator); at != std::string::npos) word.erase(0, at + 1);
  if (word == "head" || word == "skull") return 3;
  if (word.starts_with("head") || word.ends_with("_head") || word.ends_with(".head")) return 2;
  const std::size_t at = word.find("head");
  return at != std::string::npos && !word.starts_with("fore") ? 1 : 0;
}

SoftPart soft_part_of(std::string_view name) {
  for (const std::string& word : words_of(name))
    for (const SoftWords& soft : kSoftParts)
      if (std::find(soft.words.begin(), soft.words.end(), word) != soft.words.end()) return soft.part;
  return SoftPart::none;
}

FleshPart flesh_part_of(std::string_view name) {
  const std::string letters = letters_of(name);
  for (const FleshWords& flesh : kFleshParts)
    if (has_any(letters, flesh.words)) return flesh.part;
  return FleshPart::none;
}

PlainName plain_name(std::string_view name) {
  name = without_namespace(name);
  const bool poser_side =
      name.size() > 1 && (name[0] == 'l' || name[0] == 'r') && is_upper(name[1]);  // lThigh
  std::string text = lower_case(std::string(name));
  for (const std::string_view prefix :
       {"mixamorig", "def-", "org-", "mch-", "bip01 ", "bip001 ", "bip01_", "bip001_"})
    if (text.starts_with(prefix) && text.size() > prefix.size()) text.erase(0, prefix.size());
  while (!text.empty() && separates_words(text.front())) text.erase(0, 1);

  PlainName plain;
  for (const auto& [side, word, letter] : {std::tuple('l', "left", "l"), std::tuple('r', "right", "r")}) {
    const std::string_view whole(word);
    if (text.starts_with(whole) && text.size() > whole.size()) {
      text.erase(0, whole.size());
    } else if (text.ends_with(whole) && text.size() > whole.size()) {
      text.erase(text.size() - whole.size());
    } else if (ends_with_word(text, letter)) {
      text.pop_back();
    } else if (starts_with_word(text, letter) || (poser_side && text[0] == side)) {
      text.erase(0, 1);
    } else {
      // Blender numbers copies behind the side: "hand.L.001".
      const std::string inner = std::string(".") + letter + ".";
      const std::size_t place = text.find(inner);
      if (place == std::string::npos || place == 0) continue;
      text.erase(place, 2);
    }
    plain.side = side;
    break;
  }
  // Separators go, and zeros before a number: "spine.001" and "Spine1" are the same word.
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto digit = [&](std::size_t at) { return at < text.size() && is_digit(text[at]); };
    if (separates_words(text[i])) continue;
    if (text[i] == '0' && digit(i + 1) && (i == 0 || !digit(i - 1) || text[i - 1] == '0')) continue;
    plain.part.push_back(text[i]);
  }
  return plain;
}

std::string usual_part_name(const std::string& part) {
  // Finger joints carry their number behind the word.
  std::size_t end = part.size();
  while (end > 0 && is_digit(part[end - 1])) --end;
  for (const auto& row : kSynonyms)
    for (const std::string_view word : row) {
      if (word.empty()) continue;
      if (part == word) return std::string(row[0]);
    }
  const std::string_view stem = std::string_view(part).substr(0, end);
  for (std::size_t row = kFirstFinger; row < kSynonyms.size(); ++row)
    for (const std::string_view word : kSynonyms[row])
      if (!word.empty() && stem == word) return std::string(kSynonyms[row][0]) + part.substr(end);
  return part;
}

}  // namespace sinew
