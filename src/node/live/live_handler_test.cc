#include "src/node/live/live_handler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>

#include "src/node/part/test_effects.h"
#include "src/node/telemetry/test_node.h"
#include "testing/fake_loop.h"
#include "testing/status_matchers.h"
#include "testing/temp_dir.h"

namespace kgpu::live {
namespace {

namespace json = boost::json;
using std::chrono::milliseconds;
using std::chrono::seconds;

class LiveHandlerTest : public ::testing::Test {
 protected:
  LiveHandlerTest() {
    dir_.WriteFile("proc/1000/comm", "python3\n");
    auto config = std::make_shared<config::NodeConfig>();
    effects_.state.config = config;
  }
  std::optional<http::Response> Ask(const std::string& path, const std::string& method = "GET") {
    std::optional<http::Response> answer;
    const bool is_ours =
        handler_.Answer({.method = method, .path = path},
                        [&answer](http::Response response) { answer = std::move(response); });
    EXPECT_EQ(is_ours, answer.has_value());
    return answer;
  }
  json::value Page() { return json::parse(Ask("/v1/live")->body); }

  FakeLoop loop_;
  TempDir dir_;
  sys::Root host_ = sys::Root::Open(dir_.path()).value();
  node::TestEffects effects_;
  telemetry::PageInput measured_ = telemetry::TestNode(1, 1);
  std::string problem_;
  LiveHandler handler_{loop_,
                       host_,
                       "1.2.3",
                       dir_.At("functions.sock"),
                       effects_,
                       {.measured = [this] { return measured_; },
                        .holders = [] { return report::Holders(); },
                        .problem = [this] { return problem_; }}};
};

TEST_F(LiveHandlerTest, TheDocumentHasNamesOfProcesses) {
  const json::value page = Page();
  EXPECT_EQ(page.at("node"), "gpu-node-17");
  EXPECT_EQ(page.at("gpus").at(0).at("users").at(0).at("processes").at(0).at("name"), "python3");
  EXPECT_EQ(Ask("/v1/live", "POST")->code, 405);
  EXPECT_FALSE(Ask("/v1/usage"));
}

TEST_F(LiveHandlerTest, ManyWhoAskGetOneDocument) {
  EXPECT_EQ(Page().at("problem"), "");
  problem_ = "no configuration";
  EXPECT_EQ(Page().at("problem"), "") << "made just now";
  loop_.Advance(milliseconds(501));
  EXPECT_EQ(Page().at("problem"), "no configuration");
}

TEST_F(LiveHandlerTest, WhileSomebodyWatchesItMeasuresMoreOften) {
  EXPECT_EQ(handler_.pace(), std::nullopt);
  EXPECT_EQ(Page().at("everySeconds"), 2.0);
  EXPECT_EQ(handler_.pace(), LiveHandler::kPace);
  EXPECT_EQ(effects_.measures, 1);
  for (int i = 0; i < 5; ++i) {
    loop_.Advance(seconds(10));
    (void)Page();
  }
  EXPECT_EQ(effects_.measures, 1);
  loop_.Advance(seconds(16));
  EXPECT_EQ(handler_.pace(), std::nullopt) << "nobody asks any more";
  EXPECT_EQ(effects_.measures, 2);
}

TEST_F(LiveHandlerTest, WhatHappenedIsKeptWithinALimit) {
  for (size_t i = 0; i < LiveHandler::kMostEvents + 5; ++i) {
    handler_.OnHealthEvent({.rule = fmt::format("Xid{}", i)});
  }
  const json::array events = Page().at("events").as_array();
  EXPECT_EQ(events.size(), LiveHandler::kMostEvents);
  EXPECT_EQ(events[0].at("rule"), "Xid54");
}

TEST_F(LiveHandlerTest, RoundsBecomeHistory) {
  auto samples = std::make_shared<device::SampleSet>(*measured_.samples);
  samples->begun = loop_.clock().Now();
  handler_.OnSample(effects_.state, samples);
  EXPECT_EQ(effects_.looks, 0) << "nobody watches";
  EXPECT_EQ(json::serialize(Page().at("gpus").at(0).at("history").at("utilization")), "[86]");
  handler_.OnSample(effects_.state, samples);
  EXPECT_EQ(effects_.looks, 1);
}

}  // namespace
}  // namespace kgpu::live
