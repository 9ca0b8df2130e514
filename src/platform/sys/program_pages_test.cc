#include "src/platform/sys/program_pages.h"

#include <gtest/gtest.h>

#include <fstream>
#include <string>

namespace kgpu::sys {
namespace {

// KiB of the program's file that are mapped and in memory.
long MappedKib() {
  std::ifstream file("/proc/self/statm");
  long size = 0;
  long resident = 0;
  long shared = 0;
  file >> size >> resident >> shared;
  constexpr long kPageKib = 4;
  return shared * kPageKib;
}

// Of the start, never run again.
[[gnu::noinline]] int Answer(int number) {
  return number * 7;
}

TEST(ProgramPagesTest, TheProgramGoesOnWithFewerPages) {
  EXPECT_EQ(Answer(6), 42);
  const std::string before = "constants stay what they are";
  const long mapped = MappedKib();
  ForgetProgramPages();
  EXPECT_LT(MappedKib(), mapped);
  EXPECT_EQ(Answer(6), 42);
  EXPECT_EQ(before, "constants stay what they are");
}

}  // namespace
}  // namespace kgpu::sys
