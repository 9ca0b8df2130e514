#include "src/cli/top/frame.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <string>
#include <vector>

#include "src/cli/top/node_view.h"
#include "src/cli/top/test_documents.h"
#include "testing/golden.h"
#include "testing/status_matchers.h"

namespace kgpu::top {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;

LiveDocument Busy() {
  auto document = ReadLiveDocument(BusyNode());
  EXPECT_OK(document);
  return *std::move(document);
}

std::string Drawn(const LiveDocument& document, State& state, const terminal::Size& size,
                  const terminal::Look& look) {
  const View view = NodeView(document, state.list, ColumnsFor(size), look);
  std::string text;
  for (const terminal::Line& line : FrameOf(view, state, size, look)) {
    EXPECT_LE(line.width(), size.columns) << line.text();
    text += Render(line, look) + "\n";
  }
  return text;
}

TEST(FrameTest, FitsScreensOfAllWidths) {
  const LiveDocument document = Busy();
  for (const size_t columns : {60U, 80U, 200U}) {
    State state;
    ExpectGolden(fmt::format("src/cli/top/testdata/node-{}.txt", columns),
                 Drawn(document, state, {.columns = columns, .rows = 210}, kUtf8));
  }
  // tools/terminal_svg makes a picture of it.
  State coloured;
  for (size_t gpu = 1; gpu < 9; ++gpu) {
    coloured.list.toggled.insert(fmt::format("gpu/GPU-{:02}", gpu));
  }
  ExpectGolden("src/cli/top/testdata/node-color.txt",
               Drawn(document, coloured, {.columns = 110, .rows = 32},
                     {.is_utf8 = true, .has_color = true}));
  State state;
  ExpectGolden("src/cli/top/testdata/node-80-ascii.txt",
               Drawn(document, state, {.columns = 80, .rows = 210}, kAscii));
}

TEST(FrameTest, EveryFrameFillsTheScreen) {
  const LiveDocument document = Busy();
  for (size_t columns = 1; columns < 220; columns += 7) {
    for (const size_t rows : {1U, 2U, 5U, 24U}) {
      State state;
      const terminal::Size size = {.columns = columns, .rows = rows};
      const View view = NodeView(document, state.list, ColumnsFor(size), kUtf8);
      const auto lines = FrameOf(view, state, size, kUtf8);
      EXPECT_THAT(lines, SizeIs(rows));
      for (const terminal::Line& line : lines) {
        EXPECT_LE(line.width(), columns);
      }
    }
  }
}

TEST(FrameTest, ColorsMarkWhatIsWrong) {
  State state;
  const terminal::Look look = {.is_utf8 = true, .has_color = true};
  const View view = NodeView(Busy(), state.list, 79, look);
  std::string text;
  for (const terminal::Line& line : FrameOf(view, state, {.columns = 80, .rows = 210}, look)) {
    text += Render(line, look) + "\n";
  }
  EXPECT_THAT(text, HasSubstr("\x1b[0;1;31mXid79"));
  EXPECT_THAT(text, HasSubstr("\x1b[0;1;31m1 unhealthy"));
  EXPECT_THAT(text, HasSubstr("\x1b[0;7m>"));
}

TEST(FrameTest, LongLinesOfAPageAreFolded) {
  State state;
  state.page = Page{
      .title = "kgpu explain pod a/b",
      .lines = {"  fix: kubectl label node n1 nvidia.com/gpu.deploy=true --overwrite", "short"},
      .is_complete = false};
  const View view = NodeView(Busy(), state.list, 39, kUtf8);
  std::string text;
  for (const terminal::Line& line : FrameOf(view, state, {.columns = 40, .rows = 6}, kUtf8)) {
    text += Render(line, kUtf8) + "\n";
  }
  EXPECT_EQ(text,
            "kgpu explain pod a/b\n"
            "  fix: kubectl label node n1\n"
            "    nvidia.com/gpu.deploy=true\n"
            "    --overwrite\n"
            "short\n"
            "q back  asking …\n");
}

TEST(FrameTest, SaysWhyNoRowIsShown) {
  State state;
  state.list.filter = "nobody";
  EXPECT_THAT(Drawn(Busy(), state, {.columns = 80, .rows = 10}, kUtf8),
              HasSubstr("no row contains \"nobody\": Esc clears the filter"));
}

}  // namespace
}  // namespace kgpu::top
