#include "src/node/telemetry/page_cache.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "src/node/telemetry/test_node.h"
#include "src/platform/compress/gzip.h"
#include "testing/fake_clock.h"

namespace kgpu::telemetry {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::Optional;
using ::testing::StartsWith;

class PageCacheTest : public ::testing::Test {
 protected:
  PageCacheTest() { cache_.SetStale(std::chrono::seconds(45)); }

  static http::Request Get(std::string_view accept = "", std::string_view coding = "") {
    http::Request request;
    request.headers.Add("Accept", accept);
    request.headers.Add("Accept-Encoding", coding);
    return request;
  }
  static std::string TextOf(const http::Response& response) {
    return (response.shared_front ? *response.shared_front : std::string()) + response.body;
  }
  std::string Page(NameSets names = {NameSet::kKgpu}) {
    return TextOf(cache_.Answer(Get(), names));
  }
  void Set(double watts) {
    PageInput input = TestNode(1, 0);
    auto samples = std::make_shared<device::SampleSet>(*input.samples);
    samples->begun = clock_.Now();
    samples->gpus[0].power.watts = watts;
    input.samples = std::move(samples);
    cache_.Set(std::move(input));
  }

  FakeClock clock_;
  int own_calls_ = 0;
  PageCache cache_{clock_, {.own = [this](metrics::Exposition& page) {
                     page.Family("kgpu_calls", metrics::Type::kGauge, "h");
                     page.Sample(++own_calls_);
                   }}};
};

TEST_F(PageCacheTest, BeginsWithTheAgentsOwnSeriesAlone) {
  EXPECT_THAT(Page(), HasSubstr("kgpu_calls 1\n"));
  EXPECT_THAT(Page({NameSet::kDcgm}), IsEmpty());
}

TEST_F(PageCacheTest, AnswersWithTheNewestRound) {
  Set(100);
  EXPECT_THAT(Page(), HasSubstr("} 100\n"));
  Set(200);
  EXPECT_THAT(Page(), HasSubstr("} 200\n"));
}

TEST_F(PageCacheTest, SendsTheSameBytesUntilTheNextRound) {
  Set(100);
  const auto first = cache_.Answer(Get(), {NameSet::kDcgm}).shared_front;
  EXPECT_EQ(cache_.Answer(Get(), {NameSet::kDcgm}).shared_front, first);
  Set(100);
  EXPECT_NE(cache_.Answer(Get(), {NameSet::kDcgm}).shared_front, first);
}

TEST_F(PageCacheTest, ShowsNoOldValues) {
  Set(100);
  clock_.Advance(std::chrono::seconds(46));
  EXPECT_THAT(Page(), Not(HasSubstr("kgpu_gpu_power_watts")));
  EXPECT_THAT(Page(), HasSubstr("kgpu_gpu_healthy"));
  Set(100);
  EXPECT_THAT(Page(), HasSubstr("kgpu_gpu_power_watts"));
}

// An alert looks at it, for which a series that vanishes says nothing.
TEST_F(PageCacheTest, TellsWhenItLastMeasuredAlsoWhenTheDriverIsAway) {
  constexpr char kMeasured[] = "\nkgpu_sample_timestamp_seconds 1700000000\n";
  EXPECT_THAT(Page(), Not(HasSubstr("kgpu_sample_timestamp_seconds")));
  Set(100);
  EXPECT_THAT(Page(), HasSubstr(kMeasured));
  clock_.Advance(std::chrono::hours(1));
  EXPECT_THAT(Page(), HasSubstr(kMeasured));
  PageInput input = TestNode(1, 0);
  auto none = std::make_shared<device::SampleSet>();
  none->begun = clock_.Now();
  none->taken = TestTime() + std::chrono::hours(1);
  input.samples = std::move(none);
  cache_.Set(std::move(input));
  EXPECT_THAT(Page(), HasSubstr(kMeasured));
}

TEST_F(PageCacheTest, WritesAboutItselfAtMostOnceASecond) {
  EXPECT_THAT(Page(), HasSubstr("kgpu_calls 1\n"));
  EXPECT_THAT(Page(), HasSubstr("kgpu_calls 1\n"));
  clock_.Advance(std::chrono::seconds(1));
  EXPECT_THAT(Page(), HasSubstr("kgpu_calls 2\n"));
}

TEST_F(PageCacheTest, ForeignNamesComeWithoutTheAgentsOwn) {
  Set(100);
  const std::string page = Page({NameSet::kDcgm, NameSet::kGke});
  EXPECT_THAT(page, HasSubstr("DCGM_FI_DEV_POWER_USAGE"));
  EXPECT_THAT(page, HasSubstr("memory_used_gpu_node"));
  EXPECT_THAT(page, Not(HasSubstr("kgpu_")));
}

TEST_F(PageCacheTest, APageWithoutNamesIsTheAgentsOwn) {
  Set(100);
  EXPECT_EQ(Page(NameSets()), "# HELP kgpu_calls h\n# TYPE kgpu_calls gauge\nkgpu_calls 1\n");
}

TEST_F(PageCacheTest, TakesNamesFromTheQueryOfThoseWhoMayChoose) {
  Set(100);
  http::Request request = Get();
  EXPECT_THAT(TextOf(cache_.AnswerAsked(request, {NameSet::kGke})), HasSubstr("_gpu_node"));
  request.query = "names=dcgm";
  const std::string page = TextOf(cache_.AnswerAsked(request, {NameSet::kGke}));
  EXPECT_THAT(page, HasSubstr("DCGM_FI_DEV_POWER_USAGE"));
  EXPECT_THAT(page, Not(HasSubstr("_gpu_node")));
  request.query = "names=dgcm";
  EXPECT_EQ(cache_.AnswerAsked(request, {NameSet::kGke}).code, 400);
}

TEST_F(PageCacheTest, SpeaksOpenMetricsWhereItIsAskedFor) {
  Set(100);
  const http::Response response =
      cache_.Answer(Get("application/openmetrics-text;version=1.0.0"), NameSets::All());
  EXPECT_THAT(response.headers.Find("Content-Type"),
              Optional(StartsWith("application/openmetrics-text; version=1.0.0")));
  EXPECT_THAT(TextOf(response), EndsWith("kgpu_calls 1\n# EOF\n"));
  EXPECT_THAT(TextOf(response), HasSubstr("# TYPE kgpu_gpu_energy_joules counter\n"));
  EXPECT_THAT(TextOf(cache_.Answer(Get("application/openmetrics-text"), {NameSet::kGke})),
              EndsWith("} 42949672960\n# EOF\n"));
}

TEST_F(PageCacheTest, CompressesWhereItIsAskedTo) {
  Set(100);
  const std::string plain = Page();
  const http::Response response = cache_.Answer(Get("", "gzip"), {NameSet::kKgpu});
  EXPECT_THAT(response.headers.Find("Content-Encoding"), Optional(std::string_view("gzip")));
  const std::string packed = TextOf(response);
  EXPECT_LT(packed.size(), plain.size() / 4);
  EXPECT_EQ(packed.substr(0, 2), "\x1f\x8b");
  // Its last eight bytes: the checksum and the length of the plain text.
  compress::GzipWriter writer;
  writer.Add(plain);
  const std::string end = compress::CompressRest(writer.Finish(), "");
  EXPECT_EQ(packed.substr(packed.size() - 8), end.substr(end.size() - 8));
}

TEST_F(PageCacheTest, LeavesOutWhatIsExcluded) {
  Set(100);
  EXPECT_THAT(Page(), HasSubstr("kgpu_gpu_power_watts"));
  cache_.SetExclude({"kgpu_gpu_power_*"});
  EXPECT_THAT(Page(), Not(HasSubstr("kgpu_gpu_power_watts")));
}

}  // namespace
}  // namespace kgpu::telemetry
