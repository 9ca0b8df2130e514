#include "testing/apiserver/http_service.h"

#include <gmock/gmock.h>

#include <boost/json.hpp>

#include "src/http/client.h"
#include "testing/fake_loop.h"
#include "testing/status_matchers.h"
#include "testing/temp_dir.h"

namespace kgpu::apiserver {
namespace {

using ::testing::HasSubstr;

TEST(HandleControlTest, AddsAndRemovesFaults) {
  FakeLoop loop;
  Api api(loop);
  http::Request request;
  request.method = "POST";
  request.path = "/stub/faults";
  request.body = R"({"kind":"answer","code":503})";
  const http::Response added = HandleControl(api, request);
  EXPECT_EQ(added.code, 200);
  EXPECT_EQ(added.body, R"({"id":1})");
  request.body = R"({"kind":"away"})";
  HandleControl(api, request);
  EXPECT_TRUE(api.faults().is_away());
  request.method = "DELETE";
  request.path = "/stub/faults/2";
  EXPECT_EQ(HandleControl(api, request).code, 200);
  EXPECT_FALSE(api.faults().is_away());
  request.path = "/stub/faults";
  EXPECT_EQ(HandleControl(api, request).code, 200);
}

TEST(HandleControlTest, RefusesWhatItDoesNotKnow) {
  FakeLoop loop;
  Api api(loop);
  http::Request request;
  request.method = "POST";
  request.path = "/stub/faults";
  request.body = R"({"kind":"odd"})";
  EXPECT_EQ(HandleControl(api, request).code, 400);
  request.body = "{";
  EXPECT_EQ(HandleControl(api, request).code, 400);
  request.path = "/stub/none";
  EXPECT_EQ(HandleControl(api, request).code, 404);
}

TEST(HandleControlTest, ShowsCounters) {
  FakeLoop loop;
  Api api(loop);
  api.counters().For({"list", "nodes", "x"}).requests = 7;
  http::Request request;
  request.path = "/stub/counters";
  EXPECT_THAT(HandleControl(api, request).body, HasSubstr("\"requests\":7"));
}

}  // namespace
}  // namespace kgpu::apiserver
