#include "src/preload/records.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

namespace kgpu::preload {
namespace {

Record Make(Kind kind, uint64_t key, uint64_t size) {
  return {.kind = kind,
          .device = 0,
          .key = key,
          .size = size,
          .owner = 0,
          .extent = 0,
          .uses = 1,
          .is_mine = 1};
}

TEST(RecordsTest, TellsKindsApart) {
  Records records{};
  ASSERT_TRUE(records.Add(Make(Kind::kLinear, 7, 100)));
  ASSERT_TRUE(records.Add(Make(Kind::kArray, 7, 200)));
  EXPECT_EQ(records.Find(Kind::kLinear, 7)->size, 100U);
  EXPECT_EQ(records.Find(Kind::kArray, 7)->size, 200U);
  EXPECT_EQ(records.Find(Kind::kHost, 7), nullptr);
  EXPECT_EQ(records.count(), 2U);
}

TEST(RecordsTest, IsEmptyWithoutMemory) {
  Records records{};
  Record record{};
  EXPECT_EQ(records.Find(Kind::kLinear, 1), nullptr);
  EXPECT_FALSE(records.Take(Kind::kLinear, 1, &record));
}

TEST(RecordsTest, AgreesWithAMapOverManyChanges) {
  Records records{};
  std::map<uint64_t, uint64_t> expected;
  std::mt19937_64 random(21);
  for (int turn = 0; turn < 200000; ++turn) {
    const uint64_t key = (random() % 5000) << 21;  // pointers are as regular as this
    if (random() % 2 == 0) {
      ASSERT_TRUE(records.Add(Make(Kind::kLinear, key, turn)));
      expected[key] = turn;
      continue;
    }
    Record record{};
    ASSERT_EQ(records.Take(Kind::kLinear, key, &record), expected.contains(key));
    if (expected.contains(key)) {
      ASSERT_EQ(record.size, expected[key]);
      expected.erase(key);
    }
  }
  EXPECT_EQ(records.count(), expected.size());
  for (const auto& [key, size] : expected) {
    ASSERT_NE(records.Find(Kind::kLinear, key), nullptr);
    EXPECT_EQ(records.Find(Kind::kLinear, key)->size, size);
  }
}

TEST(RecordsTest, RemovesThoseThatAreChosen) {
  Records records{};
  for (uint64_t key = 1; key <= 3000; ++key) {
    ASSERT_TRUE(records.Add(Make(Kind::kLinear, key, key % 3)));
  }
  records.RemoveIf([](const Record& record) { return record.size == 0; });
  EXPECT_EQ(records.count(), 2000U);
  EXPECT_EQ(records.Find(Kind::kLinear, 3), nullptr);
  EXPECT_NE(records.Find(Kind::kLinear, 4), nullptr);
}

}  // namespace
}  // namespace kgpu::preload
