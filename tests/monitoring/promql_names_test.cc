#include "tests/monitoring/promql_names.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kgpu::monitoring {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(PromqlNamesTest, FindsSeriesAndLabels) {
  const PromqlNames names = NamesOfExpression(
      R"(sum by (a, b) (rate(x_total{c="y", d=~"$z"}[5m])) / on (e) group_left (f)
         max without (g) (rule:y:sum offset 1h) > bool 3 and topk(5, z))");
  EXPECT_THAT(names.series, ElementsAre("rule:y:sum", "x_total", "z"));
  EXPECT_THAT(names.labels, ElementsAre("a", "b", "c", "d", "e", "f", "g"));
}

TEST(PromqlNamesTest, KnowsGrafanasVariables) {
  const PromqlNames names = NamesOfExpression("increase(a[$__range]) + $b");
  EXPECT_THAT(names.series, ElementsAre("a"));
  const PromqlNames query = NamesOfExpression(R"(label_values(a{b="$c"}, d))");
  EXPECT_THAT(query.series, ElementsAre("a"));
  EXPECT_THAT(query.labels, ElementsAre("b", "d"));
}

TEST(PromqlNamesTest, FindsNothingInNumbersAndTexts) {
  EXPECT_THAT(NamesOfExpression("vector(0) * 1e3 + time()").series, IsEmpty());
  EXPECT_THAT(NamesOfExpression(R"(label_replace(a, "b", "c", "d", "e"))").series,
              ElementsAre("a"));
  EXPECT_THAT(NamesOfExpression("\"torn").series, IsEmpty());
}

}  // namespace
}  // namespace kgpu::monitoring
