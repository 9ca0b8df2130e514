// The whole client against a server that keeps real state and misbehaves, in simulated time.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <malloc.h>

#include <algorithm>
#include <boost/json.hpp>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "src/kube/api/event_recorder.h"
#include "src/kube/api/http_client.h"
#include "src/kube/api/json.h"
#include "src/kube/api/leader_election.h"
#include "src/kube/api/reflector.h"
#include "src/kube/api/resource.h"
#include "src/kube/api/test_transport.h"
#include "src/kube/api/writes.h"
#include "src/platform/base/log.h"
#include "testing/apiserver/api.h"
#include "testing/apiserver/memory_transport.h"
#include "testing/fake_loop.h"
#include "testing/status_matchers.h"

namespace kgpu::kube {
namespace {

namespace json = boost::json;
using apiserver::FaultKind;
using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

size_t HeapBytes() {
  return mallinfo2().uordblks;
}

class OutageTest : public ::testing::Test {
 protected:
  OutageTest() {
    SetLogSink([](LogLevel, std::string_view) {});
    for (int i = 0; i < 5; ++i) {
      Label(fmt::format("n{}", i), "0");
    }
    reflector_ = std::make_unique<Reflector>(
        loop_, client_, random_, ReflectorOptions{.selection = {.path = kNodes.Collection()}},
        ReflectorHandlers{});
    loop_.Advance(seconds(1));
  }
  ~OutageTest() override { SetLogSink({}); }

  // By somebody else.
  void Label(const std::string& name, const std::string& value) {
    const std::string path = kNodes.Object("", name);
    const bool is_new = api_.Find(path) == nullptr;
    const json::value node = {{"apiVersion", "v1"},
                              {"kind", "Node"},
                              {"metadata", {{"name", name}, {"labels", {{"l", value}}}}}};
    EXPECT_OK(is_new ? api_.Do("POST", kNodes.Collection(), node)
                     : api_.Do("PATCH", path, {{"metadata", {{"labels", {{"l", value}}}}}}));
  }
  // What we know of a node, and what is true.
  std::string Known(const std::string& name) const {
    const ObjectPtr node = reflector_->Find(name);
    return node ? std::string(TextField(*node, {"metadata", "labels", "l"})) : "none";
  }
  void ExpectAllKnown(const std::string& value) const {
    for (int i = 0; i < 5; ++i) {
      EXPECT_EQ(Known(fmt::format("n{}", i)), value) << i;
    }
  }
  uint64_t Requests() { return api_.counters().Sum().requests; }

  FakeLoop loop_;
  apiserver::Api api_{loop_};
  apiserver::MemoryTransport transport_{loop_, api_, {.latency = milliseconds(1)}};
  Random random_{1};
  TestAuthenticator authenticator_;
  HttpClient client_{loop_, transport_, authenticator_, random_};
  std::unique_ptr<Reflector> reflector_;
};

TEST_F(OutageTest, AServerThatIsAwayForHoursCostsNoMemory) {
  EventRecorder recorder(loop_, client_, random_, {.instance = "n0"});
  api_.faults().Add({.kind = FaultKind::kAway});
  const auto hour = [&] {
    for (int i = 0; i < 60; ++i) {
      recorder.Record({.is_warning = true,
                       .reason = fmt::format("Reason{}", i % 20),
                       .action = "Verifying",
                       .note = "note",
                       .regarding = {.api_version = "v1", .kind = "Node", .name = "n0"}});
      loop_.Advance(minutes(1));
    }
  };
  hour();
  hour();
  const size_t before = HeapBytes();
  for (int i = 0; i < 6; ++i) {
    hour();
  }
  const size_t after = HeapBytes();
  EXPECT_LT(after, before + (size_t{16} << 10));
  Label("n3", "after");
  ExpectAllKnown("0");
  api_.faults().Clear();
  loop_.Advance(minutes(2));
  EXPECT_EQ(Known("n3"), "after");
}

TEST_F(OutageTest, WhatIsForgottenAgainAndAgainIsKnownInTheEnd) {
  api_.counters().Reset();
  // Half an hour in which each watch is cut and what it could go on from is forgotten.
  for (int i = 0; i < 180; ++i) {
    Label(fmt::format("n{}", i % 5), fmt::format("{}", i));
    api_.Compact();
    api_.CutWatches();
    loop_.Advance(seconds(10));
  }
  EXPECT_LT(Requests(), 1200U);
  for (int i = 0; i < 5; ++i) {
    Label(fmt::format("n{}", i), "end");
  }
  loop_.Advance(minutes(2));
  ExpectAllKnown("end");
}

TEST_F(OutageTest, StormsOfRefusalsMakeNoHotLoop) {
  for (const int code : {410, 429, 500, 503, 504}) {
    for (const seconds retry_after : {seconds(0), seconds(1)}) {
      api_.counters().Reset();
      api_.faults().Add({.kind = FaultKind::kAnswer, .code = code, .retry_after = retry_after});
      api_.CutWatches();
      loop_.Advance(seconds(1000));
      EXPECT_LT(Requests(), 700U) << code << " " << retry_after.count();
      api_.faults().Clear();
      const std::string value = fmt::format("{}-{}", code, retry_after.count());
      for (int i = 0; i < 5; ++i) {
        Label(fmt::format("n{}", i), value);
      }
      loop_.Advance(minutes(3));
      ExpectAllKnown(value);
    }
  }
}

TEST_F(OutageTest, BrokenAndSlowConnectionsLoseNothing) {
  for (const apiserver::Fault& fault :
       {apiserver::Fault{.kind = FaultKind::kReset},
        apiserver::Fault{.kind = FaultKind::kCut, .bytes = 700},
        apiserver::Fault{.kind = FaultKind::kTrickle, .delay = milliseconds(1), .bytes = 7},
        apiserver::Fault{.kind = FaultKind::kDelay, .delay = seconds(40)},
        apiserver::Fault{.kind = FaultKind::kWatchError, .verb = "watch", .code = 500}}) {
    api_.counters().Reset();
    api_.faults().Add(fault);
    api_.CutWatches();
    for (int i = 0; i < 20; ++i) {
      Label(fmt::format("n{}", i % 5), "during");
      loop_.Advance(seconds(30));
    }
    EXPECT_LT(Requests(), 300U) << static_cast<int>(fault.kind);
    api_.faults().Clear();
    const std::string value = fmt::format("after-{}", static_cast<int>(fault.kind));
    for (int i = 0; i < 5; ++i) {
      Label(fmt::format("n{}", i), value);
    }
    loop_.Advance(minutes(3));
    ExpectAllKnown(value);
  }
}

TEST_F(OutageTest, AQuietDayCostsAWatchInSixMinutes) {
  api_.counters().Reset();
  loop_.Advance(hours(24));
  EXPECT_LT(Requests(), 24U * 60 / 5);
  EXPECT_EQ(api_.counters().Sum("list").requests, 0U);
}

TEST_F(OutageTest, WatchListsAreBelievedWhenTheyAreWhole) {
  Reflector reflector(loop_, client_, random_,
                      {.selection = {.path = kNodes.Collection()}, .uses_watch_list = true}, {});
  loop_.Advance(seconds(5));
  EXPECT_TRUE(reflector.is_synced());
  EXPECT_EQ(reflector.objects().size(), 5U);
  api_.Compact();
  api_.CutWatches();
  EXPECT_OK(api_.Do("DELETE", kNodes.Object("", "n4"), nullptr));
  loop_.Advance(minutes(2));
  EXPECT_EQ(reflector.objects().size(), 4U);
  EXPECT_EQ(reflector_->objects().size(), 4U);
}

TEST_F(OutageTest, AppliesAndPatchesAsTheServerWants) {
  std::optional<StatusOr<json::value>> result;
  std::vector<std::unique_ptr<Call>> calls;
  const auto send = [&](StatusOr<ApiRequest> request) {
    EXPECT_OK(request);
    result.reset();
    calls.push_back(client_.Send(
        *std::move(request), [&](StatusOr<json::value> answer) { result = std::move(answer); }));
    loop_.Advance(seconds(1));
    return result ? result->status() : Internal("no result");
  };
  const auto answer = [&] { return result && result->ok() ? **result : json::value(); };
  const std::string path = kNodes.Object("", "n0");
  const auto object = [](json::object labels) {
    return json::value{{"apiVersion", "v1"},
                       {"kind", "Node"},
                       {"metadata", {{"name", "n0"}, {"labels", std::move(labels)}}}};
  };
  EXPECT_OK(send(ApplyRequest(path, object({{"a/b", "1"}, {"c", "2"}}), true)));
  // What is not sent any more goes.
  EXPECT_OK(send(ApplyRequest(path, object({{"a/b", "1"}}), true)));
  EXPECT_EQ(TextField(answer(), {"metadata", "labels", "a/b"}), "1");
  EXPECT_EQ(TextField(answer(), {"metadata", "labels", "c"}), "");
  // Somebody else's field is not taken without force.
  EXPECT_THAT(send(ApplyRequest(path, object({{"a/b", "9"}}), false, {.field_manager = "other"})),
              StatusIs(StatusCode::kAborted));
  const std::string pointer = JsonPointer({"metadata", "labels", "a/b"});
  EXPECT_OK(send(PatchRequest(path, PatchType::kJson,
                              {{{"op", "test"}, {"path", pointer}, {"value", "1"}},
                               {{"op", "remove"}, {"path", pointer}}})));
  EXPECT_THAT(send(PatchRequest(path, PatchType::kJson, {{{"op", "remove"}, {"path", pointer}}})),
              StatusIs(StatusCode::kInvalidArgument));
  EXPECT_OK(
      send(PatchRequest(path, PatchType::kMerge, {{"metadata", {{"labels", {{"m", "1"}}}}}})));
  EXPECT_EQ(TextField(answer(), {"metadata", "labels", "m"}), "1");
  EXPECT_THAT(send(DeleteRequest(path, {.uid = "another"})), StatusIs(StatusCode::kAborted));
  EXPECT_OK(send(DeleteRequest(path)));
  EXPECT_THAT(send(ApiRequest{.path = path}), StatusIs(StatusCode::kNotFound));
}

// A fleet that starts, or comes back, at one moment.
TEST(FleetTest, TenThousandNodesKeepTheirLimits) {
  constexpr size_t kNodeCount = 10'000;
  FakeLoop loop;
  TestTransport transport(loop);
  transport.SetIsKept(false);
  std::vector<uint32_t> per_second(400);
  const SteadyTime start = loop.clock().Now();
  bool is_away = false;
  transport.SetServer([&](const http::Request& request, const Wire& wire) {
    const auto second = std::chrono::duration_cast<seconds>(loop.clock().Now() - start).count();
    ++per_second.at(static_cast<size_t>(second));
    if (is_away) {
      return wire.End(Unavailable("connection refused"));
    }
    request.QueryValue("watch") ? wire.Head(200)
                                : wire.Answer(200, R"({"metadata":{"resourceVersion":"1"}})");
  });
  TestAuthenticator authenticator;
  struct Node {
    Node(EventLoop& loop, Transport& transport, Authenticator& authenticator, uint64_t seed)
        : random(seed),
          client(loop, transport, authenticator, random),
          reflector(loop, client, random, {.selection = {.path = kNodes.Collection()}}, {}) {}
    Random random;
    HttpClient client;
    Reflector reflector;
  };
  std::vector<std::unique_ptr<Node>> nodes;
  for (size_t i = 0; i < kNodeCount; ++i) {
    nodes.push_back(std::make_unique<Node>(loop, transport, authenticator, i));
  }
  loop.Advance(seconds(10));
  // A list and a watch each, and nothing more.
  EXPECT_EQ(transport.count(), 2 * kNodeCount);
  // The server is gone for a while: all are refused, none asks often, and they do not keep step.
  is_away = true;
  nodes.clear();
  for (size_t i = 0; i < kNodeCount; ++i) {
    nodes.push_back(std::make_unique<Node>(loop, transport, authenticator, i));
  }
  loop.Advance(seconds(100));
  is_away = false;
  loop.Advance(seconds(60));
  const uint32_t peak = *std::max_element(per_second.begin() + 40, per_second.begin() + 110);
  RecordProperty("peak_per_second", static_cast<int>(peak));
  EXPECT_LT(peak, kNodeCount / 4);
  EXPECT_TRUE(
      std::ranges::all_of(nodes, [](const auto& node) { return node->reflector.is_synced(); }));
}

}  // namespace
}  // namespace kgpu::kube
