#include "src/platform/commands/fold.h"

#include <gtest/gtest.h>

namespace kgpu::commands {
namespace {

TEST(FoldHelpTest, LeavesWhatFits) {
  const std::string help = "Usage: kgpu\n\n  -h,--help       Print this\n";
  EXPECT_EQ(FoldHelp(help, 40), help);
  EXPECT_EQ(FoldHelp("", 40), "");
}

TEST(FoldHelpTest, ContinuesADescriptionBelowIt) {
  EXPECT_EQ(FoldHelp("  --output table|json   Output format, by default a table\n", 46),
            "  --output table|json   Output format, by\n"
            "                        default a table\n");
}

TEST(FoldHelpTest, ADescriptionWithoutRoomStandsBelowItsFlag) {
  EXPECT_EQ(FoldHelp("  --output table|json   Output format, by default a table", 36),
            "  --output table|json   Output\n"
            "    format, by default a table");
}

TEST(FoldHelpTest, BreaksProseAtBlanks) {
  EXPECT_EQ(FoldHelp("Checks this host unless a flag describes another one.", 30),
            "Checks this host unless a flag\n"
            "describes another one.");
}

TEST(FoldHelpTest, KeepsAWordThatIsLongerThanALine) {
  EXPECT_EQ(FoldHelp("see registry.example.com/gpu/image for more", 20),
            "see\nregistry.example.com/gpu/image\nfor more");
}

TEST(FoldHelpTest, CountsCharactersAndNotBytes) {
  EXPECT_EQ(FoldHelp("… … … … …", 9), "… … … … …");
}

}  // namespace
}  // namespace kgpu::commands
