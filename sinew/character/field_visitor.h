#pragma once

#include <span>
#include <string>
#include <string_view>

namespace sinew {

/// Walks over the fields of something a recipe can set. One visit function per options struct then serves for
/// reading, writing and describing it: what a recipe may say is stated once.
class FieldVisitor {
 public:
  virtual ~FieldVisitor() = default;
  /// `help` says what the field does and in which unit; bounds are inclusive.
  virtual void number(std::string_view name, double& value, double minimum, double maximum,
                      std::string_view help) = 0;
  virtual void integer(std::string_view name, int& value, int minimum, int maximum,
                       std::string_view help) = 0;
  virtual void boolean(std::string_view name, bool& value, std::string_view help) = 0;
};

}  // namespace sinew
