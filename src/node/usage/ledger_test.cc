#include "src/node/usage/ledger.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "src/node/usage/ledger_text.h"
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

TEST(LedgerTest, ManyYearsOfManyPodsAreBounded) {
  Ledger ledger;
  const std::string padding(200, 'x');
  for (int hour = 0; hour < 1000; ++hour) {
    for (int pod = 0; pod < 250; ++pod) {
      ledger.Add(At(hour), {"ml", fmt::format("{}{}", padding, pod)}, {1, 0, 0});
    }
  }
  EXPECT_THAT(ledger.bytes(), Le(Ledger::kMostBytes));
  EXPECT_THAT(PrintLedger(1, ledger).size(), Le(Ledger::kMostBytes));
  EXPECT_GT(ledger.hours(), 400U);
  ledger.Trim(At(999));
  EXPECT_LT(ledger.bytes(), 250U * 300U);
}

TEST(LedgerTest, ACopyStandsAlone) {
  Ledger ledger;
  ledger.Add(At(0), {"ml", "b"}, {1, 0, 0});
  ledger.Add(At(1), {"ml", "a"}, {2, 0, 0});
  Ledger copy = ledger.Copy();
  ledger = Ledger();
  copy.Add(At(1), {"ml", "a"}, {2, 0, 0});
  EXPECT_THAT(Seconds(copy),
              ElementsAre(std::pair(PodName{"ml", "b"}, 1), std::pair(PodName{"ml", "a"}, 4)));
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

TEST(LedgerTextTest, SaysWhatIsNoFileOfUsage) {
  EXPECT_THAT(ParseLedger("kgpu-usage 2 7\nend 2\n"),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("line 1: not a usage file")));
  EXPECT_THAT(ParseLedger("kgpu-usage 1 7\nend 2\nhour 1\n"),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("unexpected data after")));
}

TEST(LedgerTextTest, ALineThatSaysNothingCostsThatLine) {
  for (const char* line : {"use  a 1 2 3", "use ml a b 1 2 3 4", "use ml a 1 nan 3", "noise"}) {
    const auto file = ParseLedger(fmt::format(
        "kgpu-usage 1 7\nhour 490000\nuse ml a 1 2 3\n{}\nuse ml c 4 5 6\nend 6\n", line));
    ASSERT_OK(file) << line;
    EXPECT_EQ(file->bad_lines, 1U) << line;
    EXPECT_THAT(Seconds(file->ledger),
                ElementsAre(std::pair(PodName{"ml", "a"}, 1), std::pair(PodName{"ml", "c"}, 4)))
        << line;
  }
}

TEST(LedgerTextTest, NothingIsGivenToAnotherPodOrHourThanItsOwn) {
  const auto file = ParseLedger(
      "kgpu-usage 1 7\nuse ml a 1 2 3\nhour 490000\nuse ml b 1 2 3\nnoise\nuse = = 4 5 6\nhour "
      "x\nuse ml b 7 8 9\nend 9\n");
  ASSERT_OK(file);
  EXPECT_EQ(file->bad_lines, 5U);
  EXPECT_THAT(Seconds(file->ledger), ElementsAre(std::pair(PodName{"ml", "b"}, 1)));
}

TEST(LedgerTextTest, OddNamesOfOthersDoNotMakeTheFileUnreadable) {
  Ledger ledger;
  for (const char* name : {"", "=", "a b", "a\nb", "\xff", "p"}) {
    ledger.Add(At(0), {name, "p"}, {1, 0, 0});
    ledger.Add(At(0), {"ml", name}, {1, 0, 0});
  }
  ledger.Add(At(0), {std::string(254, 'x'), "p"}, {1, 0, 0});
  const auto file = ParseLedger(PrintLedger(7, ledger));
  ASSERT_OK(file);
  EXPECT_EQ(file->bad_lines, 0U);
  EXPECT_EQ(Seconds(file->ledger), Seconds(ledger));
  EXPECT_EQ(Sum(file->ledger, "ml"), 6);
  EXPECT_EQ(Sum(file->ledger, std::string(kOther)), 6);
}

}  // namespace
}  // namespace kgpu::usage
