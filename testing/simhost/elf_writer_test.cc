#include "testing/simhost/elf_writer.h"

#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <memory>

#include "testing/temp_dir.h"

namespace kgpu::simhost {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::string OutputOf(const std::string& command) {
  const std::unique_ptr<FILE, int (*)(FILE*)> pipe(popen(command.c_str(), "re"), pclose);
  std::string text;
  std::array<char, 4096> buffer{};
  while (pipe != nullptr && fgets(buffer.data(), buffer.size(), pipe.get()) != nullptr) {
    text += buffer.data();
  }
  return text;
}

class StubTest : public ::testing::Test {
 protected:
  std::string Readelf(ElfMachine machine) {
    dir_.WriteFile("stub.so", StubSharedObject(machine, "libstub.so.1", {"libc.so.6"}));
    return OutputOf("readelf --wide --all " + dir_.At("stub.so") + " 2>&1");
  }

  TempDir dir_;
};

TEST_F(StubTest, OpensWithTheRealLoader) {
  dir_.WriteFile("libstub.so.1", StubSharedObject(ElfMachine::kX86_64, "libstub.so.1", {}));
#ifndef __x86_64__
  GTEST_SKIP() << "the stub is of another machine";
#endif
  void* library = dlopen(dir_.At("libstub.so.1").c_str(), RTLD_NOW);
  ASSERT_NE(library, nullptr) << dlerror();  // NOLINT(concurrency-mt-unsafe): no other thread
  EXPECT_EQ(dlsym(library, "cuInit"), nullptr);
  dlclose(library);
}

TEST_F(StubTest, ReadelfSeesNameNeedsAndMachine) {
  const std::string text = Readelf(ElfMachine::kX86_64);
  EXPECT_THAT(text, HasSubstr("ELF64"));
  EXPECT_THAT(text, HasSubstr("X86-64"));
  EXPECT_THAT(text, HasSubstr("Library soname: [libstub.so.1]"));
  EXPECT_THAT(text, HasSubstr("Shared library: [libc.so.6]"));
  EXPECT_THAT(text, Not(HasSubstr("Warning")));
  EXPECT_THAT(text, Not(HasSubstr("Error")));
}

TEST_F(StubTest, WritesOtherMachines) {
  const std::string arm = Readelf(ElfMachine::kAarch64);
  EXPECT_THAT(arm, HasSubstr("AArch64"));
  EXPECT_THAT(arm, Not(HasSubstr("Warning")));
  const std::string x86 = Readelf(ElfMachine::kX86);
  EXPECT_THAT(x86, HasSubstr("ELF32"));
  EXPECT_THAT(x86, HasSubstr("Library soname: [libstub.so.1]"));
  EXPECT_THAT(x86, Not(HasSubstr("Warning")));
}

}  // namespace
}  // namespace kgpu::simhost
