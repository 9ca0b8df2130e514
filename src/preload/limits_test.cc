#include "src/preload/limits.h"

#include <gmock/gmock.h>

#include <string>

namespace kgpu::preload {
namespace {

using testing::HasSubstr;

constexpr char kGood[] =
    "version 1\ndevice GPU-00112233-4455-6677-8899-aabbccddeeff\nmemory 21474836480\n"
    "context 322961408\npinned 1\ncompute 25\nunknown flag\n";

std::string Problem(const std::string& text) {
  Limits limits;
  const char* problem = ParseLimits(text.data(), text.size(), &limits);
  return problem == nullptr ? "" : problem;
}

TEST(LimitsTest, ReadsEveryKey) {
  Limits limits;
  ASSERT_EQ(ParseLimits(&kGood[0], sizeof(kGood) - 1, &limits), nullptr);
  EXPECT_STREQ(limits.device, "GPU-00112233-4455-6677-8899-aabbccddeeff");
  EXPECT_EQ(limits.memory, 21474836480U);
  EXPECT_EQ(limits.context, 322961408U);
  EXPECT_EQ(limits.compute, 25U);
  EXPECT_TRUE(limits.is_pinned_counted);
  EXPECT_TRUE(limits.may_call_unknown);
}

TEST(LimitsTest, RefusesAndCountsDeviceMemoryOnlyByDefault) {
  Limits limits;
  const std::string text = "version 1\ndevice MIG-1\nmemory 1\n";
  ASSERT_EQ(ParseLimits(text.data(), text.size(), &limits), nullptr);
  EXPECT_FALSE(limits.is_pinned_counted);
  EXPECT_FALSE(limits.may_call_unknown);
}

TEST(LimitsTest, IgnoresUnknownKeysAndEmptyLines) {
  EXPECT_EQ(Problem("version 1\n\ncolour green\ndevice GPU-1\nmemory 1"), "");
}

TEST(LimitsTest, SaysWhatIsWrong) {
  EXPECT_THAT(Problem(""), HasSubstr("no version"));
  EXPECT_THAT(Problem("version 2\n"), HasSubstr("only 1 is known"));
  EXPECT_THAT(Problem("version 1\nmemory 1\n"), HasSubstr("no device"));
  EXPECT_THAT(Problem("version 1\ndevice GPU-1\n"), HasSubstr("no memory"));
  EXPECT_THAT(Problem("version 1\ndevice GPU-1\nmemory 0\n"), HasSubstr("above 0"));
  EXPECT_THAT(Problem("version 1\ndevice GPU-1\nmemory -5\n"), HasSubstr("memory"));
  EXPECT_THAT(Problem("version 1\ndevice GPU-1\nmemory 99999999999999999999\n"),
              HasSubstr("memory"));
  EXPECT_THAT(Problem("version 1\ndevice ../x\n"), HasSubstr("device"));
  EXPECT_THAT(Problem("version 1\npinned 2\n"), HasSubstr("pinned"));
  EXPECT_THAT(Problem("version 1\ncompute 101\n"), HasSubstr("compute"));
  EXPECT_THAT(Problem("version 1\nunknown allow\n"), HasSubstr("unknown"));
  EXPECT_THAT(Problem(std::string(4097, '\n')), HasSubstr("4096"));
}

}  // namespace
}  // namespace kgpu::preload
