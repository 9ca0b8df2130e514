#include "src/node/telemetry/reference.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <string>

namespace kgpu::telemetry {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(ReferenceTest, TheDocumentationIsTheTable) {
  std::ifstream file(std::string(KGPU_SOURCE_DIR) + "/docs/reference/metrics.md");
  const std::string docs((std::istreambuf_iterator<char>(file)), {});
  const std::string reference = ReferenceMarkdown(NameSets::All());
  EXPECT_TRUE(docs.ends_with(reference)) << "docs/reference/metrics.md must end with what `kgpu "
                                            "metrics list --output markdown` prints";
}

TEST(ReferenceTest, ShowsTheSetsAskedForOnly) {
  const std::string table = ReferenceTable({NameSet::kGke});
  EXPECT_THAT(table, HasSubstr("memory_used_gpu_node"));
  EXPECT_THAT(table, Not(HasSubstr("kgpu_")));
}

TEST(ReferenceTest, KnowsPatternsThatFitNothing) {
  EXPECT_THAT(PatternsOfNothing({"kgpu_process_*", "kgpu_proces_*", "*", "process_open_fds"}),
              ElementsAre("kgpu_proces_*", "process_open_fds"));
}

}  // namespace
}  // namespace kgpu::telemetry
