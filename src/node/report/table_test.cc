#include "src/node/report/table.h"

#include <gtest/gtest.h>

namespace kgpu::report {
namespace {

TEST(TableTest, AlignsColumnsAndEndsLinesWithoutBlanks) {
  Table table({"GPU", "MODEL", "HEALTH"});
  table.AddRow({"0", "A100-SXM4-80GB", "Healthy"});
  table.AddRow({"10", "T4", ""});
  EXPECT_EQ(table.Render(),
            "GPU  MODEL           HEALTH\n"
            "0    A100-SXM4-80GB  Healthy\n"
            "10   T4              -\n");
}

TEST(TableTest, CountsCodePointsNotBytes) {
  Table table({"A", "B"});
  table.AddRow({"é", "x"});
  table.AddRow({"ab", "y"});
  EXPECT_EQ(table.Render(), "A   B\né   x\nab  y\n");
}

TEST(TableTest, ACellIsOneLineAndWritesNothingElseToATerminal) {
  Table table({"A", "B"});
  table.AddRow({"1\n2", "\x1b[2J"});
  EXPECT_EQ(table.Render(), "A       B\n1\\x0a2  \\x1b[2J\n");
}

TEST(TableTest, FillsShortRows) {
  Table table({"A", "B"});
  table.AddRow({"1"});
  EXPECT_EQ(table.Render(), "A  B\n1  -\n");
}

}  // namespace
}  // namespace kgpu::report
