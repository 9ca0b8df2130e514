#include "src/cli/top/figures.h"

#include <gtest/gtest.h>

#include "src/cli/top/test_documents.h"

namespace kgpu::top {
namespace {

constexpr uint64_t kMib = uint64_t{1} << 20;

TEST(FiguresTest, FitTheirColumns) {
  EXPECT_EQ(PercentText(37.4), "37%");
  EXPECT_EQ(PercentText({}), "-");
  EXPECT_EQ(MemoryText(30822 * kMib, 81559 * kMib), "30.1/79.6G");
  EXPECT_EQ(MemoryText(102380 * kMib, 184320 * kMib), "100/180G");
  EXPECT_EQ(MemoryText({}, 81559 * kMib), "-/79.6G");
  EXPECT_EQ(MemoryText(300 * kMib, {}), "0.3G");
  EXPECT_EQ(MemoryText({}, {}), "-");
  EXPECT_EQ(TemperatureText(41), "41C");
  EXPECT_EQ(TemperatureText(41, 50), "41/50C");
  EXPECT_EQ(PowerText(120.5, 700), "120/700W");
  EXPECT_EQ(PowerText({}, 700), "-/700W");
}

TEST(FiguresTest, GraphsShowMeans) {
  EXPECT_EQ(Graph({0, 100}, 2, kUtf8), "▁█");
  EXPECT_EQ(Graph({0, 0, 100, 100}, 2, kUtf8), "▁█");
  EXPECT_EQ(Graph({0, 100, 100, 100}, 2, kUtf8), "▅█");
  EXPECT_EQ(Graph({50}, 3, kUtf8), "  ▅");
  EXPECT_EQ(Graph({0, {}, 100}, 3, kAscii), "_ #");
  EXPECT_EQ(Graph({1000, -5}, 2, kAscii), "#_");
  EXPECT_EQ(Graph({}, 2, kUtf8), "  ");
}

TEST(FiguresTest, BarsShowOneValue) {
  EXPECT_EQ(Bar(50, 4, kUtf8), "██░░");
  EXPECT_EQ(Bar(100, 4, kAscii), "####");
  EXPECT_EQ(Bar({}, 4, kAscii), "    ");
}

}  // namespace
}  // namespace kgpu::top
