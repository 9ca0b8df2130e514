#include "src/cluster/page/cluster_page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>

namespace kgpu::cluster_page {
namespace {

namespace json = boost::json;

TEST(ClusterPageTest, NodesModelsPoolsAndNamespacesAreCounted) {
  gpus::Summary summary;
  summary.pools = {{.node = "n1",
                    .resource = "nvidia.com/gpu",
                    .model = "T4",
                    .counts = {.total = 8, .used = 3, .free = 5},
                    .problem = ""},
                   {.node = "n2",
                    .resource = "nvidia.com/gpu",
                    .model = "T4",
                    .counts = {.total = 8, .unhealthy = 8},
                    .problem = "DriverNoLibrary: run kgpu doctor"}};
  summary.holders = {
      {.space = "ml", .pod = "train", .node = "n1", .resource = "nvidia.com/gpu", .count = 3}};
  summary.unreadable = {"resourceclaims: forbidden"};
  const json::object page = ClusterJson({.summary = summary,
                                         .version = "1.2.3",
                                         .problem = "",
                                         .measured = WallTime(std::chrono::seconds(0)),
                                         .now = WallTime(std::chrono::seconds(5))});
  EXPECT_EQ(page.at("kind"), "Cluster");
  EXPECT_EQ(page.at("measured"), "1970-01-01T00:00:00Z");
  EXPECT_EQ(json::serialize(page.at("nodes").at(0)),
            R"({"name":"n1","total":8,"used":3,"free":5,"unhealthy":0,"cordoned":0,"model":"T4",)"
            R"("ready":true,"problem":""})");
  EXPECT_EQ(page.at("nodes").at(1).at("ready"), false);
  EXPECT_EQ(page.at("models").at(0).at("total"), 16);
  EXPECT_EQ(page.at("pools").at(0).at("name"), "nvidia.com/gpu");
  EXPECT_EQ(json::serialize(page.at("namespaces")),
            R"([{"name":"ml","used":3,"pending":0,"pods":1}])");
  EXPECT_EQ(json::serialize(page.at("notRead")), R"(["resourceclaims: forbidden"])");
}

TEST(ClusterPageTest, BeforeTheFirstReadingNothingIsInvented) {
  const gpus::Summary nothing;
  const json::object page = ClusterJson({.summary = nothing, .problem = "no answer"});
  EXPECT_TRUE(page.at("measured").is_null());
  EXPECT_TRUE(page.at("nodes").as_array().empty());
  EXPECT_EQ(page.at("problem"), "no answer");
}

}  // namespace
}  // namespace kgpu::cluster_page
