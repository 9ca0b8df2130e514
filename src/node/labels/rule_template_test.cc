#include "src/node/labels/rule_template.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "testing/status_matchers.h"

namespace kgpu::labels {
namespace {

using ::testing::HasSubstr;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;

TEST(RuleTemplateTest, ReadsPairsFromItsOutput) {
  EXPECT_THAT(ReadPairs("\n a=1 \npci-0302.present=true\npci-0200.present=true\nb=\nc=d=e\na=2\n"),
              IsOkAndHolds(UnorderedElementsAre(Pair("a", "2"), Pair("pci-0302.present", "true"),
                                                Pair("pci-0200.present", "true"), Pair("b", ""),
                                                Pair("c", "d=e"))));
  EXPECT_THAT(ReadPairs("a"), StatusIs(StatusCode::kInvalidArgument, HasSubstr("has no \"=\"")));
}

}  // namespace
}  // namespace kgpu::labels
