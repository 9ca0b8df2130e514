#include "src/host/features/cpuid.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "testing/status_matchers.h"
#include "testing/temp_dir.h"

namespace kgpu::features {
namespace {

using ::testing::HasSubstr;

TEST(RecordedCpuidTest, AnswersWhatItsTextHas) {
  const auto cpuid = ParseRecordedCpuid(
      "CPU:\n"
      "   0x00000007 0x01: eax=0x00000001 ebx=0x00000002 ecx=0x00000003 edx=0x00000004\n");
  ASSERT_THAT(cpuid, IsOk());
  EXPECT_TRUE((*cpuid)->is_available());
  EXPECT_EQ((*cpuid)->Read(7, 1), (CpuidRegisters{1, 2, 3, 4}));
  EXPECT_EQ((*cpuid)->Read(7, 0), CpuidRegisters{});
}

TEST(RecordedCpuidTest, WithoutLeavesHasNoInstruction) {
  const auto cpuid = ParseRecordedCpuid("# a CPU of another kind\n");
  ASSERT_THAT(cpuid, IsOk());
  EXPECT_FALSE((*cpuid)->is_available());
}

TEST(RecordedCpuidTest, SavesAllThatTheCpuCanWhenNothingElseIsSaid) {
  const auto cpuid = ParseRecordedCpuid("0xd 0x0: eax=0x2e7 ebx=0x0 ecx=0x0 edx=0x1\n");
  ASSERT_THAT(cpuid, IsOk());
  EXPECT_EQ((*cpuid)->Xcr0(), 0x1000002e7U);
}

TEST(RecordedCpuidTest, NamesTheLineThatIsWrong) {
  EXPECT_THAT(ParseRecordedCpuid("\n0x1 0x0: eax=0x1 ebx=0x2 ecx=zero edx=0x0\n"),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("line 2")));
  EXPECT_THAT(ParseRecordedCpuid("xcr0\n"), StatusIs(StatusCode::kInvalidArgument));
  EXPECT_THAT(ParseRecordedCpuid("0x100000000 0x0: eax=0x1 ebx=0x2 ecx=0x3 edx=0x0"),
              StatusIs(StatusCode::kInvalidArgument));
}

TEST(OpenCpuidTest, TakesTheRecordingOfTheHost) {
  const TempDir dir;
  dir.WriteFile("cpuid.txt", "0x0 0x0: eax=0x1 ebx=0x0 ecx=0x0 edx=0x0\n");
  const auto host = sys::Root::Open(dir.path());
  ASSERT_THAT(host, IsOk());
  const auto cpuid = OpenCpuid(*host);
  ASSERT_THAT(cpuid, IsOk());
  EXPECT_EQ((*cpuid)->Read(0, 0), (CpuidRegisters{1, 0, 0, 0}));
}

TEST(OpenCpuidTest, TakesTheRunningCpuOtherwise) {
  const TempDir dir;
  const auto host = sys::Root::Open(dir.path());
  ASSERT_THAT(host, IsOk());
  const auto cpuid = OpenCpuid(*host);
  ASSERT_THAT(cpuid, IsOk());
#if defined(__x86_64__)
  EXPECT_TRUE((*cpuid)->is_available());
  EXPECT_GT((*cpuid)->Read(0, 0).eax, 0U);
#else
  EXPECT_FALSE((*cpuid)->is_available());
#endif
}

TEST(OpenCpuidTest, NamesTheFileThatIsWrong) {
  const TempDir dir;
  dir.WriteFile("cpuid.txt", "nonsense here\n");
  const auto host = sys::Root::Open(dir.path());
  ASSERT_THAT(host, IsOk());
  EXPECT_THAT(OpenCpuid(*host), StatusIs(StatusCode::kInvalidArgument, HasSubstr("cpuid.txt")));
}

}  // namespace
}  // namespace kgpu::features
