// What the server tells of itself, and tables.
#include <gmock/gmock.h>

#include "testing/apiserver/api_fixture.h"

namespace kgpu::apiserver {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

using DiscoveryTest = ApiTest;

std::vector<std::string> Texts(const boost::json::array& list, std::string_view field) {
  std::vector<std::string> texts;
  for (const boost::json::value& item : list) {
    texts.emplace_back(TextAt(item.as_object(), {field}));
  }
  return texts;
}

TEST_F(DiscoveryTest, ListsGroupsAndResources) {
  const auto groups = Get("/apis")->Json();
  EXPECT_THAT(Texts(*ListAt(groups, {"groups"}), "name"), Contains("coordination.k8s.io"));
  const auto core = Get("/api/v1")->Json();
  EXPECT_THAT(Texts(*ListAt(core, {"resources"}), "name"), Contains("nodes/status"));
  EXPECT_EQ(TextAt(Get("/apis/apps")->Json(), {"preferredVersion", "groupVersion"}), "apps/v1");
  EXPECT_EQ(Get("/apis/none/v1")->code, 404);
  EXPECT_EQ(Get("/apis/none/v1/things")->code, 404);
}

TEST_F(DiscoveryTest, AggregatedFormHasAllAtOnce) {
  const auto seen = Get("/apis", {{"Accept",
                                   "application/json;g=apidiscovery.k8s.io;v=v2;"
                                   "as=APIGroupDiscoveryList,application/json"}});
  const auto body = seen->Json();
  EXPECT_EQ(TextAt(body, {"kind"}), "APIGroupDiscoveryList");
  EXPECT_THAT(seen->body, HasSubstr("\"resource\":\"leases\""));
  EXPECT_THAT(std::string(seen->headers.Find("Content-Type").value_or("")),
              HasSubstr("as=APIGroupDiscoveryList"));
}

TEST_F(DiscoveryTest, SaysItsVersionAndHealth) {
  EXPECT_EQ(TextAt(Get("/version")->Json(), {"minor"}), "36");
  for (const char* path : {"/healthz", "/livez", "/readyz"}) {
    EXPECT_THAT(Get(path)->body, HasSubstr("ok"));
  }
}

TEST_F(DiscoveryTest, TableHasTheServersColumns) {
  AddNode("n1", R"({"node-role.kubernetes.io/gpu":""})");
  loop_.Advance(std::chrono::minutes(5));
  const auto table =
      Get("/api/v1/nodes", {{"Accept", "application/json;as=Table;v=v1;g=meta.k8s.io"}})->Json();
  EXPECT_EQ(TextAt(table, {"kind"}), "Table");
  EXPECT_EQ(Texts(*ListAt(table, {"columnDefinitions"}), "name")[2], "Roles");
  const auto& row = ListAt(table, {"rows"})->front().as_object();
  const auto& cells = *ListAt(row, {"cells"});
  EXPECT_EQ(cells[0], "n1");
  EXPECT_EQ(cells[1], "Unknown");
  EXPECT_EQ(cells[2], "gpu");
  EXPECT_EQ(cells[3], "5m");
  EXPECT_EQ(TextAt(row, {"object", "kind"}), "PartialObjectMetadata");
}

TEST_F(DiscoveryTest, WatchMayBeATableToo) {
  const auto watch =
      Get("/api/v1/nodes?watch=1", {{"Accept", "application/json;as=Table;v=v1;g=meta.k8s.io"}});
  AddNode("n1");
  EXPECT_EQ(TextAt(watch->Events().front(), {"object", "kind"}), "Table");
}

TEST_F(DiscoveryTest, MetadataAloneMayBeAskedFor) {
  AddNode("n1");
  const auto list = Get("/api/v1/nodes", {{"Accept",
                                           "application/json;as=PartialObjectMetadataList"
                                           ";v=v1;g=meta.k8s.io"}})
                        ->Json();
  EXPECT_EQ(TextAt(list, {"kind"}), "PartialObjectMetadataList");
  EXPECT_FALSE(ListAt(list, {"items"})->front().as_object().contains("spec"));
}

TEST_F(DiscoveryTest, EventsAndPodsHaveTheirColumns) {
  Post("/api/v1/namespaces/default/pods",
       R"({"metadata":{"name":"p"},"spec":{"containers":[{"name":"c","image":"i"}]}})");
  const auto table = Get("/api/v1/namespaces/default/pods/p",
                         {{"Accept", "application/json;as=Table;v=v1;g=meta.k8s.io"}})
                         ->Json();
  const auto& cells = *ListAt(ListAt(table, {"rows"})->front().as_object(), {"cells"});
  EXPECT_EQ(cells[1], "0/1");
  EXPECT_EQ(cells[2], "Pending");
}

TEST_F(DiscoveryTest, OpenApiDescribesTypes) {
  const auto v2 = Get("/openapi/v2")->Json();
  const auto* taint =
      ObjectAt(v2, {"definitions", "io.k8s.api.core.v1.Taint", "properties", "effect"});
  ASSERT_NE(taint, nullptr);
  EXPECT_EQ(TextAt(*taint, {"type"}), "string");
  const auto index = Get("/openapi/v3")->Json();
  EXPECT_EQ(TextAt(index, {"paths", "apis/apps/v1", "serverRelativeURL"}),
            "/openapi/v3/apis/apps/v1");
  const auto v3 = Get("/openapi/v3/api/v1")->Json();
  EXPECT_NE(FieldAt(v3, {"components", "schemas", "io.k8s.api.core.v1.PodSpec"}), nullptr);
}

TEST_F(DiscoveryTest, OpenApiAsAProtocolBufferBeginsWithItsVersion) {
  const auto seen = Get("/openapi/v2", {{"Accept",
                                         "application/com.github.proto-openapi.spec.v2@"
                                         "v1.0+protobuf"}});
  // Field 1, three bytes.
  EXPECT_EQ(seen->body.substr(0, 5),
            "\x0a\x03"
            "2.0");
}

}  // namespace
}  // namespace kgpu::apiserver
