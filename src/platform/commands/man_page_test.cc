#include "src/platform/commands/man_page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kgpu::commands {
namespace {

using ::testing::HasSubstr;

Command Root() {
  return {
      .name = "kgpu",
      .description = "GPUs of this host",
      .flags = {{.name = "--help", .letter = "-h", .description = "Print help"}},
      .commands = {{.name = "devices",
                    .description = "List the GPUs",
                    .footer = "Exits 0.\n.5 is \\ no macro …\n\n  kgpu devices -w   print changes",
                    .flags = {{.name = "--output",
                               .letter = "-o",
                               .value = "FORMAT",
                               .description = "Output format",
                               .environment = "KGPU_OUTPUT"}},
                    .arguments = {{.name = "GPU", .is_required = true, .is_many = true}}}}};
}

std::string PageOfDevices() {
  return ManPagesOf(Root(), "kgpu 1.2").at(1).text;
}

TEST(ManPageTest, EveryCommandHasAPage) {
  const std::vector<ManPage> pages = ManPagesOf(Root(), "kgpu 1.2");
  ASSERT_EQ(pages.size(), 2U);
  EXPECT_EQ(pages[0].name, "kgpu");
  EXPECT_EQ(pages[1].name, "kgpu-devices");
  EXPECT_THAT(pages[0].text, HasSubstr(".TP\n\\fBdevices\\fR\nList the GPUs\n"));
}

TEST(ManPageTest, APageHasNameSynopsisOptionsAndExamples) {
  const std::string page = PageOfDevices();
  EXPECT_THAT(page, HasSubstr(".TH \"KGPU\\-DEVICES\" 1 \"\" \"kgpu 1.2\" \"User Commands\"\n"));
  EXPECT_THAT(page, HasSubstr(".SH NAME\nkgpu\\-devices \\- List the GPUs\n"));
  EXPECT_THAT(page, HasSubstr("\\fBkgpu devices\\fR [\\fIoptions\\fR] \\fIGPU\\fR ...\n"));
  EXPECT_THAT(page, HasSubstr(".TP\n\\fB\\-o\\fR, \\fB\\-\\-output\\fR \\fIFORMAT\\fR\n"
                              "Output format (environment: KGPU_OUTPUT)\n"));
  EXPECT_THAT(page, HasSubstr(".SH EXAMPLES\n.TP\n\\fBkgpu devices \\-w\\fR\nprint changes\n"));
}

TEST(ManPageTest, QuotesStayWhatAShellReads) {
  const Command command{.name = "kgpu", .footer = "  kgpu require 'cuda>=12' | jq ~x^`y`"};
  EXPECT_THAT(ManPagesOf(command, "").at(0).text,
              HasSubstr("kgpu require \\(aqcuda>=12\\(aq | jq \\(tix\\(ha\\(gay\\(ga"));
}

TEST(ManPageTest, NothingInATextIsAMacro) {
  EXPECT_THAT(PageOfDevices(), HasSubstr("\\&.5 is \\e no macro \\[u2026]\n"));
}

}  // namespace
}  // namespace kgpu::commands
