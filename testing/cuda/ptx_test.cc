// The reader: what it takes, and what it says of the rest.
#include "testing/cuda/ptx.h"

#include <gmock/gmock.h>

#include "testing/cuda/test_module.h"

namespace kgpu::ptx {
namespace {

using ::testing::HasSubstr;

TEST(PtxTest, ReadsVersionTargetAndKernels) {
  const Parsed parsed = ParseText(std::string(kHead) +
                                  "// a remark\n.visible .entry first() { ret; }\n"
                                  "/* another */ .entry second(.param .u32 a, .param .u64 b) {}");
  ASSERT_TRUE(parsed.is_good) << parsed.error;
  EXPECT_EQ(parsed.module->version, 60U);
  EXPECT_EQ(parsed.module->target, 30U);
  EXPECT_NE(FindFunction(*parsed.module, "first"), nullptr);
  const Function* second = FindFunction(*parsed.module, "second");
  ASSERT_NE(second, nullptr);
  EXPECT_EQ(second->parameter_offsets[1], 8U) << "aligned to its size";
  EXPECT_EQ(second->parameter_bytes, 16U);
  EXPECT_EQ(FindFunction(*parsed.module, "third"), nullptr);
}

struct BadText {
  const char* body;
  const char* error;
};

TEST(PtxTest, SaysWhereAnInstructionIsWrong) {
  constexpr BadText kTexts[] = {
      {"div.u32 %r1, %r1, %r1;", "line 10: unknown instruction, at 'div.u32'"},
      {"add.f16 %r1, %r1, %r1;", "unknown instruction"},
      {"add.u32 %r9, %r1, %r1;", "unknown register, at '%r9'"},
      {"add.u32 %f1, %r1, %r1;", "the register has another type, at '%f1'"},
      {"add.u64 %rd1, %rd1, %r1;", "the register has another type, at '%r1'"},
      {"mov.u32 %r1, %tid.w;", "unknown register, at '%tid.w'"},
      {"mov.f32 %f1, 1;", "not a number of the type"},
      {"mov.u32 %r1, 4294967296;", "not a number of the type"},
      {"add.u32 %r1, %r1;", "',' is missing"},
      {"add.u32 %r1, %r1, %r1", "';' is missing"},
      {"ld.param.u64 %rd1, [in];", "unknown parameter"},
      {"ld.param.u32 %r1, [out];", "the parameter has another size"},
      {"st.global.u32 [%r1], %r1;", "the register has another type"},
      {"bra NOWHERE;", "unknown label, at 'NOWHERE'"},
      {"A: ret; A: ret;", "duplicate label"},
      {".reg .u32 %x<999>;", "the number of registers must be 256 or less"},
      {"@%r1 ret;", "the register has another type"},
  };
  for (const BadText& text : kTexts) {
    const Parsed parsed = ParseBody(text.body);
    EXPECT_FALSE(parsed.is_good) << text.body;
    EXPECT_THAT(parsed.error, HasSubstr(text.error)) << text.body;
  }
}

TEST(PtxTest, SaysWhatIsMissingOfAModule) {
  constexpr BadText kTexts[] = {
      {"", ".version or .target is missing"},
      {".version 6.0", ".version or .target is missing"},
      {".version six", ".version needs a number such as 6.0"},
      {".target compute_30", ".target needs a name such as sm_30"},
      {".address_size 32", "'64' is missing"},
      {".visible .entry k(", "'.param' is missing"},
      {".visible .entry k() {", "the kernel is not closed"},
      {".func f() {}", "unknown directive, at '.func'"},
  };
  for (const BadText& text : kTexts) {
    const Parsed parsed = ParseText(text.body);
    EXPECT_FALSE(parsed.is_good) << text.body;
    EXPECT_THAT(parsed.error, HasSubstr(text.error)) << text.body;
  }
}

TEST(PtxTest, RefusesMoreThanItHasRoomFor) {
  std::string body;
  for (uint32_t i = 0; i < kMaxInstructions; ++i) {
    body += "ret;";
  }
  EXPECT_THAT(ParseBody(body).error, HasSubstr("1024 instructions"));
  EXPECT_THAT(ParseText(std::string(kMaxText + 1, ' ')).error, HasSubstr("larger than 64 KiB"));
}

}  // namespace
}  // namespace kgpu::ptx
