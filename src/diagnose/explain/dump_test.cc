#include "src/diagnose/explain/dump.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>

#include <string>

#include "src/diagnose/explain/explain.h"
#include "src/diagnose/explain/test_world.h"
#include "src/kube/api/json.h"
#include "src/platform/doc/doc.h"
#include "testing/status_matchers.h"

namespace kgpu::explain {
namespace {

namespace json = boost::json;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::UnorderedElementsAre;

TEST(DumpTest, ReadsBackAsItWasPrinted) {
  Dump dump = World().ToDump();
  dump.taken = "2026-03-01T12:00:00Z";
  dump.unreadable = {"nodes: forbidden"};
  dump.held = {{"main", "nvidia.com/gpu", "GPU-1"}};
  const json::value printed = DumpJson(dump);
  for (const auto format : {doc::Format::kJson, doc::Format::kYaml}) {
    const auto again = ReadDump(doc::Print(printed, format), "-");
    ASSERT_OK(again);
    EXPECT_EQ(DumpJson(*again), printed);
  }
}

TEST(DumpTest, OfAPodOnlyWhatIsJudgedStays) {
  json::value pod = json::parse(R"({
    "kind": "Pod",
    "metadata": {"name": "p", "annotations": {"token": "hidden-1"}, "labels": {"x": "hidden-2"},
                 "managedFields": [{"manager": "hidden-3"}]},
    "spec": {"containers": [{"name": "main", "image": "i", "command": ["hidden-4"],
      "args": ["hidden-5"],
      "env": [{"name": "PASSWORD", "value": "hidden-6"}, {"name": "NVIDIA_API_KEY",
               "value": "hidden-12"}, {"name": "CUDA_TOKEN", "value": "hidden-13"}, {"name": "NVIDIA_VISIBLE_DEVICES",
               "value": "all", "valueFrom": {"secretKeyRef": {"name": "hidden-7"}}}],
      "envFrom": [{"secretRef": {"name": "hidden-8"}}]}],
      "volumes": [{"name": "v", "secret": {"secretName": "hidden-9"}},
                  {"name": "w", "persistentVolumeClaim": {"claimName": "c"}}],
      "imagePullSecrets": [{"name": "hidden-10"}], "serviceAccountName": "hidden-11"}})");
  ASSERT_TRUE(Slim(pod, ""));
  const std::string text = json::serialize(pod);
  EXPECT_THAT(text, Not(HasSubstr("hidden")));
  EXPECT_THAT(text, AllOf(HasSubstr("NVIDIA_VISIBLE_DEVICES"), HasSubstr("claimName")));
}

TEST(DumpTest, KindsThatAreNotJudgedAreNotKept) {
  for (const char* kind : {"Secret", "ConfigMap", "ServiceAccount", ""}) {
    json::value object = json::object{{"kind", kind}, {"data", "x"}};
    EXPECT_FALSE(Slim(object, "")) << kind;
  }
}

TEST(DumpTest, TakesWhatKubectlPrints) {
  const auto dump = ReadDump(R"({"apiVersion": "v1", "kind": "List", "items": [
    {"kind": "Pod", "metadata": {"name": "p", "namespace": "a"}},
    {"kind": "Secret", "metadata": {"name": "s"}, "data": {"k": "hidden"}},
    {"kind": "Pod", "metadata": {"name": "q", "namespace": "b"}},
    {"kind": "Node", "metadata": {"name": "n", "annotations": {"x": "hidden", "kgpu.dev/gpus": ""}}}]})",
                             "list.json");
  ASSERT_OK(dump);
  EXPECT_EQ(dump->items.size(), 3U);
  EXPECT_THAT(dump->listed, UnorderedElementsAre("Pod", "Node"));
  EXPECT_THAT(dump->unreadable, IsEmpty());
  EXPECT_THAT(json::serialize(DumpJson(*dump)), Not(HasSubstr("hidden")));
}

TEST(DumpTest, ItemsOfAListOfOneKindNeedNotNameIt) {
  const auto dump = ReadDump(R"({"kind": "PodList", "items": [{"metadata": {"name": "p"}}]})", "-");
  ASSERT_OK(dump);
  EXPECT_EQ(Explain(FactsOf(*dump, "default", "p")).state, State::kPending);
}

TEST(DumpTest, PodsOfOneNamespaceAreReportedAsNotAll) {
  const auto dump = ReadDump(R"({"kind": "List", "items": [
    {"kind": "Pod", "metadata": {"name": "p", "namespace": "a"}},
    {"kind": "Node", "metadata": {"name": "n"}}]})",
                             "-");
  ASSERT_OK(dump);
  EXPECT_THAT(dump->unreadable, ElementsAre(HasSubstr("namespaces other than a")));
}

TEST(DumpTest, RefusesWhatIsNone) {
  EXPECT_THAT(ReadDump("{\"kind\": ", "x.json").status(),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("x.json")));
  EXPECT_THAT(ReadDump("[]", "x.json").status(),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("must be an object")));
  EXPECT_THAT(ReadDump("{\"kind\": \"List\", \"items\": [1, {}, {\"kind\": \"Secret\"}]}", "x.json")
                  .status(),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("no relevant object")));
  EXPECT_THAT(ReadDump(std::string(kMaxYamlDump + 1, '#'), "x.yaml").status(),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("x.yaml")));
}

}  // namespace
}  // namespace kgpu::explain
