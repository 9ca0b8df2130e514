#include "src/node/telemetry/accept.h"

#include <gtest/gtest.h>

namespace kgpu::telemetry {
namespace {

using metrics::Format;

struct Case {
  const char* accept;
  const char* encoding;
  Wanted wanted;
};

class WantedByTest : public ::testing::TestWithParam<Case> {};

TEST_P(WantedByTest, ReadsTheFields) {
  http::Headers headers;
  headers.Add("Accept", GetParam().accept);
  headers.Add("Accept-Encoding", GetParam().encoding);
  EXPECT_EQ(WantedBy(headers), GetParam().wanted);
}

INSTANTIATE_TEST_SUITE_P(
    All, WantedByTest,
    ::testing::Values(
        Case{"", "", {}}, Case{"*/*", "deflate, gzip, br", {Format::kText, true}},
        Case{"application/openmetrics-text;version=1.0.0,application/openmetrics-text;"
             "version=0.0.1;q=0.75,text/plain;version=0.0.4;q=0.5,*/*;q=0.1",
             "gzip",
             {Format::kOpenMetrics, true}},
        Case{"application/openmetrics-text; version=1.0.0; charset=utf-8",
             "identity",
             {Format::kOpenMetrics, false}},
        Case{"application/openmetrics-text;version=0.0.1", "", {}},
        Case{"application/openmetrics-text;version=2.0.0, text/plain", "", {}},
        Case{"application/openmetrics-text;q=0.2,text/plain;q=0.9", "", {}},
        Case{"application/openmetrics-text;q=0, */*;q=0", "", {}},
        Case{"APPLICATION/OpenMetrics-Text", "GZIP;q=0.001", {Format::kOpenMetrics, true}},
        Case{"text/html", "gzip;q=0", {}}, Case{"", "gzip;q=x", {}},
        Case{",;=,;;q", "xgzip, gzipx", {}}));

}  // namespace
}  // namespace kgpu::telemetry
