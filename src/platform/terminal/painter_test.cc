#include "src/platform/terminal/painter.h"

#include <gtest/gtest.h>

namespace kgpu::terminal {
namespace {

TEST(PainterTest, SendsOnlyLinesThatDiffer) {
  Painter painter({.is_utf8 = true, .has_color = false});
  const Size size = {.columns = 10, .rows = 3};
  EXPECT_EQ(painter.Paint({Line("a"), Line("b")}, size),
            "\x1b[0m\x1b[2J\x1b[1;1H\x1b[Ka\x1b[2;1H\x1b[Kb");
  EXPECT_EQ(painter.Paint({Line("a"), Line("c")}, size), "\x1b[2;1H\x1b[Kc");
  EXPECT_EQ(painter.Paint({Line("a"), Line("c")}, size), "");
  EXPECT_EQ(painter.Paint({Line("a")}, size), "\x1b[2;1H\x1b[K");
}

TEST(PainterTest, SendsAllInAnotherSizeAndAfterForget) {
  Painter painter({.is_utf8 = true, .has_color = false});
  painter.Paint({Line("a"), Line("b")}, {.columns = 10, .rows = 2});
  EXPECT_EQ(painter.Paint({Line("a"), Line("b")}, {.columns = 10, .rows = 1}),
            "\x1b[0m\x1b[2J\x1b[1;1H\x1b[Ka");
  painter.Forget();
  EXPECT_EQ(painter.Paint({Line("a")}, {.columns = 10, .rows = 1}),
            "\x1b[0m\x1b[2J\x1b[1;1H\x1b[Ka");
}

}  // namespace
}  // namespace kgpu::terminal
