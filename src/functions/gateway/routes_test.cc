#include "src/functions/gateway/routes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

namespace kgpu::gateway {
namespace {

std::string IdOf(std::string_view method, std::string_view path) {
  const RouteMatch match = FindRoute(method, path);
  return match.route != nullptr ? std::string(match.route->id) : "-" + match.allowed;
}

TEST(RoutesTest, FindsEachRouteByMethodAndPath) {
  EXPECT_EQ(IdOf("GET", "/system/functions"), "listFunctions");
  EXPECT_EQ(IdOf("PUT", "/system/functions"), "updateFunction");
  EXPECT_EQ(IdOf("DELETE", "/system/function/hello"), "deleteFunction");
  EXPECT_EQ(IdOf("GET", "/system/function-log/hello"), "getFunctionLog");
  EXPECT_EQ(IdOf("POST", "/function/hello"), "callByPost");
  EXPECT_EQ(IdOf("PATCH", "/function/hello/"), "callByPatch");
  EXPECT_EQ(IdOf("GET", "/function/hello/a/b"), "callByGet");
  EXPECT_EQ(IdOf("OPTIONS", "/function/hello/a"), "callByOptions");
  EXPECT_EQ(IdOf("POST", "/async-function/hello/x"), "queueByPost");
}

TEST(RoutesTest, TakesHeadForGet) {
  EXPECT_EQ(IdOf("HEAD", "/metrics"), "getMetrics");
  EXPECT_EQ(IdOf("HEAD", "/v1/queue/purge"), "-POST");
}

TEST(RoutesTest, NamesTheMethodsOfAPath) {
  EXPECT_EQ(IdOf("DELETE", "/system/functions"), "-GET, POST, PUT");
  EXPECT_EQ(IdOf("get", "/healthz"), "-GET");
  EXPECT_EQ(IdOf("TRACE", "/function/a"), "-GET, POST, PUT, PATCH, DELETE, OPTIONS");
  EXPECT_EQ(IdOf("OPTIONS", "/async-function/a"), "-GET, POST, PUT, PATCH, DELETE");
  EXPECT_EQ(IdOf("OPTIONS", "/system/functions"), "-GET, POST, PUT");
}

TEST(RoutesTest, KnowsNoOtherPaths) {
  for (const char* path : {"", "/", "/function", "/function/", "/function//x", "/functions/a",
                           "/system/function/", "/system/function/a/b", "/system/functions/",
                           "/v1/stop", "/system/function-log/a/", "//system/functions"}) {
    EXPECT_EQ(IdOf("GET", path), "-") << path;
    EXPECT_EQ(IdOf("POST", path), "-") << path;
  }
}

TEST(RoutesTest, HasEachMethodOfAPathAndEachIdOnce) {
  std::set<std::string_view> ids;
  std::set<std::pair<std::string_view, std::string_view>> places;
  for (const Route& route : Routes()) {
    EXPECT_TRUE(ids.insert(route.id).second) << route.id;
    EXPECT_TRUE(places.insert({route.method, route.path}).second) << route.id;
    EXPECT_FALSE(route.summary.empty()) << route.id;
  }
}

// What is open to everybody is said here once more: a route without a role is no slip.
TEST(RoutesTest, NeedsARoleForAllButThreePaths) {
  std::set<std::string_view> open;
  for (const Route& route : Routes()) {
    if (route.role == Role::kNone) {
      open.insert(route.path);
    }
  }
  EXPECT_THAT(open, ::testing::ElementsAre("/healthz", "/openapi.json", "/swagger.json"));
}

std::string SpaceIn(std::string_view method, const std::string& path, const std::string& query,
                    const std::vector<std::string>& spaces = {"fn", "team-a"}) {
  const RouteMatch match = FindRoute(method, path);
  EXPECT_NE(match.route, nullptr) << path;
  return match.route == nullptr ? ""
                                : SpaceOf(*match.route, {.path = path, .query = query}, spaces);
}

TEST(SpaceOfTest, IsThatOfTheFunction) {
  EXPECT_EQ(SpaceIn("POST", "/function/hello", ""), "fn");
  EXPECT_EQ(SpaceIn("POST", "/function/hello.team-a", ""), "team-a");
  EXPECT_EQ(SpaceIn("POST", "/function/hello.team-a/more.of/it", ""), "team-a");
  EXPECT_EQ(SpaceIn("POST", "/function/hello/more.of/it", ""), "fn");
  EXPECT_EQ(SpaceIn("POST", "/function/hello", "namespace=team-a"), "fn")
      << "the query of a call is the handler's";
  EXPECT_EQ(SpaceIn("POST", "/async-function/hello.team-a", ""), "team-a");
  EXPECT_EQ(SpaceIn("GET", "/system/function/hello.team-a", ""), "team-a");
  EXPECT_EQ(SpaceIn("DELETE", "/system/function/hello", "namespace=team-a"), "team-a");
  EXPECT_EQ(SpaceIn("GET", "/system/function-log/hello", "namespace=team-a"), "team-a");
  EXPECT_EQ(SpaceIn("DELETE", "/system/function/hello.fn", "namespace=team-a"), "fn")
      << "the service refuses two namespaces";
}

TEST(SpaceOfTest, IsThatOfTheQuery) {
  EXPECT_EQ(SpaceIn("GET", "/system/functions", ""), "fn");
  EXPECT_EQ(SpaceIn("GET", "/system/functions", "namespace=team-a"), "team-a");
  EXPECT_EQ(SpaceIn("POST", "/system/functions", "replace=true&namespace=team-a"), "team-a");
  EXPECT_EQ(SpaceIn("PUT", "/system/scale-function", "namespace=team-a"), "team-a");
}

TEST(SpaceOfTest, IsEveryOneForRequestsAboutAllFunctions) {
  for (const std::string path : {"/v1/usage", "/v1/queue", "/metrics", "/system/info"}) {
    EXPECT_EQ(SpaceIn("GET", path, "namespace=team-a"), "") << path;
    EXPECT_EQ(SpaceIn("GET", path, "", {"fn"}), "fn") << path;
  }
}

}  // namespace
}  // namespace kgpu::gateway
