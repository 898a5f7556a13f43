#pragma once

#include <cassert>
#include <compare>
#include <concepts>
#include <cstddef>
#include <initializer_list>
#include <utility>
#include <vector>

namespace sinew {

/// The index of one kind of element, named by `Tag`. Indices of different kinds neither convert into each
/// other nor compare, so that a bone's index cannot select a node. As small and as fast as an int.
template <class Tag>
class Index {
 public:
  /// No element. Less than every valid index.
  static const Index kNone;

  constexpr Index() = default;  ///< kNone
  constexpr explicit Index(std::integral auto value) : value_(static_cast<int>(value)) {}

  constexpr bool valid() const { return value_ >= 0; }
  /// -1 for kNone, as files and plain arrays of ints have it.
  constexpr int value() const { return value_; }
  /// For plain arrays. The index must be valid.
  constexpr std::size_t offset() const {
    assert(valid());
    return static_cast<std::size_t>(value_);
  }

  constexpr Index& operator++() {
    ++value_;
    return *this;
  }
  constexpr Index& operator--() {
    --value_;
    return *this;
  }
  friend constexpr auto operator<=>(const Index&, const Index&) = default;

 private:
  int value_ = -1;
};

template <class Tag>
constexpr Index<Tag> Index<Tag>::kNone{};

/// Consecutive indices, for range-for.
template <class Id>
class IndexRange {
 public:
  class Iterator {
   public:
    constexpr explicit Iterator(Id id) : id_(id) {}
    constexpr Id operator*() const { return id_; }
    constexpr Iterator& operator++() {
      ++id_;
      return *this;
    }
    friend constexpr bool operator==(const Iterator&, const Iterator&) = default;

   private:
    Id id_;
  };

  /// From `first` up to `end`, which is not included. Both are valid.
  constexpr IndexRange(Id first, Id end) : first_(first), end_(end < first ? first : end) {}

  constexpr Iterator begin() const { return Iterator(first_); }
  constexpr Iterator end() const { return Iterator(end_); }
  constexpr std::size_t size() const { return end_.offset() - first_.offset(); }

 private:
  Id first_, end_;
};

/// The same indices, the last one first.
template <class Id>
class ReversedIndexRange {
 public:
  class Iterator {
   public:
    constexpr explicit Iterator(Id behind) : behind_(behind) {}
    constexpr Id operator*() const {
      Id id = behind_;
      return --id;
    }
    constexpr Iterator& operator++() {
      --behind_;
      return *this;
    }
    friend constexpr bool operator==(const Iterator&, const Iterator&) = default;

   private:
    Id behind_;
  };

  constexpr explicit ReversedIndexRange(IndexRange<Id> range) : first_(*range.begin()), end_(*range.end()) {}

  constexpr Iterator begin() const { return Iterator(end_); }
  constexpr Iterator end() const { return Iterator(first_); }

 private:
  Id first_, end_;
};

template <class Id>
constexpr ReversedIndexRange<Id> reversed(IndexRange<Id> range) {
  return ReversedIndexRange<Id>(range);
}

/// A std::vector whose elements only an `Id` selects.
template <class Id, class T>
class IndexedVector {
 public:
  IndexedVector() = default;
  explicit IndexedVector(std::size_t count, const T& value = T()) : values_(count, value) {}
  explicit IndexedVector(std::vector<T> values) : values_(std::move(values)) {}
  IndexedVector(std::initializer_list<T> values) : values_(values) {}

  T& operator[](Id id) {
    assert(id.offset() < size());
    return values_[id.offset()];
  }
  const T& operator[](Id id) const {
    assert(id.offset() < size());
    return values_[id.offset()];
  }
  T& front() { return values_.front(); }
  const T& front() const { return values_.front(); }
  T& back() { return values_.back(); }
  const T& back() const { return values_.back(); }

  bool empty() const { return values_.empty(); }
  std::size_t size() const { return values_.size(); }
  /// The indices of all elements, or of those from `first` on.
  IndexRange<Id> ids() const { return ids(Id(0)); }
  IndexRange<Id> ids(Id first) const { return {first, next_id()}; }
  /// The index that the next element will get.
  Id next_id() const { return Id(size()); }
  /// All elements in the order of their indices.
  const std::vector<T>& values() const { return values_; }

  void assign(std::size_t count, const T& value) { values_.assign(count, value); }
  void resize(std::size_t count) { values_.resize(count); }
  void clear() { values_.clear(); }
  /// Gives the index of the new element.
  Id push_back(T value) {
    values_.push_back(std::move(value));
    return Id(size() - 1);
  }
  template <class... Arguments>
  T& emplace_back(Arguments&&... arguments) {
    return values_.emplace_back(std::forward<Arguments>(arguments)...);
  }

  auto begin() { return values_.begin(); }
  auto begin() const { return values_.begin(); }
  auto end() { return values_.end(); }
  auto end() const { return values_.end(); }

  bool operator==(const IndexedVector&) const = default;

 private:
  std::vector<T> values_;
};

}  // namespace sinew
