#include "src/cli/top/csv.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "src/cli/top/test_documents.h"
#include "src/platform/base/strings.h"
#include "testing/status_matchers.h"

namespace kgpu::top {
namespace {

using ::testing::StartsWith;

TEST(CsvTest, QuotesWhereNeeded) {
  EXPECT_EQ(CsvLine({"a", "b c", ""}), "a,b c,\n");
  EXPECT_EQ(CsvLine({"a,b", "say \"x\"", "l\n"}), "\"a,b\",\"say \"\"x\"\"\",\"l\n\"\n");
}

TEST(CsvTest, HasALineForEachDevice) {
  const auto document = ReadLiveDocument(BusyNode());
  ASSERT_OK(document);
  const std::string text = NodeCsv(*document);
  const auto lines = Split(text, '\n');
  ASSERT_EQ(lines.size(), 1U + 16U + 56U + 1U);
  EXPECT_THAT(std::string(lines[0]), StartsWith("node,time,gpu,mig,uuid,model,profile,healthy"));
  for (size_t i = 0; i + 1 < lines.size(); ++i) {
    EXPECT_EQ(std::ranges::count(lines[i], ','), 20) << lines[i];
  }
  EXPECT_EQ(lines[2],
            "n1,2026-11-29T21:00:00Z,0,0,MIG-0-0,H100-SXM5-80GB,1g.10gb,true,,"
            "nvidia.com/mig-1g.10gb,,0,10737418240,,,,,,,,team-a/train-000");
  EXPECT_THAT(std::string(lines[1]),
              StartsWith("n1,2026-11-29T21:00:00Z,0,,GPU-00,H100-SXM5-80GB,,true,,nvidia.com/gpu,"
                         "0,0,85899345920,40,100.5,700,1980,2619,,,"));
}

TEST(CsvTest, UnknownValuesAreEmpty) {
  const auto document = ReadLiveDocument(kQuietNode);
  ASSERT_OK(document);
  EXPECT_EQ(Split(NodeCsv(*document), '\n')[1],
            "n1,2026-11-29T21:00:00Z,0,,GPU-0,T4,,true,,,,,,,,,,,,,");
}

}  // namespace
}  // namespace kgpu::top
