#include "src/cli/top/live_document.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "src/cli/top/test_documents.h"
#include "testing/status_matchers.h"

namespace kgpu::top {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(LiveDocumentTest, ReadsAllOfABusyNode) {
  const auto document = ReadLiveDocument(BusyNode());
  ASSERT_OK(document);
  EXPECT_EQ(document->node, "n1");
  ASSERT_EQ(document->gpus.size(), 16U);
  const LiveGpu& gpu = document->gpus[3];
  EXPECT_EQ(gpu.model, "H100-SXM5-80GB");
  EXPECT_EQ(gpu.utilization, 18);
  EXPECT_EQ(gpu.memory_total, uint64_t{80} << 30);
  EXPECT_EQ(gpu.numa_node, 0);
  EXPECT_THAT(gpu.throttled, ElementsAre("power cap", "thermal"));
  EXPECT_EQ(gpu.history.utilization.size(), 360U);
  EXPECT_FALSE(gpu.history.utilization[0]);
  ASSERT_EQ(gpu.mig.size(), 7U);
  ASSERT_EQ(gpu.mig[1].users.size(), 1U);
  EXPECT_EQ(gpu.mig[1].users[0].PodName(), "team-b/train-022");
  EXPECT_EQ(gpu.mig[1].users[0].limit, uint64_t{10} << 30);
  EXPECT_FALSE(document->gpus[9].is_healthy);
  EXPECT_EQ(document->gpus[15].lent_to, "fn/hello/4f1c");
  EXPECT_EQ(document->pools[0].unhealthy, 1U);
}

TEST(LiveDocumentTest, WhatTheDriverDoesNotReportIsEmpty) {
  const auto document = ReadLiveDocument(kQuietNode);
  ASSERT_OK(document);
  const LiveGpu& gpu = document->gpus[0];
  EXPECT_FALSE(gpu.utilization || gpu.memory_total || gpu.watts || gpu.numa_node);
  EXPECT_EQ(document->measured, "");
}

TEST(LiveDocumentTest, SkipsFieldsOfANewerAgent) {
  EXPECT_OK(ReadLiveDocument(R"({"gpus": [{"uuid": "GPU-0", "new": {"a": [1]}}], "more": 1})"));
}

TEST(LiveDocumentTest, ErrorsNameTheField) {
  struct Wrong {
    const char* text;
    const char* error;
  };
  constexpr Wrong kWrong[] = {
      {"{}", "gpus: is missing"},
      {R"([])", "must be an object"},
      {R"({"gpus": {}})", "gpus: must be a list"},
      {R"({"gpus": [{}]})", "gpus[0].uuid: is missing"},
      {R"({"gpus": [{"uuid": 1}]})", "gpus[0].uuid: must be a string"},
      {R"({"gpus": [{"uuid": "a", "memory": {"total": -1}}]})",
       "gpus[0].memory.total: must be a whole number of at least 0"},
      {R"({"gpus": [{"uuid": "a", "utilization": {"gpu": "x"}}]})",
       "gpus[0].utilization.gpu: must be a number"},
      {R"({"gpus": [{"uuid": "a", "users": [{"pod": "p", "processes": [{}]}]}]})",
       "gpus[0].users[0].processes[0].pid: is missing"},
      {R"({"gpus": [{"uuid": "a", "history": {"utilization": [true]}}]})",
       "gpus[0].history.utilization: must be a list of numbers"},
      {"not JSON", "the agent's answer:1:"},
  };
  for (const Wrong& wrong : kWrong) {
    EXPECT_THAT(Message(ReadLiveDocument(wrong.text).status()), HasSubstr(wrong.error));
  }
}

TEST(LiveDocumentTest, RefusesAHugeAnswer) {
  const std::string huge(kMaxLiveDocument + 1, ' ');
  EXPECT_FALSE(ReadLiveDocument(huge).ok());
}

}  // namespace
}  // namespace kgpu::top
