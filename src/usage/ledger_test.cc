#include "src/usage/ledger.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "src/usage/ledger_text.h"
#include "testing/status_matchers.h"

namespace kgpu::usage {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Le;

Hour At(int hour) {
  return Hour(std::chrono::hours(490'000 + hour));
}

std::vector<std::pair<PodName, double>> Seconds(const Ledger& ledger) {
  std::vector<std::pair<PodName, double>> all;
  ledger.ForEach([&all](Hour, const PodName& pod, const Amounts& amounts) {
    all.emplace_back(pod, amounts.gpu_seconds);
  });
  return all;
}

double Sum(const Ledger& ledger, const std::string& name_space) {
  double sum = 0;
  ledger.ForEach([&](Hour, const PodName& pod, const Amounts& amounts) {
    sum += pod.pod_namespace == name_space ? amounts.gpu_seconds : 0;
  });
  return sum;
}

TEST(LedgerTest, AddsUpWithinAnHour) {
  Ledger ledger;
  ledger.Add(At(0), {"ml", "a"}, {1, 2, 3});
  ledger.Add(At(0), {"ml", "a"}, {10, 20, 30});
  ledger.Add(At(1), {"ml", "a"}, {5, 0, 0});
  EXPECT_THAT(Seconds(ledger),
              ElementsAre(std::pair(PodName{"ml", "a"}, 11), std::pair(PodName{"ml", "a"}, 5)));
}

TEST(LedgerTest, ManyPodsOfAnHourBecomeOneOfTheirNamespace) {
  Ledger ledger;
  for (int pod = 0; pod < 1000; ++pod) {
    ledger.Add(At(0), {pod % 2 == 0 ? "ml" : "web", std::to_string(pod)}, {1, 0, 0});
  }
  EXPECT_EQ(Seconds(ledger).size(), Ledger::kMostPodsOfAnHour + 2);
  EXPECT_EQ(Sum(ledger, "ml"), 500);
  EXPECT_EQ(Sum(ledger, "web"), 500);
}

TEST(LedgerTest, ManyNamespacesBecomeOne) {
  Ledger ledger;
  for (int pod = 0; pod < 5000; ++pod) {
    ledger.Add(At(0), {std::to_string(pod), "p"}, {1, 0, 0});
  }
  EXPECT_THAT(Seconds(ledger).size(), Le(2 * Ledger::kMostPodsOfAnHour + 1));
  EXPECT_GT(Sum(ledger, std::string(kOther)), 4000);
}

TEST(LedgerTest, OfMorePodsThanItKeepsTheSmallOnesAreFolded) {
  Ledger ledger;
  ledger.Add(At(0), {"ml", "large"}, {1e6, 0, 0});
  int pod = 0;
  for (int hour = 0; hour < 100; ++hour) {
    for (int i = 0; i < 200; ++i) {
      ledger.Add(At(hour), {"ml", fmt::format("p{}", pod++)}, {1, 0, 0});
    }
  }
  EXPECT_THAT(ledger.pods(), Le(Ledger::kMostPods));
  EXPECT_EQ(Sum(ledger, "ml"), 1e6 + 20'000);
  EXPECT_EQ(Seconds(ledger)[0], std::pair(PodName({"ml", "large"}), 1e6));
}

TEST(LedgerTest, ForgetsOldHoursAndTheirPods) {
  Ledger ledger;
  ledger.Add(At(0), {"ml", "old"}, {1, 0, 0});
  ledger.Add(At(5), {"ml", "new"}, {2, 0, 0});
  ledger.Trim(At(5));
  EXPECT_THAT(Seconds(ledger), ElementsAre(std::pair(PodName{"ml", "new"}, 2)));
  EXPECT_EQ(ledger.pods(), 1U);
}

TEST(LedgerTest, AWildClockFillsOnlySoManyHours) {
  Ledger ledger;
  for (int hour = 0; hour < 12'000; ++hour) {
    ledger.Add(At(hour), {"ml", "a"}, {1, 0, 0});
  }
  EXPECT_EQ(ledger.hours(), Ledger::kMostHours);
}

TEST(LedgerTextTest, ReadsBackWhatItPrints) {
  Ledger ledger;
  ledger.Add(At(0), {"ml", "a"}, {1.5, 2, 3.25});
  ledger.Add(At(0), {"ml", "b"}, {1, 2, 3, 0.5});
  ledger.Add(At(3), {"web", "b"}, {4, 5, 6});
  const std::string text = PrintLedger(7, ledger);
  EXPECT_EQ(text,
            "kgpu-usage 1 7\n"
            "hour 490000\n"
            "use ml a 1.500 2.000 3.250\n"
            "use = b 1.000 2.000 3.000 0.500\n"
            "hour 490003\n"
            "use web = 4.000 5.000 6.000\n"
            "end 7\n");
  const auto file = ParseLedger(text);
  ASSERT_OK(file);
  EXPECT_EQ(file->generation, 7U);
  EXPECT_EQ(PrintLedger(7, file->ledger), text);
}

TEST(LedgerTextTest, KnowsATornFileWhereverItIsCut) {
  Ledger ledger;
  ledger.Add(At(0), {"ml", "a"}, {1.5, 2, 3.25});
  ledger.Add(At(1), {"ml", "a"}, {1.5, 2, 3.25});
  const std::string text = PrintLedger(7, ledger);
  for (size_t length = 0; length + 1 < text.size(); ++length) {
    EXPECT_THAT(ParseLedger(text.substr(0, length)), StatusIs(StatusCode::kInvalidArgument))
        << length;
  }
}

TEST(LedgerTextTest, NamesTheLineThatIsWrong) {
  EXPECT_THAT(ParseLedger("kgpu-usage 1 7\nuse a b 1 2 3\nend 3\n"),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("line 2: no use of an hour")));
  EXPECT_THAT(ParseLedger("kgpu-usage 1 7\nhour 1\nuse a b 1 nan 3\nend 4\n"),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("line 3")));
  EXPECT_THAT(ParseLedger("kgpu-usage 2 7\nend 2\n"),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("no file of usage")));
}

}  // namespace
}  // namespace kgpu::usage
