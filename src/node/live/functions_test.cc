#include "src/node/live/functions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>

namespace kgpu::live {
namespace {

namespace json = boost::json;

TEST(LiveFunctionsTest, StatesAndPhasesAreTakenAndNothingElse) {
  const json::array functions = FunctionsOf(R"({"Functions":[
    {"Name":"hello","Image":"i","InvocationCount":"7","Annotations":{},"Labels":{},
     "Kgpu":{"env":{"TOKEN":"x"},"state":"running","waiting":1,"replicaList":[
       {"id":"r1","state":"running","gpus":["GPU-1"],"since":"t","phases":{"loan":1.5,"container":90}}]}},
    {"Name":"cold","Kgpu":{"state":"cold","problem":"no GPU"}}, 5]})");
  EXPECT_EQ(
      json::serialize(functions),
      R"([{"name":"hello","calls":"7","state":"running","waiting":1,"replicas":[)"
      R"({"id":"r1","state":"running","gpus":["GPU-1"],"phases":{"loan":1.5E0,"container":90}}]},)"
      R"({"name":"cold","state":"cold","problem":"no GPU","replicas":[]}])");
}

TEST(LiveFunctionsTest, AnythingElseIsNoFunction) {
  for (const char* answer :
       {"", "no JSON", "[]", "{}", R"({"Functions":{}})", R"({"Functions":[1]})"}) {
    EXPECT_TRUE(FunctionsOf(answer).empty()) << answer;
  }
}

}  // namespace
}  // namespace kgpu::live
