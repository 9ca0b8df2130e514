#include "src/host/inspect/elf.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "testing/host_files.h"
#include "testing/status_matchers.h"
#include "testing/temp_dir.h"

namespace kgpu::host {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

ElfImage Image(uint16_t machine) {
  return {.machine = machine,
          .soname = "libcuda.so.1",
          .needed = {"libc.so.6", "libdl.so.2"},
          .build_id = "\x01\xab"};
}

struct MachineCase {
  uint16_t e_machine;
  ElfMachine machine;
  bool is_64bit;
};

class ElfMachineTest : public ::testing::TestWithParam<MachineCase> {};

TEST_P(ElfMachineTest, IsRead) {
  const auto elf = ParseElf(MakeElf(Image(GetParam().e_machine)));
  ASSERT_OK(elf);
  EXPECT_EQ(elf->machine, GetParam().machine);
  EXPECT_EQ(elf->is_64bit, GetParam().is_64bit);
  EXPECT_TRUE(elf->is_shared_object);
  EXPECT_EQ(elf->soname, "libcuda.so.1");
  EXPECT_THAT(elf->needed, ElementsAre("libc.so.6", "libdl.so.2"));
  EXPECT_EQ(elf->build_id, "01ab");
}

INSTANTIATE_TEST_SUITE_P(All, ElfMachineTest,
                         ::testing::Values(MachineCase{kElfX8664, ElfMachine::kX86_64, true},
                                           MachineCase{kElfAarch64, ElfMachine::kAarch64, true},
                                           MachineCase{kElfI386, ElfMachine::kI386, false},
                                           MachineCase{21, ElfMachine::kUnknown, true}));

TEST(ElfTest, ReadsFileWithoutNames) {
  const auto elf = ParseElf(MakeElf({}));
  ASSERT_OK(elf);
  EXPECT_THAT(elf->soname, IsEmpty());
  EXPECT_THAT(elf->needed, IsEmpty());
  EXPECT_THAT(elf->build_id, IsEmpty());
}

TEST(ElfTest, ReadsFileThroughRoot) {
  const TempDir dir;
  dir.WriteFile("lib/real", MakeElf(Image(kElfX8664)));
  dir.Symlink("/lib/real", "lib/libcuda.so.1");
  const auto root = sys::Root::Open(dir.path());
  ASSERT_OK(root);
  const auto elf = ReadElf(*root, "lib/libcuda.so.1");
  ASSERT_OK(elf);
  EXPECT_EQ(elf->soname, "libcuda.so.1");
  EXPECT_EQ(elf->build_id, "01ab");
}

TEST(ElfTest, NamesTheFileThatIsNoElf) {
  const TempDir dir;
  dir.WriteFile("lib/script", "#!/bin/sh\n");
  const auto root = sys::Root::Open(dir.path());
  ASSERT_OK(root);
  EXPECT_THAT(ReadElf(*root, "lib/script"),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr(dir.At("lib/script"))));
  EXPECT_THAT(ReadElf(*root, "lib/none"), StatusIs(StatusCode::kNotFound));
}

TEST(ElfTest, RejectsOtherByteOrderAndClass) {
  std::string bytes = MakeElf({});
  bytes[5] = 2;
  EXPECT_THAT(ParseElf(bytes), StatusIs(StatusCode::kInvalidArgument, HasSubstr("byte order 2")));
  bytes[4] = 7;
  EXPECT_THAT(ParseElf(bytes), StatusIs(StatusCode::kInvalidArgument, HasSubstr("class 7")));
}

TEST(ElfTest, RejectsNameBeyondStringTable) {
  std::string bytes = MakeElf(Image(kElfX8664));
  constexpr size_t kFirstDynamicValue = 64 + 3 * 56 + 8;
  bytes[kFirstDynamicValue + 2] = '\x7f';
  EXPECT_THAT(ParseElf(bytes),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("beyond the string table")));
}

TEST(ElfTest, RejectsProgramHeadersBeyondTheFile) {
  std::string bytes = MakeElf(Image(kElfX8664));
  for (size_t i = 32; i < 40; ++i) {
    bytes[i] = '\xff';
  }
  EXPECT_THAT(ParseElf(bytes), StatusIs(StatusCode::kInvalidArgument));
}

TEST(ElfTest, LeavesBuildIdEmptyWhenNoteIsDamaged) {
  std::string bytes = MakeElf(Image(kElfX8664));
  const size_t note = bytes.find(std::string_view("\x04\0\0\0\x02\0\0\0\x03\0\0\0", 12));
  ASSERT_NE(note, std::string::npos);
  bytes[note] = '\xff';
  const auto elf = ParseElf(bytes);
  ASSERT_OK(elf);
  EXPECT_THAT(elf->build_id, IsEmpty());
}

TEST(ElfTest, SurvivesEveryTruncation) {
  const std::string bytes = MakeElf(Image(kElfI386));
  for (size_t size = 0; size < bytes.size(); ++size) {
    ParseElf(bytes.substr(0, size)).IgnoreError();
  }
}

TEST(ElfTest, SurvivesEveryFlippedByte) {
  const std::string bytes = MakeElf(Image(kElfX8664));
  for (size_t at = 0; at < bytes.size(); ++at) {
    std::string damaged = bytes;
    damaged[at] = static_cast<char>(~damaged[at]);
    ParseElf(damaged).IgnoreError();
  }
}

}  // namespace
}  // namespace kgpu::host
