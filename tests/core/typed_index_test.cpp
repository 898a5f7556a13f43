#include <sinew/core/typed_index.h>

#include <string>
#include <type_traits>

#include <gtest/gtest.h>

namespace sinew {
namespace {

using Apple = Index<struct AppleTag>;
using Pear = Index<struct PearTag>;

template <class A, class B>
concept Comparable = requires(A a, B b) {
  a == b;
};

static_assert(!std::is_convertible_v<Apple, Pear> && !std::is_constructible_v<Apple, Pear>);
static_assert(!std::is_convertible_v<int, Apple> && !std::is_convertible_v<Apple, int>);
static_assert(!std::is_invocable_v<decltype([](Apple) {}), Pear>);
static_assert(Comparable<Apple, Apple> && !Comparable<Apple, Pear> && !Comparable<Apple, int>);
static_assert(sizeof(Apple) == sizeof(int) && std::is_trivially_copyable_v<Apple>);

TEST(TypedIndex, IsNoneUnlessItIsGivenAValue) {
  EXPECT_FALSE(Apple().valid());
  EXPECT_EQ(Apple(), Apple::kNone);
  EXPECT_EQ(Apple::kNone.value(), -1);
  EXPECT_EQ(Apple(-1), Apple::kNone);
  EXPECT_TRUE(Apple(0).valid());
  EXPECT_LT(Apple::kNone, Apple(0));
  EXPECT_LT(Apple(2), Apple(3));
  EXPECT_EQ(Apple(std::size_t{7}).offset(), 7u);
}

TEST(TypedIndex, SelectsElementsOfItsVector) {
  IndexedVector<Apple, std::string> names{"Boskoop", "Gala"};
  EXPECT_EQ(names.next_id(), Apple(2));
  EXPECT_EQ(names.push_back("Elstar"), Apple(2));
  EXPECT_EQ(names[Apple(2)], "Elstar");
  names[Apple(0)] = "Jonagold";
  EXPECT_EQ(names.front(), "Jonagold");
  EXPECT_EQ(names.values(), (std::vector<std::string>{"Jonagold", "Gala", "Elstar"}));
  const IndexedVector<Apple, int> weights(3, 5);
  EXPECT_EQ(weights.size(), 3u);
  EXPECT_EQ(weights[Apple(1)], 5);
}

TEST(TypedIndex, RangesVisitEveryIndex) {
  const IndexedVector<Pear, int> pears(4);
  const auto visited = [](auto range) {
    std::vector<int> result;
    for (const Pear pear : range) result.push_back(pear.value());
    return result;
  };
  EXPECT_EQ(visited(pears.ids()), (std::vector<int>{0, 1, 2, 3}));
  EXPECT_EQ(visited(pears.ids(Pear(1))), (std::vector<int>{1, 2, 3}));
  EXPECT_EQ(visited(reversed(pears.ids())), (std::vector<int>{3, 2, 1, 0}));
  EXPECT_EQ(visited(reversed(pears.ids(Pear(2)))), (std::vector<int>{3, 2}));
  const IndexedVector<Pear, int> none;
  EXPECT_TRUE(visited(none.ids()).empty());
  EXPECT_TRUE(visited(none.ids(Pear(1))).empty());
  EXPECT_TRUE(visited(reversed(none.ids(Pear(1)))).empty());
  EXPECT_EQ(none.ids(Pear(1)).size(), 0u);
}

}  // namespace
}  // namespace sinew
