#include "src/functions/service/service.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sys/socket.h>

#include <boost/json/value.hpp>

#include <array>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "src/functions/provider/test_machine.h"
#include "src/functions/spec/wire.h"
#include "src/platform/doc/doc.h"
#include "src/platform/net/http/client_connection.h"
#include "src/platform/net/http/writer.h"
#include "src/platform/sys/unix_socket.h"
#include "testing/status_matchers.h"

namespace kgpu::functions {
namespace {

namespace fs = std::filesystem;
using std::chrono::seconds;
using ::testing::HasSubstr;

http::Request Json(const char* method, const char* target, std::string body) {
  http::Request request{.method = method, .target = target};
  request.body = std::move(body);
  return request;
}

std::string WireText(const Function& function) {
  return doc::PrintLine(ToWire(function));
}

// An answer as far as it has come.
struct Following {
  std::shared_ptr<http::ClientConnection> connection{};
  std::string text{};
  bool has_ended = false;
};

void Follow(TestMachine& machine, const http::Request& request, Following& following) {
  StatusOr<UniqueFd> connected = sys::ConnectUnix(machine.socket());
  ASSERT_OK(connected);
  auto connection = http::ClientConnection::Open(machine.loop, *std::move(connected), nullptr,
                                                 machine.socket(), {});
  ASSERT_OK(connection);
  following.connection = *std::move(connection);
  const auto text = http::RequestText(request, "localhost");
  ASSERT_OK(text);
  following.connection->Send(
      *text, false,
      {.on_data = [&following](std::string_view bytes) { following.text += bytes; },
       .on_end = [&following](const Status&) { following.has_ended = true; }});
}

TEST(ServiceTest, CreatesUpdatesShowsAndDeletes) {
  TestMachine machine;
  const std::string text = WireText(HelloFunction());
  EXPECT_EQ(machine.Ask(Json("PUT", "/system/functions", text)).code, 404);
  EXPECT_EQ(machine.Ask(Json("POST", "/system/functions", text)).code, 200);
  EXPECT_EQ(machine.Ask(Json("POST", "/system/functions", text)).code, 409);
  EXPECT_EQ(machine.Ask(Json("PUT", "/system/functions", text)).code, 200);
  const http::Response list = machine.Ask({.target = "/system/functions"});
  EXPECT_THAT(list.body, HasSubstr(R"("Name":"hello")"));
  EXPECT_THAT(list.body, HasSubstr(R"("AvailableReplicas":"0")"));
  EXPECT_THAT(machine.Ask({.target = "/system/function/hello"}).body,
              HasSubstr(R"("state":"cold")"));
  EXPECT_EQ(machine.Ask({.target = "/system/function/none"}).code, 404);
  EXPECT_EQ(machine.Ask({.method = "DELETE", .target = "/system/function/hello"}).code, 200);
  EXPECT_EQ(machine.Ask({.method = "DELETE", .target = "/system/function/hello"}).code, 404);
}

TEST(ServiceTest, NotesWhatThisMachineDoesNotConsider) {
  TestMachine machine;
  Function function = HelloFunction();
  function.scaling.by = ScaledBy::kKeda;
  EXPECT_THAT(machine.Ask(Json("POST", "/system/functions", WireText(function))).body,
              HasSubstr("scaling.by: not considered"));
  function.scaling.by = ScaledBy::kKgpu;
  EXPECT_THAT(machine.Ask(Json("PUT", "/system/functions", WireText(function))).body,
              Not(HasSubstr("scaling.by")));
}

TEST(ServiceTest, RefusesWhatItDoesNotUnderstand) {
  TestMachine machine;
  EXPECT_EQ(machine.Ask(Json("POST", "/system/functions", "{")).code, 400);
  EXPECT_EQ(machine.Ask(Json("POST", "/system/functions", R"({"Service":"A b"})")).code, 400);
  EXPECT_EQ(machine.Ask({.method = "DELETE", .target = "/system/functions"}).code, 405);
  EXPECT_EQ(machine.Ask({.target = "/nothing"}).code, 404);
  EXPECT_EQ(machine.Ask({.target = "/function/none"}).code, 404);
  EXPECT_EQ(machine.Ask(Json("PUT", "/system/scale-function", R"({"Replicas":1})")).code, 400);
  EXPECT_EQ(machine.Ask({.method = "TRACE", .target = "/function/none"}).code, 405);
}

TEST(ServiceTest, ScalesUpToTheMaximumAndDownAtOnce) {
  TestMachine machine;
  ASSERT_OK(machine.Deploy(HelloFunction()));
  const auto scale = [&](const std::string& count) {
    return machine
        .Ask(Json("PUT", "/system/scale-function",
                  R"({"ServiceName":"hello","Replicas":")" + count + "\"}"))
        .code;
  };
  EXPECT_EQ(scale("2"), 200);
  ASSERT_TRUE(machine.Until([&] { return machine.Running() == 2; }));
  EXPECT_EQ(scale("3"), 400);
  EXPECT_EQ(scale("0"), 200);
  ASSERT_TRUE(machine.Until([&] { return machine.podman.containers() == 0; }));
}

TEST(ServiceTest, PassesPathQueryHeadersAndMethodOn) {
  TestMachine machine;
  http::Request got;
  machine.podman.handler = [&](const http::Request& request, const http::Responder& responder) {
    got = request;
    http::Response response = http::TextResponse(418, "short");
    response.headers.Add("Kgpu-Fault", "handler");
    responder.Send(std::move(response));
  };
  ASSERT_OK(machine.Deploy(HelloFunction()));
  http::Request request{.method = "PATCH", .target = "/function/hello/a%20b/c?d=e%2F"};
  request.headers.Add("traceparent", "00-1-2-01");
  request.headers.Add("X-Call-Id", "mine");
  request.body = std::string("\0\xff", 2);
  const http::Response answer = machine.Ask(request);
  EXPECT_EQ(got.method, "PATCH");
  EXPECT_EQ(got.target, "/a%20b/c?d=e%2F");
  EXPECT_EQ(got.headers.Find("traceparent"), "00-1-2-01");
  EXPECT_EQ(got.headers.Find("X-Call-Id"), "mine");
  EXPECT_EQ(got.body, request.body);
  EXPECT_EQ(answer.code, 418);
  EXPECT_EQ(answer.headers.Find("Kgpu-Fault"), "handler");
  EXPECT_EQ(answer.headers.Find("X-Call-Id"), "mine");
}

TEST(ServiceTest, FieldsOfOneConnectionAreNotPassedOn) {
  http::Request request{.method = "POST"};
  request.headers = {{"Connection", "close, X-Drop"},
                     {"x-drop", "1"},
                     {"Content-Length", "3"},
                     {"Kgpu-Fault", "handler"},
                     {"Accept", "a/b"}};
  const http::Request passed = PassedOn(request, "/x", "id");
  EXPECT_EQ(passed.headers, (http::Headers{{"Accept", "a/b"}, {"X-Call-Id", "id"}}));
  EXPECT_EQ(passed.target, "/x");
}

TEST(ServiceTest, RefusesCallsWithoutAClearMeaning) {
  TestMachine machine;
  ASSERT_OK(machine.Deploy(HelloFunction()));
  EXPECT_EQ(machine.Ask({.target = "/function/hello", .headers = {{"X-Call-Id", "a b"}}}).code,
            400);
  for (const char* name : {"X-Call-Id", "X-Callback-Url", "Idempotency-Key", "X-Deadline-Ms"}) {
    const http::Response refused = machine.Ask({.method = "POST",
                                                .target = "/async-function/hello",
                                                .headers = {{name, "1"}, {name, "2"}}});
    EXPECT_EQ(refused.code, 400);
    EXPECT_THAT(refused.body, HasSubstr(std::string(name) + ": must not be given twice"));
  }
  EXPECT_EQ(machine.Ask({.target = "/function/hello%2fx"}).code, 404) << "x would be lost";
  EXPECT_EQ(machine.podman.runs(), 0);
}

TEST(ServiceTest, RefusesAnInputOverTheFunctionsLimitBeforeAReplicaHasIt) {
  TestMachine machine;
  Function function = HelloFunction();
  function.calls.max_input = 1024;
  ASSERT_OK(machine.Deploy(function));
  for (const char* target : {"/function/hello", "/async-function/hello"}) {
    const http::Response refused = machine.Ask(Json("POST", target, std::string(1025, 'x')));
    EXPECT_EQ(refused.code, 413);
    EXPECT_THAT(refused.body, HasSubstr("maxInput"));
    EXPECT_EQ(refused.headers.Find("X-Call-Id"), std::nullopt) << "no function has answered";
  }
  EXPECT_EQ(machine.podman.runs(), 0);
  EXPECT_EQ(machine.Ask(Json("POST", "/function/hello", std::string(1024, 'x'))).code, 200);
}

TEST(ServiceTest, AnswersAppearPieceByPiece) {
  TestMachine machine;
  std::vector<http::Stream> streams;
  machine.podman.handler = [&](const http::Request&, const http::Responder& responder) {
    http::Response head;
    head.body = "first ";
    streams.push_back(responder.Begin(std::move(head)));
  };
  ASSERT_OK(machine.Deploy(HelloFunction()));
  Following answer;
  ASSERT_NO_FATAL_FAILURE(Follow(machine, {.target = "/function/hello"}, answer));
  EXPECT_TRUE(machine.Until([&] { return answer.text == "first "; }));
  EXPECT_TRUE(streams.at(0).Write("second"));
  EXPECT_TRUE(machine.Until([&] { return answer.text == "first second"; }));
  EXPECT_FALSE(answer.has_ended);
  streams.at(0).End();
  EXPECT_TRUE(machine.Until([&] { return answer.has_ended; }));
}

TEST(ServiceTest, ACallEndsWithItsCaller) {
  TestMachine machine;
  std::vector<http::Responder> held;
  bool is_gone = false;
  machine.podman.handler = [&](const http::Request&, const http::Responder& responder) {
    held.push_back(responder);
    responder.OnGone([&] { is_gone = true; });
  };
  ASSERT_OK(machine.Deploy(HelloFunction()));
  std::optional<http::Response> answer;
  auto call = machine.Begin({.target = "/function/hello"}, answer);
  ASSERT_TRUE(machine.Until([&] { return !held.empty(); }));
  call.reset();
  EXPECT_TRUE(machine.Until([&] { return is_gone; })) << "the watchdog need not go on";
  EXPECT_THAT(
      machine.Ask({.target = "/metrics"}).body,
      HasSubstr(R"(gateway_function_invocation_total{function_name="hello",code="499"} 1)"));
}

TEST(ServiceTest, AsynchronousCallsAreAnsweredAtOnceAndRepeatedIfTheyFail) {
  TestMachine machine;
  int calls = 0;
  machine.podman.handler = [&](const http::Request&, const http::Responder& responder) {
    ++calls;
    responder.Send(http::TextResponse(calls < 3 ? 500 : 200, "x"));
  };
  Function function = HelloFunction();
  function.calls.is_async = true;
  function.calls.retries = 5;
  ASSERT_OK(machine.Deploy(function));
  EXPECT_EQ(machine.Call("hi").code, 202);
  ASSERT_TRUE(machine.Until([&] { return calls == 3; }));
  machine.Advance(std::chrono::minutes(10));
  EXPECT_EQ(calls, 3);
  EXPECT_EQ(machine.Call("again").code, 202);
  ASSERT_TRUE(machine.Until([&] { return calls == 4; }));
}

// "hello: waiting 1 running 0 dead 2", from the service's own list.
std::string QueueCounts(TestMachine& machine) {
  const http::Response list = machine.Ask({.target = "/v1/queue"});
  EXPECT_EQ(list.code, 200);
  std::string text;
  const auto root = doc::Parse(list.body, doc::Format::kJson, "list");
  EXPECT_TRUE(root.ok()) << root.status();
  for (const boost::json::value& counts : root->at("functions").as_array()) {
    text += fmt::format("{}: waiting {} running {} dead {}",
                        counts.at("function").as_string().c_str(), counts.at("waiting").as_int64(),
                        counts.at("running").as_int64(), counts.at("dead").as_int64());
  }
  return text;
}

TEST(ServiceTest, AnAsynchronousCallSurvivesAKillOfTheService) {
  TestMachine machine;
  std::vector<std::string> got;
  std::vector<http::Responder> held;
  machine.podman.handler = [&](const http::Request& request, const http::Responder& responder) {
    got.push_back(request.body);
    held.push_back(responder);
  };
  ASSERT_OK(machine.Deploy(HelloFunction()));
  http::Request request{.method = "POST", .target = "/async-function/hello/a?b"};
  request.body = "kept";
  ASSERT_EQ(machine.Ask(request).code, 202);
  ASSERT_TRUE(machine.Until([&] { return got.size() == 1; }));
  machine.KillProvider();
  machine.StartProvider();
  ASSERT_TRUE(machine.Until([&] { return got.size() == 2; }));
  EXPECT_EQ(got[1], "kept");
  held[1].Send(http::TextResponse(200, "done"));
  EXPECT_TRUE(
      machine.Until([&] { return QueueCounts(machine) == "hello: waiting 0 running 0 dead 0"; }));
}

TEST(ServiceTest, ACallThatFailedForGoodIsListedRetriedAndPurged) {
  TestMachine machine;
  int calls = 0;
  machine.podman.handler = [&](const http::Request&, const http::Responder& responder) {
    ++calls;
    responder.Send(http::TextResponse(500, "the handler's reason"));
  };
  ASSERT_OK(machine.Deploy(HelloFunction()));
  http::Request request{.method = "POST", .target = "/async-function/hello"};
  request.headers.Add("X-Call-Id", "mine");
  ASSERT_EQ(machine.Ask(request).code, 202);
  const auto is_dead = [&] { return QueueCounts(machine) == "hello: waiting 0 running 0 dead 1"; };
  ASSERT_TRUE(machine.Until(is_dead));
  const std::string list = machine.Ask({.target = "/v1/queue?function=hello&state=dead"}).body;
  EXPECT_THAT(list, HasSubstr(R"("id":"mine")"));
  EXPECT_THAT(list, HasSubstr("the handler's reason"));
  EXPECT_THAT(machine.Ask({.target = "/metrics"}).body,
              HasSubstr(R"(kgpu_function_queue_dead{function_name="hello"} 1)"));
  EXPECT_EQ(machine.Ask(Json("POST", "/v1/queue/retry", R"({"ids":["mine"]})")).body,
            "{\"retried\":1}");
  ASSERT_TRUE(machine.Until([&] { return calls == 2 && is_dead(); }));
  EXPECT_EQ(machine.Ask(Json("POST", "/v1/queue/purge", R"({"dryRun":true})")).body,
            "{\"purged\":1}");
  EXPECT_TRUE(is_dead());
  EXPECT_EQ(machine.Ask(Json("POST", "/v1/queue/purge", "{}")).body, "{\"purged\":1}");
  EXPECT_EQ(QueueCounts(machine), "hello: waiting 0 running 0 dead 0");
  EXPECT_EQ(machine.Ask(Json("POST", "/v1/queue/purge", "{")).code, 400);
  EXPECT_EQ(machine.Ask({.target = "/v1/queue/purge"}).code, 405);
  EXPECT_EQ(machine.Ask({.target = "/v1/queue?state=x"}).code, 400);
  EXPECT_EQ(machine.Ask({.target = "/v1/queue/none"}).code, 404);
}

TEST(ServiceTest, AnAsynchronousCallOfNoFunctionIsRefused) {
  TestMachine machine;
  EXPECT_EQ(machine.Ask({.method = "POST", .target = "/async-function/none"}).code, 404);
  EXPECT_EQ(QueueCounts(machine), "");
}

TEST(ServiceTest, CallsWaitForGpusWithoutUsingTheirRetries) {
  TestMachine machine;
  int calls = 0;
  machine.podman.handler = [&](const http::Request&, const http::Responder& responder) {
    ++calls;
    responder.Send(http::TextResponse(200, ""));
  };
  ASSERT_OK(machine.Deploy(HelloFunction()));
  machine.agent.refusal = http::JsonResponse(409, R"({"error":"no GPU is free"})");
  ASSERT_EQ(machine.Ask({.method = "POST", .target = "/async-function/hello"}).code, 202);
  ASSERT_TRUE(machine.Until([&] {
    return machine.Ask({.target = "/v1/queue?state=waiting"}).body.find("no GPU is free") !=
           std::string::npos;
  }));
  EXPECT_EQ(calls, 0);
  machine.agent.refusal.reset();
  machine.Advance(std::chrono::minutes(5));  // the longest pause of both, call and replica
  EXPECT_TRUE(machine.Until([&] { return calls == 1; }));
}

TEST(ServiceTest, AKeyMakesACallOnceAndABadOneIsRefused) {
  TestMachine machine;
  int calls = 0;
  machine.podman.handler = [&](const http::Request&, const http::Responder& responder) {
    ++calls;
    responder.Send(http::TextResponse(200, ""));
  };
  ASSERT_OK(machine.Deploy(HelloFunction()));
  http::Request request{.method = "POST", .target = "/async-function/hello"};
  request.headers.Add("Idempotency-Key", "order-1");
  const http::Response first = machine.Ask(request);
  const http::Response second = machine.Ask(request);
  EXPECT_EQ(first.code, 202);
  EXPECT_EQ(second.code, 202);
  EXPECT_EQ(first.headers.Find("X-Call-Id"), second.headers.Find("X-Call-Id"));
  machine.Advance(std::chrono::minutes(1));
  EXPECT_EQ(calls, 1);
  http::Request bad{.method = "POST", .target = "/async-function/hello"};
  bad.headers.Add("Idempotency-Key", std::string(256, 'x'));
  EXPECT_EQ(machine.Ask(bad).code, 400);
  http::Request other{.method = "POST", .target = "/async-function/hello"};
  other.headers.Add("X-Callback-Url", "ftp://example.com");
  EXPECT_EQ(machine.Ask(other).code, 400);
}

TEST(ServiceTest, ACallbackGetsTheAnswerAndFunctionsCannotAskForOne) {
  TestMachine machine;
  ASSERT_OK(machine.Deploy(HelloFunction()));
  std::vector<http::Request> told;
  http::Server caller(machine.loop,
                      [&](const http::Request& request, const http::Responder& responder) {
                        told.push_back(request);
                        responder.Send(http::TextResponse(204, ""));
                      });
  const auto address = caller.Listen("127.0.0.1:0");
  ASSERT_OK(address);
  http::Request request{.method = "POST", .target = "/async-function/hello"};
  request.headers.Add("X-Callback-Url", "http://" + *address + "/told");
  request.body = "echo";
  ASSERT_EQ(machine.Ask(request).code, 202);
  ASSERT_TRUE(machine.Until([&] { return !told.empty(); }));
  EXPECT_EQ(told.at(0).target, "/told");
  EXPECT_EQ(told.at(0).body, "echo");
  EXPECT_EQ(told.at(0).headers.Find("X-Function-Status"), "200");
  ASSERT_OK(machine.service->ListenForFunctions());
  const std::string mesh = MeshSocket(MeshFolder(machine.provider->folders()));
  EXPECT_EQ(machine.AskAt(mesh, request).code, 403);
  EXPECT_EQ(machine.AskAt(mesh, {.target = "/v1/queue"}).code, 404);
}

TEST(ServiceTest, PagesOfOtherSitesMayNotUseAnAddress) {
  TestMachine machine;
  const std::string address = machine.service->Listen("127.0.0.1:0").value();
  EXPECT_EQ(machine.AskAt(address, {.target = "/system/functions"}).code, 200);
  for (const http::Headers& headers :
       {http::Headers{{"Origin", "https://other.example"}}, {{"Sec-Fetch-Site", "cross-site"}}}) {
    EXPECT_EQ(machine.AskAt(address, {.target = "/system/functions", .headers = headers}).code,
              403);
    EXPECT_EQ(machine.Ask({.target = "/system/functions", .headers = headers}).code, 200)
        << "no page reaches a socket";
  }
}

TEST(ServiceTest, ANameThatAPageMayHaveReboundDoesNotReachAnAddress) {
  TestMachine machine;
  machine.podman.handler = [](const http::Request&, const http::Responder& responder) {
    responder.Send(http::TextResponse(200, "hello"));
  };
  ASSERT_OK(machine.Deploy(HelloFunction()));
  const std::string address = machine.service->Listen("127.0.0.1:0").value();
  const auto code_for = [&](std::string_view method, const std::string& target,
                            const std::string& host) {
    return machine
        .AskAt(address,
               {.method = std::string(method), .target = target, .headers = {{"Host", host}}})
        .code;
  };
  for (const std::string target : {"/system/functions", "/function/hello", "/metrics"}) {
    EXPECT_EQ(code_for("GET", target, "rebound.example:8080"), 403) << target;
    EXPECT_NE(code_for("GET", target, "localhost:8080"), 403) << target;
    EXPECT_NE(code_for("GET", target, "127.0.0.1:8080"), 403) << target;
    EXPECT_NE(code_for("GET", target, "[::1]:8080"), 403) << target;
  }
  EXPECT_EQ(code_for("DELETE", "/system/function/hello", "rebound.example"), 403);
  EXPECT_EQ(machine.Ask({.target = "/system/function/hello"}).code, 200) << "it is still there";
  EXPECT_EQ(
      machine.Ask({.target = "/system/functions", .headers = {{"Host", "functions.example"}}}).code,
      200)
      << "no page reaches a socket";
}

TEST(ServiceTest, HeadAndOptionsReachTheHandler) {
  TestMachine machine;
  std::vector<std::string> methods;
  machine.podman.handler = [&](const http::Request& request, const http::Responder& responder) {
    methods.push_back(request.method);
    responder.Send(http::TextResponse(200, "hello"));
  };
  ASSERT_OK(machine.Deploy(HelloFunction()));
  const http::Response head = machine.Ask({.method = "HEAD", .target = "/function/hello"});
  EXPECT_EQ(head.code, 200);
  EXPECT_EQ(head.headers.Find("Content-Length"), "6");
  EXPECT_EQ(machine.Ask({.method = "OPTIONS", .target = "/function/hello"}).code, 200);
  EXPECT_EQ(methods, (std::vector<std::string>{"HEAD", "OPTIONS"}));
  EXPECT_EQ(machine.Ask({.method = "OPTIONS", .target = "/async-function/hello"}).code, 405);
  EXPECT_EQ(machine.Ask({.method = "HEAD", .target = "/async-function/hello"}).code, 405);
}

TEST(ServiceTest, ADeletedFunctionsCallsGo) {
  TestMachine machine;
  machine.podman.handler = [&](const http::Request&, const http::Responder& responder) {
    responder.Send(http::TextResponse(500, ""));
  };
  ASSERT_OK(machine.Deploy(HelloFunction()));
  ASSERT_EQ(machine.Ask({.method = "POST", .target = "/async-function/hello"}).code, 202);
  ASSERT_TRUE(
      machine.Until([&] { return QueueCounts(machine) == "hello: waiting 0 running 0 dead 1"; }));
  ASSERT_EQ(machine.Ask({.method = "DELETE", .target = "/system/function/hello"}).code, 200);
  EXPECT_EQ(QueueCounts(machine), "");
}

TEST(ServiceTest, AFullDiskRefusesAsynchronousCallsAlone) {
  TestMachine machine;
  machine.KillProvider();
  machine.queue.table.file_bytes = size_t{512} << 10;
  machine.StartProvider();
  ASSERT_OK(machine.Deploy(HelloFunction()));
  http::Request request{.method = "POST", .target = "/async-function/hello"};
  request.body = std::string(size_t{2} << 20, 'x');
  const http::Response refused = machine.Ask(request);
  EXPECT_EQ(refused.code, 507);
  EXPECT_EQ(refused.headers.Find("Kgpu-Fault"), "queue");
  EXPECT_THAT(refused.body, HasSubstr("full"));
  EXPECT_EQ(machine.Call("hi").code, 200);
}

TEST(ServiceTest, MetricsCountEveryCallUnderItsCode) {
  TestMachine machine;
  ASSERT_OK(machine.Deploy(HelloFunction()));
  ASSERT_EQ(machine.Call("hi").code, 200);
  ASSERT_EQ(machine.Call("hi").code, 200);
  const std::string page = machine.Ask({.target = "/metrics"}).body;
  EXPECT_THAT(
      page, HasSubstr(R"(gateway_function_invocation_total{function_name="hello",code="200"} 2)"));
  EXPECT_THAT(page, HasSubstr(R"(gateway_service_count{function_name="hello"} 1)"));
  EXPECT_THAT(page, HasSubstr(R"(kgpu_function_cold_starts_total{function_name="hello"} 1)"));
  EXPECT_THAT(page, HasSubstr(R"(phase="worker_ready",le="0.1"} 1)"));
  EXPECT_THAT(page, HasSubstr(R"(kgpu_function_gpus{function_name="hello"} 1)"));
}

TEST(ServiceTest, GpuTimeIsBusyDuringCallsAndHeldAlways) {
  TestMachine machine;
  std::vector<http::Responder> held;
  machine.podman.handler = [&](const http::Request&, const http::Responder& responder) {
    held.push_back(responder);
  };
  Function function = HelloFunction();
  function.gpu.count = 2;
  ASSERT_OK(machine.Deploy(function));
  std::optional<http::Response> answer;
  const auto call = machine.Begin({.target = "/function/hello"}, answer);
  ASSERT_TRUE(machine.Until([&] { return !held.empty(); }));
  machine.Advance(seconds(10));
  held.at(0).Send(http::TextResponse(200, "done"));
  ASSERT_TRUE(machine.Until([&] { return answer.has_value(); }));
  machine.Advance(seconds(100));
  const FunctionUse use =
      machine.provider->UsageSince(machine.loop.clock().WallNow() - std::chrono::hours(1))
          .at("hello");
  EXPECT_EQ(use.calls, 1U);
  EXPECT_NEAR(use.gpu_busy_seconds, 20, 2);
  EXPECT_NEAR(use.gpu_held_seconds, 220, 4);
}

TEST(ServiceTest, UsageSurvivesARestart) {
  TestMachine machine;
  ASSERT_OK(machine.Deploy(HelloFunction()));
  ASSERT_EQ(machine.Call("hi").code, 200);
  machine.KillProvider();
  machine.StartProvider();
  EXPECT_THAT(machine.Ask({.target = "/v1/usage?since=1h"}).body,
              HasSubstr(R"("function":"hello","calls":1,"errors":0,"coldStarts":1)"));
  EXPECT_EQ(machine.Ask({.target = "/v1/usage?since=x"}).code, 400);
}

TEST(ServiceTest, FunctionsCannotFillTheMemoryWithIncompleteRequests) {
  TestMachine machine;
  ASSERT_OK(machine.service->ListenForFunctions());
  const std::string socket = MeshSocket(MeshFolder(machine.provider->folders()));
  constexpr size_t kBody = size_t{15} << 20;
  struct Peer {
    UniqueFd socket;
    size_t sent = 0;
    std::string answer{};
  };
  const std::string text =
      fmt::format("POST /function/hello HTTP/1.1\r\nHost: a\r\nContent-Length: {}\r\n\r\n{}",
                  size_t{16} << 20, std::string(kBody, 'x'));
  std::vector<Peer> peers;
  for (size_t i = 0; i <= kMaxMeshBodies / kBody; ++i) {
    auto connected = sys::ConnectUnix(socket);
    ASSERT_OK(connected);
    peers.push_back({.socket = *std::move(connected)});
  }
  size_t refused = 0;
  ASSERT_TRUE(machine.Until([&] {
    size_t finished = 0;
    for (Peer& peer : peers) {
      const ssize_t sent = send(peer.socket.get(), text.data() + peer.sent, text.size() - peer.sent,
                                MSG_DONTWAIT | MSG_NOSIGNAL);
      peer.sent += sent > 0 ? static_cast<size_t>(sent) : 0;
      std::array<char, 64> bytes{};
      const ssize_t got = recv(peer.socket.get(), bytes.data(), bytes.size(), MSG_DONTWAIT);
      peer.answer.append(bytes.data(), got > 0 ? static_cast<size_t>(got) : 0);
      refused += got > 0 && peer.answer.starts_with("HTTP/1.1 503") ? 1 : 0;
      finished += peer.sent == text.size() || !peer.answer.empty() ? 1 : 0;
    }
    return refused > 0 || finished == peers.size();
  }));
  EXPECT_GE(refused, 1U);
}

// Removing the calls of a deleted function may fail, or the process may end before.
TEST(ServiceTest, AFunctionGetsNoCallsOfADeletedOneWithItsName) {
  TestMachine machine;
  const fs::path queue = machine.provider->folders().queue;
  ASSERT_OK(machine.Deploy(HelloFunction()));
  machine.agent.refusal = http::JsonResponse(409, R"({"error":"no GPU is free"})");
  http::Request request{.method = "POST", .target = "/async-function/hello"};
  request.headers.Add("Kgpu-Function-Identity", "forged");
  ASSERT_EQ(machine.Ask(request).code, 202);
  machine.KillProvider();
  fs::copy(queue, machine.dir.At("saved"), fs::copy_options::recursive);
  machine.StartProvider();
  ASSERT_EQ(machine.Ask({.method = "DELETE", .target = "/system/function/hello"}).code, 200);
  ASSERT_OK(machine.Deploy(HelloFunction()));
  machine.KillProvider();
  fs::remove_all(queue);
  fs::copy(machine.dir.At("saved"), queue, fs::copy_options::recursive);
  machine.agent.refusal.reset();
  std::vector<http::Request> calls;
  machine.podman.handler = [&](const http::Request& call, const http::Responder& responder) {
    calls.push_back(call);
    responder.Send(http::TextResponse(200, "done"));
  };
  machine.StartProvider();
  const auto list = [&machine] { return machine.Ask({.target = "/v1/queue"}).body; };
  EXPECT_TRUE(machine.Until([&] { return list().find(R"("state":"dead")") != std::string::npos; }));
  EXPECT_THAT(list(), HasSubstr("another one has its name"));
  EXPECT_TRUE(calls.empty());
  ASSERT_EQ(machine.Ask(request).code, 202);
  ASSERT_TRUE(machine.Until([&] { return !calls.empty(); }));
  EXPECT_EQ(calls[0].headers.Find("Kgpu-Function-Identity"), std::nullopt);
}

TEST(ServiceTest, LogsCanBeFollowed) {
  TestMachine machine;
  ASSERT_OK(machine.Deploy(HelloFunction()));
  machine.dir.WriteFile("state/functions/logs/hello/a.log", "2026-01-31T12:00:00Z stdout F one\n");
  http::Request request{.target = "/system/function-log/hello"};
  EXPECT_THAT(machine.Ask(request).body, HasSubstr(R"(---\nName: hello\nLog:\none\n)"));
  request.headers.Add("Accept", "text/plain");
  EXPECT_EQ(machine.Ask(request).body, "one\n");
  EXPECT_EQ(machine.Ask({.target = "/system/function-log/none"}).code, 404);
}

// `lines` are appended to the log of the replica "a".
void AppendToLog(const TestMachine& machine, std::string_view lines) {
  std::ofstream(machine.dir.At("state/functions/logs/hello/a.log"), std::ios::app) << lines;
}

TEST(ServiceTest, WhatIsLoggedLaterIsFollowedOnceUntilTheFunctionIsDeleted) {
  TestMachine machine;
  ASSERT_OK(machine.Deploy(HelloFunction()));
  machine.dir.WriteFile("state/functions/logs/hello/a.log", "");
  AppendToLog(machine, "2026-01-31T12:00:00Z stdout F one\n");
  Following log;
  ASSERT_NO_FATAL_FAILURE(
      Follow(machine, {.target = "/system/function-log/hello?follow=true"}, log));
  ASSERT_TRUE(machine.Until([&] { return log.text == "one\n"; })) << log.text;
  AppendToLog(machine, "2026-01-31T12:00:01Z stdout F two\n2026-01-31T12:00:02Z stdout F th");
  ASSERT_TRUE(machine.Until([&] { return log.text == "one\ntwo\n"; })) << log.text;
  AppendToLog(machine, "ree\n");
  ASSERT_TRUE(machine.Until([&] { return log.text == "one\ntwo\nthree\n"; })) << log.text;
  machine.Advance(std::chrono::seconds(5));
  EXPECT_EQ(log.text, "one\ntwo\nthree\n");
  EXPECT_FALSE(log.has_ended);
  EXPECT_EQ(machine.Ask({.method = "DELETE", .target = "/system/function/hello"}).code, 200);
  EXPECT_TRUE(machine.Until([&] { return log.has_ended; }));
}

TEST(ServiceTest, FunctionsReachCallsAndNothingElse) {
  TestMachine machine;
  ASSERT_OK(machine.service->ListenForFunctions());
  ASSERT_OK(machine.Deploy(HelloFunction()));
  const std::string socket = MeshSocket(MeshFolder(machine.provider->folders()));
  EXPECT_EQ(
      machine.AskAt(socket, {.method = "POST", .target = "/function/hello", .body = "hi"}).body,
      "hi");
  EXPECT_EQ(machine.AskAt(socket, {.method = "POST", .target = "/async-function/hello"}).code, 202);
  for (const char* path : {"/system/functions", "/v1/usage", "/v1/stop", "/metrics", "/healthz"}) {
    EXPECT_EQ(machine.AskAt(socket, {.method = "POST", .target = path}).code, 404) << path;
  }
  const fs::path folder = MeshFolder(machine.provider->folders());
  EXPECT_EQ(fs::status(folder.parent_path()).permissions(), fs::perms::owner_all);
}

TEST(ServiceTest, StoppingJustAfterARestartRemovesWhatWasLeft) {
  TestMachine machine;
  ASSERT_TRUE(machine.DeployAndRun(2));
  machine.KillProvider();
  machine.StartProvider();
  EXPECT_EQ(machine.Ask({.method = "POST", .target = "/v1/stop"}).code, 200);
  EXPECT_EQ(machine.podman.containers(), 0U);
  EXPECT_EQ(machine.agent.free(), 2U);
  machine.Advance(std::chrono::minutes(2));
  EXPECT_EQ(machine.podman.containers(), 0U);
}

TEST(ServiceTest, StoppingWithoutAnAgentRemovesTheContainers) {
  TestMachine machine;
  ASSERT_TRUE(machine.DeployAndRun(1));
  machine.KillProvider();
  machine.agent.Stop();
  machine.StartProvider();
  machine.Advance(std::chrono::seconds(10));
  EXPECT_EQ(machine.Ask({.method = "POST", .target = "/v1/stop"}).code, 200);
  EXPECT_EQ(machine.podman.containers(), 0U);
  EXPECT_EQ(machine.agent.free(), 1U);  // its ledger waits for the next provider
}

// It takes no calls any longer, and would never do so again.
TEST(ServiceTest, EndsAlsoWhenNotAllCanBeGivenBack) {
  TestMachine machine;
  ASSERT_TRUE(machine.DeployAndRun(1));
  machine.agent.has_full_disk = true;
  const http::Response refused = machine.Ask({.method = "POST", .target = "/v1/stop"});
  EXPECT_EQ(refused.code, 503);
  EXPECT_THAT(refused.body, HasSubstr("not all containers and loans were removed"));
  EXPECT_TRUE(machine.was_stopped);
  machine.KillProvider();
  machine.agent.has_full_disk = false;
  machine.StartProvider();
  EXPECT_TRUE(machine.Until([&] { return machine.Running() == 1 && machine.agent.free() == 1; }))
      << "the next service returns the loan, and borrows again";
}

TEST(ServiceTest, StoppingRemovesReplicasAndKeepsFunctions) {
  TestMachine machine;
  ASSERT_TRUE(machine.DeployAndRun(1));
  EXPECT_EQ(machine.Ask({.method = "POST", .target = "/v1/stop"}).code, 200);
  EXPECT_TRUE(machine.was_stopped);
  EXPECT_EQ(machine.podman.containers(), 0U);
  EXPECT_EQ(machine.agent.free(), 2U);
  machine.KillProvider();
  machine.StartProvider();
  EXPECT_TRUE(machine.Until([&] { return machine.Running() == 1; }));
}

}  // namespace
}  // namespace kgpu::functions
