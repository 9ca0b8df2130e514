// The patch languages, without a server around them.
#include <gmock/gmock.h>

#include <boost/json.hpp>

#include "testing/apiserver/failure.h"
#include "testing/apiserver/json_patches.h"
#include "testing/apiserver/resource.h"
#include "testing/apiserver/strategic_patch.h"
#include "testing/status_matchers.h"

namespace kgpu::apiserver {
namespace {

namespace json = boost::json;
using ::testing::HasSubstr;

struct Case {
  const char* target;
  const char* patch;
  const char* result;
};

TEST(MergePatchTest, FollowsRfc7386) {
  const Case cases[] = {{R"({"a":"b"})", R"({"a":"c"})", R"({"a":"c"})"},
                        {R"({"a":"b"})", R"({"b":"c"})", R"({"a":"b","b":"c"})"},
                        {R"({"a":"b"})", R"({"a":null})", R"({})"},
                        {R"({"a":["b"]})", R"({"a":"c"})", R"({"a":"c"})"},
                        {R"({"a":{"b":"c"}})", R"({"a":{"b":"d","c":null}})", R"({"a":{"b":"d"}})"},
                        {R"({"a":[{"b":"c"}]})", R"({"a":[1]})", R"({"a":[1]})"},
                        {R"(["a","b"])", R"(["c","d"])", R"(["c","d"])"},
                        {R"({"e":null})", R"({"a":1})", R"({"e":null,"a":1})"},
                        {R"([1,2])", R"({"a":"b","c":null})", R"({"a":"b"})"},
                        {R"({})", R"({"a":{"bb":{"ccc":null}}})", R"({"a":{"bb":{}}})"}};
  for (const Case& one : cases) {
    json::value target = json::parse(one.target);
    MergePatch(target, json::parse(one.patch));
    EXPECT_EQ(target, json::parse(one.result)) << one.target << one.patch;
  }
}

TEST(JsonPatchTest, AppliesOperationsInOrder) {
  const Case cases[] = {
      {R"({"a":1})", R"([{"op":"add","path":"/b","value":2}])", R"({"a":1,"b":2})"},
      {R"({"a":[1,3]})", R"([{"op":"add","path":"/a/1","value":2}])", R"({"a":[1,2,3]})"},
      {R"({"a":[1]})", R"([{"op":"add","path":"/a/-","value":2}])", R"({"a":[1,2]})"},
      {R"({"a":1,"b":2})", R"([{"op":"remove","path":"/a"}])", R"({"b":2})"},
      {R"({"a":1})", R"([{"op":"replace","path":"/a","value":[]}])", R"({"a":[]})"},
      {R"({"a":1})", R"([{"op":"move","from":"/a","path":"/b"}])", R"({"b":1})"},
      {R"({"a":1})", R"([{"op":"copy","from":"/a","path":"/b"}])", R"({"a":1,"b":1})"},
      {R"({"x":{"a/b":1,"c~d":2}})",
       R"([{"op":"test","path":"/x/a~1b","value":1},{"op":"remove","path":"/x/c~0d"}])",
       R"({"x":{"a/b":1}})"},
      {R"({"a":1})", R"([{"op":"test","path":"/none","value":null}])", R"({"a":1})"}};
  for (const Case& one : cases) {
    json::value target = json::parse(one.target);
    EXPECT_OK(JsonPatch(target, json::parse(one.patch))) << one.patch;
    EXPECT_EQ(target, json::parse(one.result)) << one.patch;
  }
}

TEST(JsonPatchTest, RefusesWhatCannotBeDoneAndChangesNothing) {
  const std::pair<const char*, int> cases[] = {
      {R"([{"op":"add","path":"/b","value":2},{"op":"test","path":"/a","value":2}])", 422},
      {R"([{"op":"remove","path":"/none"}])", 422},
      {R"([{"op":"add","path":"/none/b","value":1}])", 422},
      {R"([{"op":"replace","path":"/none","value":1}])", 422},
      {R"([{"op":"add","path":"/list/9","value":1}])", 422},
      {R"([{"op":"add","path":"/a/b","value":1}])", 422},
      {R"([{"op":"add","path":"b","value":1}])", 422},
      {R"([{"op":"explode","path":"/a"}])", 400},
      {R"([{"op":"add","path":"/a"}])", 400},
      {R"([7])", 400},
      {R"({"op":"add"})", 400}};
  const json::value before = json::parse(R"({"a":1,"list":[]})");
  for (const auto& [patch, code] : cases) {
    json::value target = before;
    EXPECT_EQ(HttpCodeOf(JsonPatch(target, json::parse(patch))), code) << patch;
    EXPECT_EQ(target, before) << patch;
  }
}

TEST(JsonPatchTest, BoundsItsWork) {
  json::array many;
  for (int i = 0; i < 10'001; ++i) {
    many.push_back({{"op", "test"}, {"path", ""}, {"value", nullptr}});
  }
  json::value target = json::object();
  EXPECT_EQ(HttpCodeOf(JsonPatch(target, many)), 413);
  json::array doubling;
  for (int i = 0; i < 200; ++i) {
    doubling.push_back({{"op", "copy"}, {"from", ""}, {"path", "/a"}});
  }
  EXPECT_EQ(HttpCodeOf(JsonPatch(target, doubling)), 422);
}

class StrategicPatchTest : public ::testing::Test {
 protected:
  json::value Patched(std::string_view kind, const char* target, const char* patch) {
    json::object object = json::parse(target).as_object();
    const Status status = StrategicPatch(object, json::parse(patch).as_object(),
                                         resources_.FindKind("", "v1", kind)->schema);
    EXPECT_OK(status);
    return object;
  }

  ResourceTable resources_;
};

TEST_F(StrategicPatchTest, MergesListsByTheirKeys) {
  EXPECT_EQ(Patched("Pod", R"({"spec":{"containers":[{"name":"a","image":"x"},{"name":"b"}]}})",
                    R"({"spec":{"containers":[{"name":"a","image":"y"},{"name":"c"}]}})"),
            json::parse(R"({"spec":{"containers":[{"name":"a","image":"y"},{"name":"b"},
                            {"name":"c"}]}})"));
}

TEST_F(StrategicPatchTest, ReplacesListsWithoutAKey) {
  EXPECT_EQ(Patched("Node", R"({"spec":{"taints":[{"key":"a"}]}})",
                    R"({"spec":{"taints":[{"key":"b"}]}})"),
            json::parse(R"({"spec":{"taints":[{"key":"b"}]}})"));
}

TEST_F(StrategicPatchTest, DeletesItemsAndMaps) {
  EXPECT_EQ(Patched("Pod", R"({"spec":{"containers":[{"name":"a"},{"name":"b"}]}})",
                    R"({"spec":{"containers":[{"name":"a","$patch":"delete"}]}})"),
            json::parse(R"({"spec":{"containers":[{"name":"b"}]}})"));
  EXPECT_EQ(Patched("Node", R"({"metadata":{"labels":{"a":"1","b":"2"}}})",
                    R"({"metadata":{"labels":{"a":null}}})"),
            json::parse(R"({"metadata":{"labels":{"b":"2"}}})"));
  EXPECT_EQ(Patched("Node", R"({"metadata":{"labels":{"a":"1"}}})",
                    R"({"metadata":{"labels":{"$patch":"replace","c":"3"}}})"),
            json::parse(R"({"metadata":{"labels":{"c":"3"}}})"));
}

TEST_F(StrategicPatchTest, ReplacesAWholeListWhenAskedTo) {
  EXPECT_EQ(Patched("Pod", R"({"spec":{"containers":[{"name":"a"}]}})",
                    R"({"spec":{"containers":[{"$patch":"replace"},{"name":"b"}]}})"),
            json::parse(R"({"spec":{"containers":[{"name":"b"}]}})"));
}

TEST_F(StrategicPatchTest, MergesPlainListsAndTakesFromThem) {
  EXPECT_EQ(Patched("Node", R"({"metadata":{"finalizers":["a/b"]}})",
                    R"({"metadata":{"finalizers":["c/d","a/b"]}})"),
            json::parse(R"({"metadata":{"finalizers":["a/b","c/d"]}})"));
  EXPECT_EQ(Patched("Node", R"({"metadata":{"finalizers":["a/b","c/d"]}})",
                    R"({"metadata":{"$deleteFromPrimitiveList/finalizers":["a/b"]}})"),
            json::parse(R"({"metadata":{"finalizers":["c/d"]}})"));
}

TEST_F(StrategicPatchTest, OrdersItems) {
  EXPECT_EQ(Patched("Pod", R"({"spec":{"containers":[{"name":"a"},{"name":"b"}]}})",
                    R"({"spec":{"$setElementOrder/containers":[{"name":"c"},{"name":"b"},
                        {"name":"a"}],"containers":[{"name":"c"}]}})"),
            json::parse(R"({"spec":{"containers":[{"name":"c"},{"name":"b"},{"name":"a"}]}})"));
}

TEST_F(StrategicPatchTest, KeepsOnlyTheKeysToRetain) {
  EXPECT_EQ(Patched("Pod", R"({"spec":{"volumes":[{"name":"v","emptyDir":{}}]}})",
                    R"({"spec":{"volumes":[{"name":"v","$retainKeys":["name","hostPath"],
                        "hostPath":{"path":"/x"}}]}})"),
            json::parse(R"({"spec":{"volumes":[{"name":"v","hostPath":{"path":"/x"}}]}})"));
}

TEST_F(StrategicPatchTest, RefusesItemsWithoutTheirKey) {
  json::object pod = json::parse(R"({"spec":{"containers":[]}})").as_object();
  const Status status =
      StrategicPatch(pod, json::parse(R"({"spec":{"containers":[{"image":"x"}]}})").as_object(),
                     resources_.FindKind("", "v1", "Pod")->schema);
  EXPECT_EQ(HttpCodeOf(status), 400);
}

}  // namespace
}  // namespace kgpu::apiserver
