#include "src/cli/top/node_view.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "src/cli/top/test_documents.h"
#include "testing/status_matchers.h"

namespace kgpu::top {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

LiveDocument Read(std::string_view text) {
  auto document = ReadLiveDocument(text);
  EXPECT_OK(document);
  return document.ok() ? *std::move(document) : LiveDocument();
}

// Indexes of the GPUs in the order of the view.
std::vector<std::string> GpusOf(const View& view) {
  std::vector<std::string> gpus;
  for (const Row& row : view.rows) {
    if (row.id.starts_with("gpu/GPU-") && row.id.find('/', 4) == std::string::npos) {
      gpus.push_back(row.id.substr(8));
    }
  }
  return gpus;
}

TEST(NodeViewTest, SortsByMeasuresDownwards) {
  const LiveDocument document = Read(R"({"gpus": [
    {"index": 0, "uuid": "GPU-0", "utilization": {"gpu": 5}, "temperature": {"gpu": 70}},
    {"index": 1, "uuid": "GPU-1", "temperature": {"gpu": 80}},
    {"index": 2, "uuid": "GPU-2", "utilization": {"gpu": 90}, "power": {"watts": 1}}]})");
  const auto sorted = [&](size_t sort, bool is_reversed) {
    return GpusOf(NodeView(document, {.sort = sort, .is_reversed = is_reversed}, 79, kUtf8));
  };
  EXPECT_THAT(sorted(0, false), ElementsAre("0", "1", "2"));
  EXPECT_THAT(sorted(0, true), ElementsAre("2", "1", "0"));
  EXPECT_THAT(sorted(1, false), ElementsAre("2", "0", "1"));
  EXPECT_THAT(sorted(1, true), ElementsAre("0", "2", "1"));
  EXPECT_THAT(sorted(3, false), ElementsAre("1", "0", "2"));
  EXPECT_THAT(sorted(4, false), ElementsAre("2", "0", "1"));
}

TEST(NodeViewTest, FilterLeavesMatchesAndWhatIsAroundThem) {
  const LiveDocument document = Read(BusyNode());
  const View view = NodeView(document, {.filter = "TRAIN-022"}, 79, kUtf8);
  ASSERT_EQ(view.rows.size(), 3U);
  EXPECT_THAT(view.rows[0].line.text(), HasSubstr(" 3 H100"));
  EXPECT_THAT(view.rows[1].line.text(), HasSubstr("3:1 1g.10gb"));
  EXPECT_EQ(view.rows[2].target, (Target{.kind = TargetKind::kPod, .name = "team-b/train-022"}));
  EXPECT_THAT(GpusOf(NodeView(document, {.filter = "unhealthy"}, 79, kUtf8)), ElementsAre("09"));
  EXPECT_THAT(GpusOf(NodeView(document, {.filter = "python3 4022"}, 79, kUtf8)), ElementsAre("03"));
  EXPECT_THAT(NodeView(document, {.filter = "nobody"}, 79, kUtf8).rows, IsEmpty());
}

TEST(NodeViewTest, RowsOpenAndClose) {
  const LiveDocument document = Read(BusyNode());
  EXPECT_EQ(NodeView(document, {.is_folded = true}, 79, kUtf8).rows.size(), 16U);
  const View one = NodeView(document, {.is_folded = true, .toggled = {"gpu/GPU-03"}}, 79, kUtf8);
  EXPECT_EQ(one.rows.size(), 16U + 7U);
  const View all = NodeView(document, {}, 79, kUtf8);
  // 16 GPUs, 56 MIG devices, 110 pods, a message, a warning, a function, a process.
  EXPECT_EQ(all.rows.size(), 16U + 56U + 110U + 4U);
}

TEST(NodeViewTest, NamesFromOutsideAreEscaped) {
  const View view = NodeView(Read(BusyNode()), {.filter = "evil"}, 79, kUtf8);
  EXPECT_THAT(view.rows.back().line.text(), HasSubstr("4711 \\x1b[31mevil"));
}

TEST(NodeViewTest, TroubleAndProblemsStandInTheHeader) {
  LiveDocument document = Read(kQuietNode);
  document.problem = "no kubelet";
  document.driver_reason = "DriverNoLibrary";
  const View view = NodeView(document, {}, 79, kUtf8, "the agent does not answer");
  ASSERT_EQ(view.header.size(), 4U);
  EXPECT_EQ(view.header[1].text(), "the agent does not answer");
  EXPECT_EQ(view.header[2].text(), "no kubelet");
  EXPECT_EQ(view.header[3].text(), "driver: DriverNoLibrary");
}

TEST(NodeViewTest, APageHasAllAboutAGpu) {
  const LiveDocument document = Read(BusyNode());
  const auto page = GpuPage(document, "GPU-09", kUtf8);
  EXPECT_THAT(page, Not(IsEmpty()));
  EXPECT_EQ(page[0], "health      unhealthy: Xid79");
  EXPECT_EQ(page[1], "            the GPU has fallen off the bus: drain the node and reboot it");
  EXPECT_THAT(page, ::testing::Contains(HasSubstr("NVLink to   GPU 10 (18)")));
  EXPECT_THAT(GpuPage(document, "GPU-none", kUtf8), IsEmpty());
}

}  // namespace
}  // namespace kgpu::top
