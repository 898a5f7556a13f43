#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace sinew {

/// Walks over a text file held in memory, word by word, and knows the line it stands on. Blanks are spaces,
/// tabs, form feeds and carriage returns; lines end with \n. Nothing depends on the locale. Copies no text.
class TextScanner {
 public:
  /// `name` is what errors call the file. With `comment` not 0, that character where a word could start hides
  /// the rest of its line. With `continuation`, a backslash at the end of a line makes the next one part of
  /// it.
  TextScanner(std::string_view text, std::string name, char comment, bool continuation);

  bool at_end() const { return place_ == text_.size(); }
  /// True when nothing but blanks and a comment is left on the line.
  bool line_is_done();
  /// Moves behind the end of the line, whatever is left on it.
  void next_line();
  /// Moves to the next word, over line ends; false when there is none.
  bool find_word();
  std::size_t line() const { return line_; }
  /// Bytes not read yet.
  std::size_t bytes_left() const { return text_.size() - place_; }

  /// The next word of the line; empty when the line is done.
  std::string_view word();
  /// What is left of the line up to `stop` (0: all of it), comments included, without blanks around it;
  /// continued lines are joined by a space.
  std::string rest_of_line(char stop = 0);
  /// The next number of the line. Fails when there is none, or when it is not finite.
  float number(const char* what);
  double double_number(const char* what);

  /// Throws Error "body.obj: line 17: " + what.
  [[noreturn]] void fail(const std::string& what) const;

 private:
  void skip_blanks();
  bool at_line_end() const { return place_ == text_.size() || text_[place_] == '\n'; }
  template <class Number>
  Number parse_number(const char* what);

  std::string_view text_;
  std::string name_;
  std::size_t place_ = 0;
  std::size_t line_ = 1;
  char comment_;
  bool continuation_;
};

/// `word` as it may stand in a one-line message: at most 40 bytes, anything that is not printable ASCII
/// replaced.
std::string quoted(std::string_view word);

}  // namespace sinew
