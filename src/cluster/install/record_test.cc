#include "src/cluster/install/record.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>

#include "src/kube/objects/test_cluster.h"
#include "testing/status_matchers.h"

namespace kgpu::install {
namespace {

namespace json = boost::json;
using ::testing::HasSubstr;

Record Sample() {
  return {.version = "0.1.0",
          .is_complete = true,
          .request = {{"settings", json::array{"a=b"}}},
          .objects = {{.ref = {"v1", "Namespace", "", "kgpu"}, .existed = true},
                      {.ref = {"apps/v1", "DaemonSet", "kgpu", "kgpu-agent"}}}};
}

TEST(RecordTest, SurvivesAConfigMap) {
  const auto read = RecordOf(ConfigMapOf(Sample(), "kgpu"));
  ASSERT_OK(read);
  EXPECT_EQ(read->version, "0.1.0");
  EXPECT_TRUE(read->is_complete);
  EXPECT_EQ(read->request, Sample().request);
  EXPECT_EQ(read->objects, Sample().objects);
  EXPECT_TRUE(read->clearing.empty());
}

TEST(RecordTest, AnEditedRecordNamesTheField) {
  json::object map = ConfigMapOf(Sample(), "kgpu");
  map.at("data").as_object()["objects"] = "{}";
  EXPECT_THAT(RecordOf(map),
              StatusIs(StatusCode::kInvalidArgument,
                       HasSubstr("ConfigMap kgpu/kgpu-install: data.objects: must be a list")));
  map.at("data").as_object().erase("request");
  EXPECT_THAT(RecordOf(map), StatusIs(StatusCode::kInvalidArgument, HasSubstr("request")));
}

TEST(RecordTest, IsKeptOnTheServer) {
  kube::TestCluster cluster;
  ASSERT_OK(cluster.api.Do("POST", "/api/v1/namespaces", {{"metadata", {{"name", "kgpu"}}}}));
  auto read = ReadRecord(cluster.client, "kgpu");
  ASSERT_OK(read);
  EXPECT_FALSE(read->has_value());
  ASSERT_OK(WriteRecord(cluster.client, "kgpu", Sample()));
  read = ReadRecord(cluster.client, "kgpu");
  ASSERT_OK(read);
  ASSERT_TRUE(read->has_value());
  EXPECT_EQ((*read)->objects, Sample().objects);
}

TEST(RecordTest, TellsWhoseAnObjectIs) {
  const auto with = [](json::object metadata) {
    return json::value(json::object{{"metadata", std::move(metadata)}});
  };
  EXPECT_TRUE(IsOurs(ConfigMapOf(Sample(), "kgpu")));
  EXPECT_EQ(OtherManagerOf(with({{"annotations", {{"meta.helm.sh/release-name", "gpu"}}},
                                 {"labels", {{"app.kubernetes.io/managed-by", "Helm"}}}})),
            "helm release gpu");
  EXPECT_EQ(OtherManagerOf(with({{"labels", {{"app.kubernetes.io/managed-by", "argo"}}}})), "argo");
  EXPECT_EQ(OtherManagerOf(with({})), "nobody");
}

}  // namespace
}  // namespace kgpu::install
