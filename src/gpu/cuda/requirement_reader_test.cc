#include "src/gpu/cuda/requirement_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kgpu::cuda {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::vector<Alternative> Read(std::string_view text) {
  std::vector<Alternative> alternatives;
  AlternativeReader reader(text);
  for (Alternative alternative; reader.Next(alternative);) {
    alternatives.push_back(alternative);
  }
  return alternatives;
}

std::vector<std::string_view> Texts(std::string_view text) {
  std::vector<std::string_view> texts;
  for (const Alternative& alternative : Read(text)) {
    texts.push_back(alternative.text);
  }
  return texts;
}

TEST(AlternativeReaderTest, BlanksSeparateAlternatives) {
  EXPECT_THAT(Texts("cuda>=12.4 brand=tesla,driver>=470\tarch>=7.0\r\n"),
              ElementsAre("cuda>=12.4", "brand=tesla,driver>=470", "arch>=7.0"));
  EXPECT_THAT(Texts(""), IsEmpty());
  EXPECT_THAT(Texts("  \t "), IsEmpty());
}

TEST(AlternativeReaderTest, CommasSeparateConditions) {
  const auto read = Read("Brand=Tesla,driver>=470,driver<471");
  ASSERT_EQ(read.size(), 1U);
  ASSERT_EQ(read[0].conditions.size(), 3U);
  EXPECT_EQ(read[0].conditions[0].property, Property::kBrand);
  EXPECT_EQ(read[0].conditions[0].value, "Tesla");
  EXPECT_EQ(read[0].conditions[2].property, Property::kDriver);
  EXPECT_EQ(read[0].conditions[2].op, Operator::kLess);
  EXPECT_EQ(read[0].conditions[2].version, VersionNumbers{471});
}

TEST(AlternativeReaderTest, EmptyConditionsArePassedOver) {
  const auto read = Read(",cuda>=12.4,, , brand=tesla,");
  ASSERT_EQ(read.size(), 2U);
  EXPECT_EQ(read[0].conditions.size(), 1U);
  EXPECT_EQ(read[1].conditions.size(), 1U);
}

struct Row {
  std::string_view text;
  Operator op;
};

TEST(AlternativeReaderTest, KnowsSixOperators) {
  constexpr Row kRows[] = {{"cuda=1", Operator::kEqual},   {"cuda!=1", Operator::kNotEqual},
                           {"cuda<1", Operator::kLess},    {"cuda<=1", Operator::kLessOrEqual},
                           {"cuda>1", Operator::kGreater}, {"cuda>=1", Operator::kGreaterOrEqual}};
  for (const Row& row : kRows) {
    const auto read = Read(row.text);
    ASSERT_EQ(read.size(), 1U);
    ASSERT_THAT(read[0].problem, IsEmpty()) << row.text;
    EXPECT_EQ(read[0].conditions[0].op, row.op) << row.text;
  }
}

struct Malformed {
  std::string_view text;
  size_t position;
  std::string_view problem;
};

TEST(AlternativeReaderTest, ProblemsHaveTheirPlace) {
  constexpr Malformed kRows[] = {
      {"cuda", 1, "has no operator"},
      {"brand=tesla,cuda >= 12", 13, "\"cuda\" has no operator"},
      {"cuda>=12,gpu>=2", 10, "\"gpu\" must be one of the properties"},
      {">=12", 1, "\"\" must be one of the properties"},
      {"cuda==12", 5, "\"==\" must be one of the operators"},
      {"cuda=<12", 5, "\"=<\" must be one of the operators"},
      {"cuda!12", 5, "\"!\" must be one of the operators"},
      {"  cuda>=", 9, "missing value after"},
      {"cuda>=twelve", 7, "\"twelve\" must be a version"},
      {"arch>=8.0.0.0.0", 7, "must be a version"},
      {"brand>=tesla", 6, "only with = and !="},
  };
  for (const Malformed& row : kRows) {
    const auto read = Read(row.text);
    ASSERT_FALSE(read.empty()) << row.text;
    EXPECT_THAT(read[0].problem, HasSubstr(std::string(row.problem))) << row.text;
    EXPECT_EQ(read[0].position, row.position) << row.text;
  }
}

TEST(AlternativeReaderTest, HostileTextIsQuoted) {
  EXPECT_THAT(Read("\x1b[2J=1")[0].problem,
              HasSubstr("\"\\x1b[2J\" must be one of the properties"));
}

struct Comparison {
  std::string_view condition;
  VersionNumbers actual;
  bool holds;
};

TEST(HoldsTest, ComparesVersionsNumberByNumber) {
  constexpr Comparison kRows[] = {
      {"driver>=470", {470, 57, 2}, true},  {"driver<471", {470, 256, 2}, true},
      {"driver<471", {471}, false},         {"driver<=535", {535, 104, 5}, false},
      {"driver=535", {535, 104, 5}, false}, {"driver=535", {535}, true},
      {"driver!=535", {535, 1}, true},      {"driver>535", {535, 1}, true},
      {"driver>535", {535}, false},         {"driver>=535.54.03", {535, 104, 5}, true},
      {"cuda>=12.10", {12, 9}, false},      {"cuda>=12.4.1", {12, 4}, false},
      {"cuda=12.4.0", {12, 4}, true},       {"arch>=8", {8, 0}, true},
  };
  for (const Comparison& row : kRows) {
    const auto read = Read(row.condition);
    ASSERT_EQ(read.size(), 1U);
    EXPECT_EQ(Holds(read[0].conditions[0], row.actual), row.holds) << row.condition;
  }
}

TEST(HoldsTest, ComparesBrandsInAnyCase) {
  const auto read = Read("brand=TESLA brand!=tesla");
  ASSERT_EQ(read.size(), 2U);
  EXPECT_TRUE(Holds(read[0].conditions[0], "Tesla"));
  EXPECT_FALSE(Holds(read[0].conditions[0], "teslaV"));
  EXPECT_FALSE(Holds(read[1].conditions[0], "Tesla"));
  EXPECT_TRUE(Holds(read[1].conditions[0], "geforce"));
}

}  // namespace
}  // namespace kgpu::cuda
