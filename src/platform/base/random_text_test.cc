#include "src/platform/base/random_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "src/platform/base/status.h"
#include "testing/status_matchers.h"

namespace kgpu {
namespace {

TEST(RandomTextTest, IsHexadecimalAndNeverTheSame) {
  const auto first = RandomHex(24);
  const auto second = RandomHex(24);
  ASSERT_OK(first);
  ASSERT_OK(second);
  EXPECT_EQ(first->size(), 48U);
  EXPECT_EQ(first->find_first_not_of("0123456789abcdef"), std::string::npos);
  EXPECT_NE(*first, *second);
}

TEST(RandomTextTest, HasALimit) {
  EXPECT_OK(RandomHex(kMaxRandomBytes));
  EXPECT_THAT(RandomHex(kMaxRandomBytes + 1), StatusIs(StatusCode::kInvalidArgument));
}

}  // namespace
}  // namespace kgpu
