#include "src/functions/gateway/fx_gateway.h"

#include <fx_gateway.pb.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>

#include <string>

#include "src/functions/gateway/caller.h"
#include "src/functions/gateway/routes.h"
#include "src/functions/spec/wire.h"
#include "testing/status_matchers.h"

namespace kgpu::gateway {
namespace {

using ::testing::HasSubstr;

const std::string kBytes("\xff\0\xfe", 3);

std::string NameMessage(const std::string& name) {
  pb::FunctionRequest message;
  message.set_functionname(name);
  return message.SerializeAsString();
}

TEST(FxGatewayTest, MapsEachMethodToARoute) {
  pb::InvokeServiceRequest invoke;
  invoke.set_service("hello");
  pb::CreateFunctionRequest create;
  create.set_service("hello");
  pb::ScaleServiceRequest scale;
  for (const auto& [method, message, id] :
       std::initializer_list<std::tuple<const char*, std::string, const char*>>{
           {"Invoke", invoke.SerializeAsString(), "callByPost"},
           {"List", "", "listFunctions"},
           {"Deploy", create.SerializeAsString(), "createFunction"},
           {"Delete", NameMessage("hello"), "deleteFunction"},
           {"Update", create.SerializeAsString(), "updateFunction"},
           {"GetMeta", NameMessage("hello"), "getFunction"},
           {"GetLog", NameMessage("hello"), "getFunctionLog"},
           {"ReplicaUpdate", scale.SerializeAsString(), "scaleFunction"},
           {"Info", "", "getInfo"},
           {"HealthCheck", "", "getHealth"}}) {
    const auto request = RestRequest(method, message);
    ASSERT_OK(request) << method;
    const RouteMatch match = FindRoute(request->method, request->path);
    ASSERT_NE(match.route, nullptr) << method;
    EXPECT_EQ(match.route->id, id);
  }
}

TEST(FxGatewayTest, KnowsTheRouteOfEachMethodWithoutItsMessage) {
  for (const char* method : {"List", "Info", "HealthCheck"}) {
    const auto request = RestRequest(method, "");
    ASSERT_OK(request) << method;
    const RouteMatch match = FindRoute(request->method, request->path);
    ASSERT_NE(match.route, nullptr) << method;
    EXPECT_EQ(RouteIdOf(method), match.route->id);
  }
  for (const char* method :
       {"Invoke", "Deploy", "Delete", "Update", "GetMeta", "GetLog", "ReplicaUpdate"}) {
    EXPECT_EQ(std::ranges::count(Routes(), RouteIdOf(method), &Route::id), 1) << method;
  }
  EXPECT_EQ(RouteIdOf("Invoke"), "callByPost");
  EXPECT_EQ(RouteIdOf("Nothing"), "");
}

TEST(FxGatewayTest, PassesInputOnByteForByte) {
  pb::InvokeServiceRequest invoke;
  invoke.set_service("hello");
  invoke.set_input(kBytes);
  const auto request = RestRequest("Invoke", invoke.SerializeAsString());
  ASSERT_OK(request);
  EXPECT_EQ(request->body, kBytes);
  EXPECT_EQ(request->target, "/function/hello");
}

TEST(FxGatewayTest, WritesDeploymentsAsTheServiceReadsThem) {
  pb::CreateFunctionRequest create;
  create.set_service("hello");
  create.set_image("registry/hello:1");
  (*create.mutable_envvars())["A"] = "x \"y\"";
  (*create.mutable_labels())["team"] = "a";
  (*create.mutable_annotations())["desc"] = "says hello";
  create.add_constraints("nodetype=gpunode");
  create.add_secrets("regcred");
  create.mutable_limits()->set_memory("1Gi");
  create.mutable_limits()->set_gpu("2");
  create.mutable_requests()->set_cpu("500m");
  create.set_minreplicas(1);
  create.set_maxreplicas(3);
  const auto request = RestRequest("Deploy", create.SerializeAsString());
  ASSERT_OK(request);
  const auto function = functions::ParseWire(request->body, "request");
  ASSERT_OK(function);
  EXPECT_EQ(function->name, "hello");
  EXPECT_EQ(function->image, "registry/hello:1");
  EXPECT_EQ(function->environment.at("A"), "x \"y\"");
  EXPECT_EQ(function->labels.at("team"), "a");
  EXPECT_EQ(function->description, "says hello");
  EXPECT_THAT(function->constraints, ::testing::ElementsAre("nodetype=gpunode"));
  EXPECT_THAT(function->secrets, ::testing::ElementsAre("regcred"));
  EXPECT_EQ(function->limits.memory, int64_t{1} << 30);
  EXPECT_EQ(function->gpu.count, 2);
  EXPECT_EQ(function->requests.cpu_millis, 500);
  EXPECT_EQ(function->scaling.min_replicas, 1);
  EXPECT_EQ(function->scaling.max_replicas, 3);
}

TEST(FxGatewayTest, RefusesNamesThatWouldBeOtherPaths) {
  for (const char* name : {"", "a/b", "../system/functions", "a?x=1", "a#b", "A", "a b"}) {
    EXPECT_THAT(RestRequest("Delete", NameMessage(name)), StatusIs(StatusCode::kInvalidArgument))
        << name;
  }
}

TEST(FxGatewayTest, RefusesWhatIsNoMessageAndNoMethod) {
  EXPECT_THAT(RestRequest("Delete", "\x0a\x05"), StatusIs(StatusCode::kInvalidArgument));
  EXPECT_THAT(RestRequest("Info", "\xff"), StatusIs(StatusCode::kInvalidArgument));
  EXPECT_THAT(RestRequest("Deploy", std::string("\x0a\x01\xff", 3)),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("UTF-8")));
  EXPECT_THAT(RestRequest("Stop", ""), StatusIs(StatusCode::kUnimplemented, HasSubstr("Stop")));
}

TEST(FxGatewayTest, WritesReplies) {
  pb::Message message;
  ASSERT_TRUE(message.ParseFromString(ReplyMessage("Invoke", kBytes).value()));
  EXPECT_EQ(message.msg(), kBytes);
  ASSERT_TRUE(message.ParseFromString(ReplyMessage("Deploy", R"({"Msg":"OK"})").value()));
  EXPECT_EQ(message.msg(), "OK");
  pb::Functions functions;
  ASSERT_TRUE(functions.ParseFromString(
      ReplyMessage("List", R"({"Functions":[{"Name":"a","Image":"i","InvocationCount":"7",)"
                           R"("Replicas":"2","AvailableReplicas":"1","Annotations":{"desc":"d"},)"
                           R"("Labels":{"k":"v"},"Kgpu":{"state":"cold"}}]})")
          .value()));
  ASSERT_EQ(functions.functions_size(), 1);
  EXPECT_EQ(functions.functions(0).name(), "a");
  EXPECT_EQ(functions.functions(0).invocationcount(), 7U);
  EXPECT_EQ(functions.functions(0).replicas(), 2U);
  EXPECT_EQ(functions.functions(0).availablereplicas(), 1U);
  EXPECT_EQ(functions.functions(0).annotations().at("desc"), "d");
  EXPECT_EQ(functions.functions(0).labels().at("k"), "v");
  EXPECT_THAT(ReplyMessage("List", R"({"Functions":[1]})"), StatusIs(StatusCode::kInternal));
  EXPECT_THAT(ReplyMessage("Info", "<html>"), StatusIs(StatusCode::kInternal));
}

TEST(FxGatewayTest, TellsFailuresByTheirCodes) {
  for (const auto& [http, grpc] : std::map<int, int>{{400, 3},
                                                     {401, 16},
                                                     {403, 7},
                                                     {404, 5},
                                                     {405, 12},
                                                     {409, 6},
                                                     {413, 8},
                                                     {422, 9},
                                                     {429, 8},
                                                     {500, 13},
                                                     {501, 12},
                                                     {502, 14},
                                                     {503, 14},
                                                     {504, 4},
                                                     {507, 8}}) {
    const GrpcStatus status = StatusOfAnswer(ErrorResponse(http, "why"));
    EXPECT_EQ(static_cast<int>(status.code), grpc) << http;
    EXPECT_EQ(status.text, "why");
  }
}

TEST(FxGatewayTest, TellsTheHandlersFailuresFromOthers) {
  http::Response answer = http::TextResponse(418, "short and stout");
  answer.headers.Add("X-Call-Id", "1");
  EXPECT_EQ(StatusOfAnswer(answer).code, h2::GrpcCode::kUnknown);
  EXPECT_EQ(StatusOfAnswer(answer).text, "handler: status 418: short and stout");
  answer = http::TextResponse(429, "full");
  answer.headers.Add("X-Call-Id", "1");
  answer.headers.Add("Kgpu-Fault", "overload");
  EXPECT_EQ(StatusOfAnswer(answer).code, h2::GrpcCode::kResourceExhausted);
  EXPECT_EQ(StatusOfAnswer(answer).text, "full");
}

}  // namespace
}  // namespace kgpu::gateway
