// What the documentation shows is read as it stands there.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "src/functions/spec/functions_file.h"
#include "src/functions/spec/load.h"
#include "testing/documentation.h"
#include "testing/status_matchers.h"

namespace kgpu::functions {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

const std::filesystem::path kDocs = std::filesystem::path(KGPU_SOURCE_DIR) / "docs";

// The one function of an example.
Function Example(const std::string& name) {
  const auto file = LoadFunctionsFile(kDocs / "examples/functions" / name);
  EXPECT_OK(file) << name;
  return file.ok() && file->functions.size() == 1 ? file->functions.front() : Function{};
}

TEST(FunctionExamplesTest, EveryExampleIsGood) {
  unsigned count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(kDocs / "examples/functions")) {
    if (entry.is_regular_file()) {
      EXPECT_OK(LoadFunctionsFile(entry.path()));
      ++count;
    }
  }
  EXPECT_GE(count, 5U);
}

TEST(FunctionExamplesTest, TheGpusOfOpenFxsDocumentationAreRequested) {
  EXPECT_EQ(Example("openfx-gpu.yaml").gpu, (GpuRequest{.count = 2}));
}

TEST(FunctionExamplesTest, OpenFxsInitIsReadUnchanged) {
  const Function function = Example("openfx-init.yaml");
  EXPECT_EQ(function.gpu.count, 0);
  EXPECT_EQ(function.limits, Resources{});
  EXPECT_EQ(function.requests, (Resources{.memory = int64_t{50} << 20, .cpu_millis = 50}));
  EXPECT_THAT(function.constraints, ElementsAre("nodetype=cpunode"));
}

TEST(FunctionExamplesTest, EveryFieldOfOpenFxTakesEffect) {
  const Function function = Example("openfx-every-field.yaml");
  EXPECT_EQ(function.description, "tells whether a text is friendly");
  EXPECT_EQ(function.gpu.count, 1);
  EXPECT_THAT(function.environment,
              ElementsAre(Pair("BATCH", "8"), Pair("LANGUAGE", "de"), Pair("LOG_LEVEL", "debug"),
                          Pair("VERBOSE", "true")));
  EXPECT_THAT(function.labels, ElementsAre(Pair("team", "language"), Pair("version", "1.10")));
  EXPECT_THAT(function.build_args,
              ElementsAre(Pair("MODEL", "small"), Pair("URL", "http://example.com/?a=b")));
  EXPECT_THAT(function.secrets, ElementsAre("api-token"));
}

TEST(FunctionExamplesTest, EveryBlockOfTheReferenceIsGood) {
  const std::vector<std::string> blocks =
      YamlBlocks(ReadDocument(kDocs / "reference/functions-file.md"));
  EXPECT_GE(blocks.size(), 3U);
  for (const std::string& block : blocks) {
    EXPECT_OK(ParseFunctionsFile(block, "functions-file.md")) << block;
  }
}

}  // namespace
}  // namespace kgpu::functions
