#include "src/platform/base/shell.h"

#include <gtest/gtest.h>

namespace kgpu {
namespace {

TEST(ShellWordTest, IsQuotedWhereItWouldBeMoreThanAWord) {
  EXPECT_EQ(ShellWord("r.io/x:1@sha256:ab"), "r.io/x:1@sha256:ab");
  EXPECT_EQ(ShellWord(""), "''");
  EXPECT_EQ(ShellWord("a;curl x|sh"), "'a;curl x|sh'");
  EXPECT_EQ(ShellWord("it's $(x)"), R"('it'\''s $(x)')");
  EXPECT_EQ(ShellWord("a\nb"), R"('a\x0ab')");
}

}  // namespace
}  // namespace kgpu
