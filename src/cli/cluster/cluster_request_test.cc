#include "src/cli/cluster/cluster_request.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>

#include "testing/status_matchers.h"

namespace kgpu::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

chart::ValuesRequest SampleRequest() {
  return {.distribution = "k3s",
          .files = {{.name = "site.yaml", .text = "image: {tag: a}\n"}},
          .settings = {"agent.maxUnavailable=1"}};
}

TEST(ClusterRequestTest, SurvivesTheRecord) {
  const auto read = ParseRequest(RequestJson(SampleRequest()), "gpu");
  ASSERT_OK(read);
  EXPECT_EQ(read->name_space, "gpu");
  EXPECT_EQ(read->distribution, "k3s");
  ASSERT_EQ(read->files.size(), 1U);
  EXPECT_EQ(read->files[0].name, "site.yaml");
  EXPECT_EQ(read->files[0].text, "image: {tag: a}\n");
  EXPECT_EQ(read->settings, SampleRequest().settings);
}

TEST(ClusterRequestTest, AnEditedRecordNamesTheField) {
  boost::json::object object = RequestJson(SampleRequest());
  object["settings"] = 1;
  EXPECT_THAT(ParseRequest(object, "kgpu"),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("data.request.settings")));
}

TEST(ClusterRequestTest, AnUpgradeKeepsWhatIsNotGiven) {
  chart::ValuesRequest merged = MergeRequests(SampleRequest(), {});
  EXPECT_EQ(merged.distribution, "k3s");
  EXPECT_EQ(merged.files.size(), 1U);
  merged = MergeRequests(SampleRequest(), {.distribution = "kind",
                                           .files = {{.name = "new.yaml", .text = ""}},
                                           .settings = {"image.tag=b"}});
  EXPECT_EQ(merged.distribution, "kind");
  EXPECT_EQ(merged.files[0].name, "new.yaml");
  EXPECT_THAT(merged.settings, ElementsAre("agent.maxUnavailable=1", "image.tag=b"));
}

}  // namespace
}  // namespace kgpu::cli
