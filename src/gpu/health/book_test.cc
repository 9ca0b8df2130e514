#include "src/gpu/health/book.h"

#include <gmock/gmock.h>

#include <string>
#include <vector>

#include "testing/fake_clock.h"
#include "testing/status_matchers.h"

namespace kgpu::health {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

device::GpuUuid Uuid(unsigned gpu = 0) {
  return *device::GpuUuid::Parse(fmt::format("GPU-5d8429f0-1f2e-4c3b-9a54-0123456789a{}", gpu));
}

Sign Xid(uint64_t xid, std::optional<unsigned> gpu_instance = {},
         std::optional<unsigned> compute_instance = {}) {
  return {.xid = xid,
          .gpu = Uuid(),
          .gpu_instance = gpu_instance,
          .compute_instance = compute_instance};
}

Sign Of(std::string_view rule, Source source = Source::kSample, std::string_view detail = "") {
  return {.rule = rule, .gpu = Uuid(), .source = source, .detail = detail};
}

// A book of two GPUs; the first has MIG devices (1, 0), (2, 0), (2, 1).
class BookTest : public ::testing::Test {
 protected:
  void SetUp() override { Make({}); }
  void Make(Settings settings) {
    book_ = std::make_unique<Book>(clock_, std::move(settings),
                                   [this](const Happening& news) { news_.push_back(news); });
    for (const unsigned gpu : {0U, 1U}) {
      gpus_.at(gpu).uuid = Uuid(gpu);
    }
    gpus_[0].mig_devices.resize(3);
    gpus_[0].mig_devices[0].gpu_instance = 1;
    gpus_[0].mig_devices[1].gpu_instance = 2;
    gpus_[0].mig_devices[2].gpu_instance = 2;
    gpus_[0].mig_devices[2].compute_instance = 1;
    book_->SetGpus(gpus_);
  }
  device::Gpu Look(unsigned gpu = 0) {
    device::Gpu seen = gpus_.at(gpu);
    book_->Apply(seen);
    return seen;
  }
  std::string Reason(unsigned gpu = 0) { return Look(gpu).health.reason; }
  std::vector<std::string> MigReasons() {
    std::vector<std::string> reasons;
    for (const device::MigDevice& mig : Look().mig_devices) {
      reasons.push_back(mig.health.reason);
    }
    return reasons;
  }
  void FindWell() {
    book_->NoteGoodRead(Uuid(), clock_.Now());
    book_->NoteMeasured(Uuid(), clock_.Now());
  }
  std::vector<std::string> News() {
    std::vector<std::string> lines;
    for (const Happening& news : news_) {
      lines.push_back(fmt::format("{} {} {}", ToString(news.kind), news.rule, news.count));
    }
    news_.clear();
    return lines;
  }

  FakeClock clock_;
  std::vector<device::Gpu> gpus_{2};
  std::vector<Happening> news_;
  std::unique_ptr<Book> book_;
};

TEST_F(BookTest, AllIsWellWithoutNews) {
  EXPECT_TRUE(Look().health.is_healthy);
  EXPECT_EQ(book_->NextCheck(), std::nullopt);
  EXPECT_EQ(book_->NextNews(), std::nullopt);
  EXPECT_THAT(book_->Open(), IsEmpty());
}

TEST_F(BookTest, AFaultOfTheGpuReachesItsMigDevicesAndNoOtherGpu) {
  EXPECT_EQ(book_->Note(Xid(79)), Change::kVerdict);
  EXPECT_EQ(Reason(), "Xid79");
  EXPECT_THAT(MigReasons(), ElementsAre("Xid79", "Xid79", "Xid79"));
  EXPECT_EQ(Reason(1), "");
  EXPECT_EQ(book_->NextCheck(), clock_.Now() + seconds(60));
  EXPECT_THAT(News(), ElementsAre("raised Xid79 1"));
}

TEST_F(BookTest, AFaultOfAnInstanceLeavesTheOthersAlone) {
  book_->Note(Xid(94, 2));
  EXPECT_EQ(Reason(), "");
  EXPECT_THAT(MigReasons(), ElementsAre("", "Xid94", "Xid94"));
}

TEST_F(BookTest, AFaultOfAComputeInstanceIsItsOwnOnly) {
  book_->Note(Xid(94, 2, 1));
  EXPECT_THAT(MigReasons(), ElementsAre("", "", "Xid94"));
}

TEST_F(BookTest, AFaultOfAGpuThatIsNotSaidReachesAll) {
  book_->Note({.xid = 79});
  EXPECT_EQ(Reason(0), "Xid79");
  EXPECT_EQ(Reason(1), "Xid79");
  EXPECT_EQ(book_->counters().xids_of_unknown_gpu, 1U);
}

TEST_F(BookTest, ASignOfAProgramIsToldAndChangesNothing) {
  EXPECT_EQ(book_->Note(Xid(13)), Change::kNothing);
  EXPECT_EQ(Reason(), "");
  EXPECT_THAT(book_->Open(), IsEmpty());
  EXPECT_EQ(book_->NextCheck(), std::nullopt);
  EXPECT_THAT(News(), ElementsAre("seen Xid13 1"));
}

TEST_F(BookTest, WhatIsIgnoredIsOnlyCounted) {
  book_->Note(Xid(154));
  EXPECT_THAT(News(), IsEmpty());
  ASSERT_EQ(book_->counters().xids.size(), 1U);
  EXPECT_EQ(book_->counters().xids[0].xid, 154U);
}

TEST_F(BookTest, TheWorstFaultIsTheReasonAndTheOthersAreListed) {
  book_->Note(Xid(48));
  EXPECT_EQ(book_->Note(Xid(79)), Change::kReason);
  book_->Note(Xid(94));
  EXPECT_EQ(Reason(), "Xid79");
  EXPECT_THAT(Look().health.message, HasSubstr("Also: Xid48, Xid94."));
}

TEST_F(BookTest, OfEqualFaultsTheOlderIsTheReason) {
  book_->Note(Xid(79));
  clock_.Advance(milliseconds(1));
  book_->Note(Of("GpuLost", Source::kCall, "The driver no longer lists it."));
  EXPECT_EQ(Reason(), "Xid79");
}

TEST_F(BookTest, AFailedCallSaysWhatTheDriverSaid) {
  book_->Note(Of("DriverError", Source::kCall, "The driver answers 999."));
  EXPECT_EQ(Look().health.message, "The driver answers 999.");
}

TEST_F(BookTest, AGoodReadBeforeTheHoldDownIsOverChangesNothing) {
  book_->Note(Xid(79));
  clock_.Advance(seconds(59));
  EXPECT_FALSE(book_->NoteGoodRead(Uuid(), clock_.Now()));
  clock_.Advance(seconds(1));
  EXPECT_TRUE(book_->NoteGoodRead(Uuid(), clock_.Now()));
  EXPECT_EQ(Reason(), "");
  EXPECT_EQ(book_->NextCheck(), std::nullopt);
  EXPECT_THAT(News(), ElementsAre("raised Xid79 1", "cleared Xid79 1"));
}

TEST_F(BookTest, AReadThatBeganBeforeTheFaultHealsNothing) {
  const SteadyTime begun = clock_.Now();
  clock_.Advance(minutes(5));
  book_->Note(Xid(79));
  EXPECT_FALSE(book_->NoteGoodRead(Uuid(), begun));
}

TEST_F(BookTest, WhereGpusAreMeasuredAMeasurementIsWaitedFor) {
  book_->SetMeasured(true);
  book_->Note(Xid(79));
  clock_.Advance(seconds(60));
  EXPECT_FALSE(book_->NoteGoodRead(Uuid(), clock_.Now()));
  EXPECT_EQ(book_->NextCheck(), std::nullopt);
  EXPECT_TRUE(book_->NoteMeasured(Uuid(), clock_.Now()));
  EXPECT_EQ(Reason(), "");
}

TEST_F(BookTest, NewsOfTheFaultStartTheHoldDownAnew) {
  book_->Note(Xid(48));
  clock_.Advance(seconds(50));
  book_->Note(Xid(48));
  clock_.Advance(seconds(59));
  FindWell();
  EXPECT_EQ(Reason(), "Xid48");
  clock_.Advance(seconds(1));
  FindWell();
  EXPECT_EQ(Reason(), "");
}

TEST_F(BookTest, FaultsOfPartsClearOneByOne) {
  book_->Note(Xid(94, 1));
  clock_.Advance(seconds(30));
  book_->Note(Xid(94, 2));
  clock_.Advance(seconds(30));
  FindWell();
  EXPECT_THAT(MigReasons(), ElementsAre("", "Xid94", "Xid94"));
}

TEST_F(BookTest, AFaultStaysWhileAMeasurementShowsTroubleOfItsKind) {
  book_->SetMeasured(true);
  book_->Note(Xid(48));
  book_->Note(Of("RowRemapPending"));
  EXPECT_EQ(Reason(), "Xid48");
  clock_.Advance(seconds(60));
  book_->Note(Of("RowRemapPending"));
  FindWell();
  EXPECT_EQ(Reason(), "Xid48");
  clock_.Advance(seconds(60));  // it was reset: the measurement shows no row any more
  FindWell();
  EXPECT_EQ(Reason(), "");
  EXPECT_THAT(book_->Open(), IsEmpty());
}

TEST_F(BookTest, TroubleOfAnotherKindKeepsNothing) {
  book_->Note(Xid(79));
  clock_.Advance(seconds(60));
  book_->Note(Of("ThermalSlowdown"));
  FindWell();
  EXPECT_EQ(Reason(), "");
  ASSERT_EQ(book_->Open().size(), 1U);
  EXPECT_FALSE(book_->Open()[0].is_unhealthy);
}

TEST_F(BookTest, AWarningIsOpenAndLeavesTheDeviceHealthy) {
  EXPECT_EQ(book_->Note(Of("RowRemapPending")), Change::kNothing);
  EXPECT_EQ(Reason(), "");
  ASSERT_EQ(book_->Open().size(), 1U);
  EXPECT_THAT(News(), ElementsAre("raised RowRemapPending 1"));
  for (int i = 0; i < 10; ++i) {
    clock_.Advance(seconds(30));
    book_->Note(Of("RowRemapPending"));
  }
  EXPECT_THAT(News(), IsEmpty());
}

TEST_F(BookTest, TooManyFaultsInTooShortATimeHoldTheDevice) {
  Make({.flap_limit = {.times = 2, .within = minutes(10)}});
  for (int i = 0; i < 3; ++i) {
    book_->Note(Xid(48));
    clock_.Advance(seconds(60));
    FindWell();
  }
  EXPECT_EQ(Reason(), "Xid48");
  EXPECT_THAT(Look().health.message, HasSubstr("kgpu health clear"));
  EXPECT_EQ(news_.back().kind, HappeningKind::kHeld);
  EXPECT_TRUE(book_->Open().at(0).is_held);
  EXPECT_EQ(book_->NextCheck(), std::nullopt);
  clock_.Advance(std::chrono::hours(24));
  FindWell();
  EXPECT_EQ(Reason(), "Xid48");
}

TEST_F(BookTest, FaultsFarApartHoldNothing) {
  Make({.flap_limit = {.times = 2, .within = minutes(10)}});
  for (int i = 0; i < 9; ++i) {
    book_->Note(Xid(48));
    clock_.Advance(minutes(6));
    FindWell();
    EXPECT_EQ(Reason(), "");
  }
}

TEST_F(BookTest, AnotherSignOfASickDeviceIsNoOtherFault) {
  Make({.flap_limit = {.times = 1, .within = minutes(10)}});
  book_->Note(Xid(48));
  book_->Note(Xid(95));
  book_->Note(Xid(64));
  clock_.Advance(seconds(60));
  FindWell();
  EXPECT_EQ(Reason(), "");
}

TEST_F(BookTest, WithoutALimitNothingIsHeld) {
  Make({.flap_limit = {.times = 0}});
  for (int i = 0; i < 20; ++i) {
    book_->Note(Xid(48));
    clock_.Advance(seconds(60));
    FindWell();
  }
  EXPECT_EQ(Reason(), "");
}

TEST_F(BookTest, WhatBefallsAllGpusIsHeldAgainstNone) {
  Make({.flap_limit = {.times = 1, .within = minutes(10)}});
  for (int i = 0; i < 5; ++i) {
    book_->Note({.rule = "DriverUnresponsive", .source = Source::kCall});
    EXPECT_EQ(Reason(0), "DriverUnresponsive");
    clock_.Advance(seconds(60));
    FindWell();
    EXPECT_EQ(Reason(0), "");
  }
}

TEST_F(BookTest, RestoredFaultsOfGpusThatAreNoMoreGoButForThoseThatAreHeld) {
  for (const bool is_held : {false, true}) {
    Book book(clock_, {}, nullptr);
    book.Restore({.scope = {.gpu = Uuid(7)}, .rule = "Xid79", .is_held = is_held});
    book.Restore({.scope = {.gpu = Uuid(0)}, .rule = "Xid79"});
    book.SetGpus({});
    EXPECT_EQ(book.Open().size(), 2U);
    book.SetGpus(gpus_);
    EXPECT_EQ(book.Open().size(), is_held ? 2U : 1U);
  }
}

TEST_F(BookTest, ClearingEndsWhatIsHeldAndForgetsTheCount) {
  Make({.flap_limit = {.times = 1, .within = minutes(10)}});
  for (int i = 0; i < 2; ++i) {
    book_->Note(Xid(48));
    clock_.Advance(seconds(60));
    FindWell();
  }
  News();
  ASSERT_OK(book_->Clear(Uuid()));
  EXPECT_EQ(Reason(), "");
  EXPECT_THAT(News(), ElementsAre("cleared Xid48 1"));
  book_->Note(Xid(48));
  EXPECT_FALSE(book_->Open().at(0).is_held);
}

TEST_F(BookTest, ClearingAGpuThatIsNotThereIsAnError) {
  EXPECT_OK(book_->Clear(Uuid(1)));
  EXPECT_THAT(book_->Clear(Uuid(7)), StatusIs(StatusCode::kNotFound, HasSubstr("no such GPU")));
}

TEST_F(BookTest, AGpuThatLeavesTakesItsFaultsAlong) {
  book_->Note(Xid(79));
  book_->SetGpus(std::span(gpus_).last(1));
  book_->SetGpus(gpus_);
  EXPECT_EQ(Reason(), "");
  EXPECT_THAT(book_->counters().xids, IsEmpty());
}

TEST_F(BookTest, AnEventBeforeTheFirstLookIsKept) {
  book_ = std::make_unique<Book>(clock_, Settings{}, nullptr);
  book_->Note(Xid(79));
  book_->SetGpus(gpus_);
  EXPECT_EQ(Reason(), "Xid79");
}

TEST_F(BookTest, WhatWasOpenBeforeIsRestoredWithoutNews) {
  book_->Note(Xid(94, 2));
  book_->Note(Xid(48));
  const std::vector<OpenFault> open = book_->Open();
  News();
  Make({});
  for (const OpenFault& fault : open) {
    book_->Restore(fault);
  }
  EXPECT_EQ(Reason(), "Xid48");
  EXPECT_THAT(MigReasons(), ElementsAre("Xid48", "Xid48", "Xid48"));
  EXPECT_EQ(book_->Open(), open);
  EXPECT_THAT(News(), IsEmpty());
  clock_.Advance(seconds(60));
  FindWell();
  EXPECT_EQ(Reason(), "");
}

TEST_F(BookTest, TwoSourcesOfOneXidAreOneFaultWithBothTheirFacts) {
  book_->Note(Xid(79));
  EXPECT_EQ(book_->Note({.xid = 79,
                         .gpu = Uuid(),
                         .source = Source::kKernelLog,
                         .detail = "GPU has fallen off the bus.",
                         .pid = 4711}),
            Change::kNothing);
  const OpenFault fault = book_->Open().at(0);
  EXPECT_EQ(fault.count, 1U);
  EXPECT_EQ(fault.source, Source::kDriverEvent);
  EXPECT_EQ(fault.detail, "GPU has fallen off the bus.");
  EXPECT_EQ(fault.pid, 4711U);
  EXPECT_EQ(book_->counters().xids.at(0).count, 1U);
  EXPECT_THAT(News(), ElementsAre("raised Xid79 1"));
}

TEST_F(BookTest, TheSourceThatKnowsTheInstanceNarrowsTheFault) {
  book_->Note({.xid = 94, .gpu = Uuid(), .source = Source::kKernelLog});
  EXPECT_EQ(Reason(), "Xid94");
  EXPECT_EQ(book_->Note(Xid(94, 1)), Change::kVerdict);
  EXPECT_EQ(Reason(), "");
  EXPECT_THAT(MigReasons(), ElementsAre("Xid94", "", ""));
}

TEST_F(BookTest, SettingsCountForTheFaultsOfNow) {
  book_->Note(Xid(79));
  book_->Note(Xid(48));
  Settings settings;
  settings.rules["Xid79"] = {.action = Action::kIgnore, .is_unhealthy = false};
  book_->SetSettings(settings);
  EXPECT_EQ(Reason(), "Xid48");
  EXPECT_EQ(News().back(), "cleared Xid79 1");
}

TEST_F(BookTest, TenThousandXidsInASecondMakeFewNewsAndOneFault) {
  for (int i = 0; i < 10'000; ++i) {
    book_->Note(Xid(48));
    if (const auto due = book_->NextNews(); due && *due <= clock_.Now()) {
      book_->Tell();
    }
    clock_.Advance(std::chrono::microseconds(100));
  }
  EXPECT_EQ(News().size(), 1U);
  ASSERT_TRUE(book_->NextNews().has_value());
  clock_.Advance(seconds(1));
  book_->Tell();
  EXPECT_THAT(News(), ElementsAre("seen Xid48 9999"));
  EXPECT_EQ(book_->NextNews(), std::nullopt);
  EXPECT_EQ(book_->Open().at(0).count, 10'000U);
  EXPECT_EQ(book_->counters().xids.at(0).count, 10'000U);
}

TEST_F(BookTest, NewsGrowRareWhileAStormGoesOn) {
  for (int i = 0; i < 3600; ++i) {
    book_->Note(Xid(13));
    clock_.Advance(seconds(1));
    book_->Tell();
  }
  EXPECT_LT(news_.size(), 20U);
}

TEST_F(BookTest, AfterAQuietTimeNewsComeAtOnceAgain) {
  for (int i = 0; i < 100; ++i) {
    book_->Note(Xid(13));
  }
  clock_.Advance(minutes(20));
  book_->Tell();
  News();
  clock_.Advance(minutes(20));
  book_->Note(Xid(13));
  EXPECT_THAT(News(), ElementsAre("seen Xid13 1"));
}

TEST_F(BookTest, SignsOfManyKindsStayBounded) {
  for (uint64_t xid = 0; xid < 10'000; ++xid) {
    book_->Note(Xid(xid));
  }
  EXPECT_LE(book_->Open().size(), 64U);
  EXPECT_LE(news_.size(), 400U);
  EXPECT_LE(book_->counters().xids.size(), 257U);
}

}  // namespace
}  // namespace kgpu::health
