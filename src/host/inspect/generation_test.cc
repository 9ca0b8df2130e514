#include "src/host/inspect/generation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "testing/status_matchers.h"

namespace kgpu::host {
namespace {

using ::testing::HasSubstr;

TEST(GenerationTest, FollowsFromThePciId) {
  const struct {
    uint16_t id;
    Generation generation;
  } kCases[] = {
      {0x06d1, Generation::kFermi},                                      // Tesla C2050
      {0x102d, Generation::kKepler},                                     // Tesla K80
      {0x13f2, Generation::kMaxwell},                                    // Tesla M60
      {0x17fd, Generation::kMaxwell},                                    // Tesla M40
      {0x15f8, Generation::kPascal},                                     // Tesla P100
      {0x1b38, Generation::kPascal},                                     // Tesla P40
      {0x1db6, Generation::kVolta},                                      // Tesla V100
      {0x1eb8, Generation::kTuring},                                     // T4
      {0x2191, Generation::kTuring},                                     // GTX 1660 Ti
      {0x20b5, Generation::kAmpere},                                     // A100
      {0x2236, Generation::kAmpere},                                     // A10
      {0x25b6, Generation::kAmpere},                                     // A2, A16
      {0x27b8, Generation::kAda},                                        // L4
      {0x26b9, Generation::kAda},                                        // L40S
      {0x2330, Generation::kHopper},                                     // H100
      {0x2342, Generation::kHopper},                                     // GH200
      {0x2901, Generation::kBlackwell},                                  // B200
      {0x2941, Generation::kBlackwell},                                  // GB200
      {0x2bb5, Generation::kBlackwell},                                  // RTX PRO 6000
      {0x3182, Generation::kBlackwell},                                  // B300
      {0x3000, Generation::kRubin},     {0x0191, Generation::kUnknown},  // GeForce 8800
      {0xffff, Generation::kUnknown},
  };
  for (const auto& one : kCases) {
    EXPECT_EQ(GenerationOf(one.id), one.generation) << std::hex << one.id;
  }
}

TEST(GenerationTest, IsReadByItsName) {
  EXPECT_THAT(ParseGeneration("ada"), IsOkAndHolds(Generation::kAda));
  for (const char* text : {"unknown", "Ada", "A100", ""}) {
    EXPECT_THAT(ParseGeneration(text),
                StatusIs(StatusCode::kInvalidArgument,
                         HasSubstr("--gpu: \"" + std::string(text) +
                                   "\" must be a generation: fermi, kepler, ")));
  }
  EXPECT_EQ(ToString(Generation::kBlackwell), "blackwell");
}

TEST(GenerationTest, SaysWhichModulesDriveIt) {
  EXPECT_FALSE(SupportOf(Generation::kVolta).can_open);
  EXPECT_EQ(SupportOf(Generation::kVolta).last_branch, 580U);
  EXPECT_TRUE(SupportOf(Generation::kTuring).can_open);
  EXPECT_TRUE(SupportOf(Generation::kTuring).can_closed);
  EXPECT_FALSE(SupportOf(Generation::kBlackwell).can_closed);
  EXPECT_TRUE(IsGrace(0x2342));
  EXPECT_FALSE(IsGrace(0x2330));
  EXPECT_TRUE(IsHgxBlackwell(0x29bc)) << "B100";
  EXPECT_TRUE(IsHgxBlackwell(0x2901));
  EXPECT_FALSE(IsHgxBlackwell(0x2941)) << "GB200";
}

}  // namespace
}  // namespace kgpu::host
