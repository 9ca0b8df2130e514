#include "src/cli/base/note.h"

#include <gtest/gtest.h>

namespace kgpu::cli {
namespace {

TEST(ForTerminalTest, KeepsLinesAndEscapesWhatATerminalObeys) {
  EXPECT_EQ(ForTerminal("a\n\tb é\n"), "a\n\tb é\n");
  EXPECT_EQ(ForTerminal("\x1b[2Jgone\rover\n\x1b]0;t\x07"),
            "\\x1b[2Jgone\\x0dover\n\\x1b]0;t\\x07");
  EXPECT_EQ(ForTerminal(""), "");
}

}  // namespace
}  // namespace kgpu::cli
