// Queues of a test in a real Redis server.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <string>

#include "src/functions/queue/test_queue_run.h"
#include "src/functions/redis/redis_queue.h"
#include "testing/redis/redis_server.h"

namespace kgpu::functions {

class RedisStorage final : public QueueStorage {
 public:
  RedisStorage() {
    const Status started = server.Start();
    EXPECT_TRUE(started.ok()) << started;
  }

  // Time of the fake loop runs ahead of the server: what waits for the server has long limits.
  RedisQueueOptions Options(const CallLimits& limits, const IndexLimits& index) {
    RedisQueueOptions options;
    options.link.address.servers = {
        {.kind = net::Endpoint::Kind::kUnix, .host = server.socket(), .port = 0}};
    options.link.answer_limit = std::chrono::hours(1'000);
    options.limits = limits;
    options.index = index;
    options.keys = keys;
    options.claim = claim;
    options.seed = ++queues_;
    return options;
  }
  QueueMaker Maker(EventLoop& loop, const CallLimits& limits, const IndexLimits& index) override {
    return RedisQueueMaker(loop, Options(limits, index));
  }

  RedisServer server;
  KeyLimits keys;
  std::chrono::milliseconds claim = std::chrono::minutes(10);

 private:
  uint64_t queues_ = 0;
};

}  // namespace kgpu::functions
