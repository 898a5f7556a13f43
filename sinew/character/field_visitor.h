#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sinew {

class FieldVisitor;

/// A list of entries, each with fields of its own, as visitors see it.
class FieldList {
 public:
  virtual ~FieldList() = default;
  virtual std::size_t size() const = 0;
  /// New entries have their defaults.
  virtual void resize(std::size_t count) = 0;
  virtual void visit_entry(std::size_t index, FieldVisitor& fields) = 0;
  /// An entry with its defaults, in the list or not: for describing.
  virtual void visit_default_entry(FieldVisitor& fields) const = 0;
};

/// Walks over the fields of something a recipe can set. One visit function per options struct then serves for
/// reading, writing and describing it: what a recipe may say is stated once.
class FieldVisitor {
 public:
  static constexpr std::size_t kMostTextBytes = 256;
  static constexpr std::size_t kMostEntries = 1024;

  virtual ~FieldVisitor() = default;
  /// `help` says what the field does and in which unit; bounds are inclusive.
  virtual void number(std::string_view name, double& value, double minimum, double maximum,
                      std::string_view help) = 0;
  virtual void integer(std::string_view name, int& value, int minimum, int maximum,
                       std::string_view help) = 0;
  virtual void boolean(std::string_view name, bool& value, std::string_view help) = 0;
  /// UTF-8 of at most kMostTextBytes; may be empty.
  virtual void text(std::string_view name, std::string& value, std::string_view help) = 0;
  /// `value` is an index into `allowed`, which recipes write out.
  virtual void choice(std::string_view name, std::size_t& value, std::span<const std::string_view> allowed,
                      std::string_view help) = 0;
  /// Comes before a field that has a new name: recipes may still say the old one, and readers warn of it.
  virtual void renamed(std::string_view /*old_name*/, std::string_view /*name*/) {}
  /// A field that is no more: recipes may still say it, and readers warn that it does nothing, and why.
  virtual void retired(std::string_view /*name*/, std::string_view /*why*/) {}
  /// Texts of at most kMostTextBytes each, at most kMostEntries of them.
  virtual void texts(std::string_view name, std::vector<std::string>& values, std::string_view help) = 0;
  /// At most kMostEntries objects.
  virtual void list(std::string_view name, FieldList& entries, std::string_view help) = 0;

  /// The same for a vector whose entries have a visit(FieldVisitor&).
  template <class Entry>
  void list(std::string_view name, std::vector<Entry>& entries, std::string_view help);
};

template <class Entry>
void FieldVisitor::list(std::string_view name, std::vector<Entry>& entries, std::string_view help) {
  class VectorList : public FieldList {
   public:
    explicit VectorList(std::vector<Entry>& entries) : entries_(entries) {}
    std::size_t size() const override { return entries_.size(); }
    void resize(std::size_t count) override { entries_.resize(count); }
    void visit_entry(std::size_t index, FieldVisitor& fields) override { entries_[index].visit(fields); }
    void visit_default_entry(FieldVisitor& fields) const override { Entry().visit(fields); }

   private:
    std::vector<Entry>& entries_;
  } wrapped(entries);
  list(name, static_cast<FieldList&>(wrapped), help);
}

}  // namespace sinew
