#include "src/node/slices/check_library.h"

#include <elf.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "testing/elf_library.h"
#include "testing/status_matchers.h"

namespace kgpu::slices {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

Status Check(std::string_view bytes) {
  return CheckLibrary(bytes, "/lib/it.so");
}

TEST(CheckLibraryTest, TakesALibraryOfThisMachine) {
  EXPECT_OK(Check(ElfLibrary("")));
  EXPECT_OK(Check(ElfLibrary("code")));
}

TEST(CheckLibraryTest, RefusesWhatNoLoaderTakes) {
  std::string program = ElfLibrary("code");
  program[offsetof(Elf64_Ehdr, e_type)] = ET_EXEC;
  std::string small = ElfLibrary("code");
  small[EI_CLASS] = ELFCLASS32;
  for (const std::string& bytes : {std::string(), std::string("#!/bin/sh\n"), program, small,
                                   ElfLibrary("code").substr(0, 63)}) {
    EXPECT_THAT(Check(bytes), StatusIs(StatusCode::kFailedPrecondition,
                                       AllOf(HasSubstr("/lib/it.so"), HasSubstr("no library"))));
  }
  std::string other = ElfLibrary("code");
  other[offsetof(Elf64_Ehdr, e_machine)] = EM_S390;
  EXPECT_THAT(Check(other), StatusIs(StatusCode::kFailedPrecondition, HasSubstr("machine")));
}

// As a copy that was interrupted.
TEST(CheckLibraryTest, RefusesAPart) {
  const std::string whole = ElfLibrary("code");
  for (size_t size = sizeof(Elf64_Ehdr); size < whole.size(); ++size) {
    EXPECT_THAT(Check(whole.substr(0, size)),
                StatusIs(StatusCode::kFailedPrecondition, HasSubstr("incomplete")));
  }
  std::string far = whole;
  far[offsetof(Elf64_Ehdr, e_phoff) + 7] = '\x7f';
  EXPECT_THAT(Check(far), StatusIs(StatusCode::kFailedPrecondition));
  std::string data = whole;
  data[sizeof(Elf64_Ehdr) + offsetof(Elf64_Phdr, p_flags)] = PF_R;
  EXPECT_THAT(Check(data), StatusIs(StatusCode::kFailedPrecondition, HasSubstr("no code")));
}

}  // namespace
}  // namespace kgpu::slices
