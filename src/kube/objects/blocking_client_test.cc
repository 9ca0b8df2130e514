#include "src/kube/objects/blocking_client.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>

#include "src/kube/objects/test_cluster.h"
#include "testing/status_matchers.h"

namespace kgpu::kube {
namespace {

using std::chrono::seconds;

TEST(BlockingClientTest, SendsAgainUntilTheServerIsBack) {
  TestCluster cluster;
  cluster.api.faults().Add({.kind = apiserver::FaultKind::kAway, .lasts_for = seconds(10)});
  EXPECT_OK(SendUntilReached(cluster.client, {.path = "/api/v1/nodes"}, seconds(30)));
}

TEST(BlockingClientTest, GivesUpAfterTheTimeAllowed) {
  TestCluster cluster;
  cluster.api.faults().Add({.kind = apiserver::FaultKind::kAway});
  const SteadyTime begin = cluster.loop.clock().Now();
  EXPECT_THAT(
      SendUntilReached(cluster.client, {.path = "/api/v1/nodes", .is_repeated = false}, seconds(5)),
      StatusIs(StatusCode::kUnavailable));
  EXPECT_LT(cluster.loop.clock().Now() - begin, seconds(6));
}

TEST(BlockingClientTest, AnErrorThatStaysIsReportedAtOnce) {
  TestCluster cluster;
  EXPECT_THAT(SendUntilReached(cluster.client, {.path = "/api/v1/nodes/n1"}, seconds(30)),
              StatusIs(StatusCode::kNotFound));
  EXPECT_EQ(cluster.api.counters().Sum().requests, 1U);
}

TEST(BlockingClientTest, ReadsAListInChunks) {
  TestCluster cluster;
  constexpr int kNodes = 1'100;
  for (int i = 0; i < kNodes; ++i) {
    ASSERT_OK(cluster.api.Do(
        "POST", "/api/v1/nodes",
        {{"metadata",
          {{"name", fmt::format("n{}", i)}, {"labels", {{"half", i % 2 == 0 ? "a" : "b"}}}}}}));
  }
  const auto all = ListAll(cluster.client, "/api/v1/nodes");
  ASSERT_OK(all);
  EXPECT_EQ(all->size(), static_cast<size_t>(kNodes));
  EXPECT_EQ(cluster.api.counters().Sum().requests, 3U);
  const auto half = ListAll(cluster.client, "/api/v1/nodes", "half=a");
  ASSERT_OK(half);
  EXPECT_EQ(half->size(), static_cast<size_t>(kNodes) / 2);
}

// Over a real loop.
TEST(BlockingClientTest, ARealLoopWaits) {
  auto loop = EpollLoop::Create();
  ASSERT_OK(loop);
  apiserver::Api api(**loop);
  apiserver::MemoryTransport transport(**loop, api);
  TestAuthenticator authenticator;
  Random random(1);
  HttpClient http(**loop, transport, authenticator, random);
  LoopClient client(**loop, http);
  EXPECT_OK(client.Send({.path = "/api/v1/nodes"}));
  const SteadyTime begin = client.clock().Now();
  client.Wait(std::chrono::milliseconds(20));
  EXPECT_GE(client.clock().Now() - begin, std::chrono::milliseconds(20));
}

}  // namespace
}  // namespace kgpu::kube
