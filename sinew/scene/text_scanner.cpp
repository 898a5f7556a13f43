#include <sinew/scene/text_scanner.h>

#include <charconv>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include <sinew/core/error.h>
#include <sinew/core/index.h>

namespace sinew {

namespace {

bool is_blank(char c) {
  return c == ' ' || c == '\t' || c == '\r' || c == '\f' || c == '\v';
}
bool is_space(char c) {
  return is_blank(c) || c == '\n';
}

}  // namespace

TextScanner::TextScanner(std::string_view text, std::string name, char comment, bool continuation)
    : text_(text), name_(std::move(name)), comment_(comment), continuation_(continuation) {
  if (text_.starts_with("\xEF\xBB\xBF")) place_ = 3;  // byte order mark of UTF-8
}

void TextScanner::skip_blanks() {
  while (place_ < text_.size()) {
    if (is_blank(text_[place_])) {
      ++place_;
    } else if (continuation_ && text_[place_] == '\\') {
      std::size_t end = place_ + 1;
      while (end < text_.size() && is_blank(text_[end])) ++end;
      if (end < text_.size() && text_[end] != '\n') return;
      place_ = end;
      if (place_ < text_.size()) next_line();
    } else {
      return;
    }
  }
}

bool TextScanner::line_is_done() {
  skip_blanks();
  return at_line_end() || (comment_ != 0 && text_[place_] == comment_);
}

void TextScanner::next_line() {
  place_ = text_.find('\n', place_);
  if (place_ == std::string_view::npos) {
    place_ = text_.size();
  } else {
    ++place_;
    ++line_;
  }
}

bool TextScanner::find_word() {
  while (line_is_done()) {
    if (at_end()) return false;
    next_line();
  }
  return true;
}

std::string_view TextScanner::word() {
  if (line_is_done()) return {};
  const std::size_t start = place_;
  while (place_ < text_.size() && !is_space(text_[place_])) {
    // "3\" at the end of a line is the word "3" and a continuation.
    if (continuation_ && text_[place_] == '\\' && place_ > start &&
        (place_ + 1 == text_.size() || is_space(text_[place_ + 1])))
      break;
    ++place_;
  }
  return text_.substr(start, place_ - start);
}

std::string TextScanner::rest_of_line(char stop) {
  const auto done = [&] { return at_line_end() || (stop != 0 && text_[place_] == stop); };
  std::string rest;
  skip_blanks();
  while (!done()) {
    const std::size_t start = place_;
    while (!done() && text_[place_] != '\\') ++place_;
    rest += text_.substr(start, place_ - start);
    if (done()) break;
    // A backslash: either the line goes on below, or it is a character like any other.
    const std::size_t before = place_;
    skip_blanks();
    rest += place_ == before ? '\\' : ' ';
    if (place_ == before) ++place_;
  }
  while (!rest.empty() && is_blank(rest.back())) rest.pop_back();
  return rest;
}

template <class Number>
Number TextScanner::parse_number(const char* what) {
  if (line_is_done()) fail(fmt::format("{} is missing", what));
  const char* const start = text_.data() + place_;
  const char* const end = text_.data() + text_.size();
  // from_chars knows no plus sign.
  const char* const digits = *start == '+' && start + 1 < end && start[1] != '-' ? start + 1 : start;
  Number number = 0;
  std::from_chars_result result = std::from_chars(digits, end, number);
  if (result.ec == std::errc::result_out_of_range) {
    // Too small is nothing; too large is refused.
    double wide = 0;
    result = std::from_chars(digits, end, wide);
    const std::string_view shape(digits, to_size(result.ptr - digits));
    const bool tiny = result.ec == std::errc()
                          ? std::abs(wide) < 1
                          : shape.find("e-") != shape.npos || shape.find("E-") != shape.npos;
    if (tiny) {
      number = static_cast<Number>(wide);
      result.ec = std::errc();
    } else {
      number = std::numeric_limits<Number>::infinity();
    }
  }
  const bool ends =
      result.ptr == end || is_space(*result.ptr) || *result.ptr == '\\' || *result.ptr == comment_;
  if (result.ec == std::errc::invalid_argument || !ends)
    fail(fmt::format("{} is '{}', which is not a number", what, quoted(word())));
  if (!std::isfinite(number)) fail(fmt::format("{} is '{}', which is not finite", what, quoted(word())));
  place_ += to_size(result.ptr - start);
  return number;
}

float TextScanner::number(const char* what) {
  return parse_number<float>(what);
}
double TextScanner::double_number(const char* what) {
  return parse_number<double>(what);
}

void TextScanner::fail(const std::string& what) const {
  throw Error(fmt::format("{}: line {}: {}", name_, line_, what));
}

std::string quoted(std::string_view word) {
  std::string text(word.substr(0, 40));
  for (char& c : text)
    if (c < ' ' || c > '~') c = '?';
  if (word.size() > 40) text += "…";
  return text;
}

}  // namespace sinew
