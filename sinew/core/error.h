#pragma once

#include <stdexcept>
#include <string>

namespace sinew {

/// Bad input from outside: a file, a recipe, a command line. The message is one line that names the file, the
/// element and, where there is one, the remedy: "hand.glb: animation 'grip', channel 3: sampler 9 does not
/// exist (8 samplers)". Programmer errors are asserts instead.
class Error : public std::runtime_error {
 public:
  explicit Error(const std::string& message) : std::runtime_error(one_line(message)) {}

 private:
  /// Names from files may hold line breaks; the message stays one line.
  static std::string one_line(std::string text) {
    for (char& c : text)
      if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = ' ';
    return text;
  }
};

/// Thrown when a Progress callback asked to stop.
class Cancelled : public Error {
 public:
  Cancelled() : Error("cancelled") {}
};

}  // namespace sinew
