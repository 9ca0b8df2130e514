#include "src/cli/base/lasting_program.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "testing/temp_dir.h"

namespace kgpu::cli {
namespace {

TEST(LastingProgramTest, APackagesProgramIsOne) {
  EXPECT_TRUE(IsLastingProgram("/usr/bin/env"));
}

TEST(LastingProgramTest, WhereOthersMayWriteNoneIs) {
  const TempDir dir;
  dir.WriteFile("kgpu", "");
  EXPECT_FALSE(IsLastingProgram(dir.At("kgpu"))) << "everybody may write to the folder above";
}

TEST(LastingProgramTest, WhatIsNotThereIsNone) {
  EXPECT_FALSE(IsLastingProgram("/usr/bin/no-such-kgpu"));
}

}  // namespace
}  // namespace kgpu::cli
