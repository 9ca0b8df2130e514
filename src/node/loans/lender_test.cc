#include "src/node/loans/lender.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "src/node/loans/ledger_file.h"
#include "src/node/loans/test_stock.h"
#include "src/platform/base/log.h"
#include "testing/fake_clock.h"
#include "testing/temp_dir.h"

namespace kgpu::loans {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

struct LendReply {
  bool is_there = false;
  StatusOr<Lender::Lent> lent = Unavailable("no reply");
};

struct EndReply {
  bool is_there = false;
  Status status;
};

// A process with a lender, and a disk whose work waits until the test does it.
class Process {
 public:
  Process(const Clock& clock, std::string path, const TestStock& stock)
      : path_(std::move(path)),
        lender_(
            clock, LoadLedger(path_),
            {.save =
                 [this](const Ledger& ledger, std::function<void(const Status&)> done) {
                   if (is_disk_full_) {
                     done(ResourceExhausted("write {}: no space left on device", path_));
                     return true;
                   }
                   EXPECT_FALSE(has_write_) << "two writes at a time";
                   has_write_ = true;
                   written_ = ledger;
                   done_ = std::move(done);
                   return true;
                 },
             .load =
                 [this](const std::function<void(StatusOr<Ledger>)>& done) {
                   done(LoadLedger(path_));
                   return true;
                 }},
            [&stock](const LoanRequest& request, const Ledger& ledger) {
              return stock.Choose(request, ledger);
            },
            [this] { ++changes_; }) {}

  std::shared_ptr<LendReply> Lend(const std::string& holder, size_t count = 1,
                                  std::optional<Bytes> memory = {}) {
    auto reply = std::make_shared<LendReply>();
    lender_.Lend({.holder = holder, .count = count, .memory = memory},
                 [reply](auto lent) { *reply = {.is_there = true, .lent = std::move(lent)}; });
    return reply;
  }
  std::shared_ptr<EndReply> End(const std::string& id) {
    auto reply = std::make_shared<EndReply>();
    lender_.End(id,
                [reply](const Status& status) { *reply = {.is_there = true, .status = status}; });
    return reply;
  }
  // The disk has the file, but nobody knows yet.
  void Write() { ASSERT_OK(SaveLedger(path_, written_)); }
  void Answer() {
    has_write_ = false;
    const auto done = std::exchange(done_, nullptr);
    done(OkStatus());
  }
  void DoAll() {
    while (has_write_) {
      Write();
      Answer();
    }
  }
  bool writes() const { return has_write_; }
  void FillDisk(bool is_full) { is_disk_full_ = is_full; }
  int changes() const { return changes_; }
  Lender& lender() { return lender_; }

 private:
  const std::string path_;
  bool has_write_ = false;
  Ledger written_;
  std::function<void(const Status&)> done_;
  bool is_disk_full_ = false;
  int changes_ = 0;
  Lender lender_;
};

class LenderTest : public ::testing::Test {
 protected:
  // A kill -9: what waits is lost, the file stays.
  void Restart() { process_ = std::make_unique<Process>(clock_, path(), stock_); }
  void SetUp() override {
    SetLogSink([](LogLevel, std::string_view) {});
    Restart();
  }
  void TearDown() override { SetLogSink({}); }
  std::string path() const { return dir_.At("state/loans.json"); }

  TempDir dir_;
  FakeClock clock_;
  TestStock stock_{{"T4", "T4", "T4", "T4"}};
  std::unique_ptr<Process> process_;
};

TEST_F(LenderTest, AnswersOnceTheLoanIsOnTheDisk) {
  const auto reply = process_->Lend("a", 2);
  EXPECT_FALSE(reply->is_there);
  EXPECT_NE(process_->lender().LoanOf(TestGpu(0)), nullptr);
  process_->Write();
  EXPECT_FALSE(reply->is_there);
  process_->Answer();
  ASSERT_TRUE(reply->is_there);
  ASSERT_OK(reply->lent);
  EXPECT_EQ(reply->lent->loan.gpus, TestGpus({0, 1}));
  EXPECT_TRUE(reply->lent->is_new);
  EXPECT_THAT(LoadLedger(path()).value().loans(), SizeIs(1));
}

TEST_F(LenderTest, AHolderGetsTheSameLoanAgain) {
  const auto first = process_->Lend("a");
  const auto second = process_->Lend("a");  // while the disk is busy with the first
  process_->DoAll();
  ASSERT_OK(first->lent);
  ASSERT_OK(second->lent);
  EXPECT_EQ(first->lent->loan, second->lent->loan);
  EXPECT_FALSE(second->lent->is_new);
  Restart();
  const auto third = process_->Lend("a");
  ASSERT_TRUE(third->is_there);
  EXPECT_EQ(third->lent->loan, first->lent->loan);
}

TEST_F(LenderTest, TwoHoldersNeverGetTheSameGpu) {
  const auto a = process_->Lend("a", 2);
  const auto b = process_->Lend("b", 2);
  const auto c = process_->Lend("c");
  process_->DoAll();
  EXPECT_EQ(a->lent->loan.gpus, TestGpus({0, 1}));
  EXPECT_EQ(b->lent->loan.gpus, TestGpus({2, 3}));
  EXPECT_THAT(c->lent, StatusIs(StatusCode::kUnavailable));
}

TEST_F(LenderTest, AGpuIsFreeOnceTheEndIsOnTheDisk) {
  const auto a = process_->Lend("a", 4);
  process_->DoAll();
  const auto end = process_->End(a->lent->loan.id);
  EXPECT_NE(process_->lender().LoanOf(TestGpu(0)), nullptr);
  EXPECT_FALSE(end->is_there);
  process_->DoAll();
  EXPECT_OK(end->status);
  EXPECT_EQ(process_->lender().LoanOf(TestGpu(0)), nullptr);
  const auto again = process_->End(a->lent->loan.id);
  EXPECT_OK(again->status);
}

TEST_F(LenderTest, AFullDiskLendsNothingAndEndsNothing) {
  const auto a = process_->Lend("a");
  process_->DoAll();
  process_->FillDisk(true);
  const auto b = process_->Lend("b");
  EXPECT_THAT(b->lent, StatusIs(StatusCode::kDataLoss, HasSubstr("no space left")));
  const auto end = process_->End(a->lent->loan.id);
  EXPECT_THAT(end->status, StatusIs(StatusCode::kDataLoss));
  EXPECT_THAT(process_->lender().ledger().loans(), SizeIs(1));
  EXPECT_EQ(process_->lender().LoanOf(TestGpu(1)), nullptr);
  EXPECT_THAT(process_->lender().problem(), HasSubstr("no space left"));
  process_->FillDisk(false);
  EXPECT_FALSE(process_->End(a->lent->loan.id)->is_there);
  process_->DoAll();
  EXPECT_THAT(process_->lender().ledger().loans(), IsEmpty());
  EXPECT_EQ(process_->lender().problem(), "");
}

// The alarm ends without another loan, or the end of one.
TEST_F(LenderTest, ALedgerThatCouldNotBeWrittenIsWrittenAgain) {
  const auto a = process_->Lend("a");
  process_->DoAll();
  process_->lender().Retry();
  EXPECT_FALSE(process_->writes()) << "there is no problem";
  process_->FillDisk(true);
  const auto b = process_->Lend("b");
  EXPECT_THAT(b->lent, StatusIs(StatusCode::kDataLoss));
  process_->lender().Retry();
  EXPECT_THAT(process_->lender().problem(), HasSubstr("no space left"));
  process_->FillDisk(false);
  const int changes = process_->changes();
  process_->lender().Retry();
  process_->DoAll();
  EXPECT_EQ(process_->lender().problem(), "");
  EXPECT_GT(process_->changes(), changes);
  EXPECT_THAT(process_->lender().ledger().loans(), SizeIs(1)) << "what nobody got is not lent";
  EXPECT_EQ(LoadLedger(path()).value().loans(), process_->lender().ledger().loans());
}

TEST_F(LenderTest, AnUnreadableLedgerLendsAndEndsNothingUntilItIsRead) {
  dir_.MakeDir("state");
  dir_.WriteFile("state/loans.json", "?");
  Restart();
  EXPECT_FALSE(process_->lender().is_known());
  EXPECT_THAT(process_->Lend("a")->lent,
              StatusIs(StatusCode::kDataLoss, HasSubstr("remove the file")));
  EXPECT_THAT(process_->End("x")->status, StatusIs(StatusCode::kDataLoss));
  process_->lender().Retry();
  EXPECT_FALSE(process_->lender().is_known());
  EXPECT_EQ(dir_.ReadFile("state/loans.json"), "?");
  ASSERT_OK(SaveLedger(path(), Ledger()));
  process_->lender().Retry();
  EXPECT_TRUE(process_->lender().is_known());
  const auto a = process_->Lend("a");
  process_->DoAll();
  EXPECT_OK(a->lent);
}

TEST_F(LenderTest, RequestsThatWaitAreLimited) {
  std::vector<std::shared_ptr<LendReply>> replies;
  constexpr int kRequests = 100;
  replies.reserve(kRequests);
  for (int i = 0; i < kRequests; ++i) {
    replies.push_back(process_->Lend(fmt::format("h{}", i)));
  }
  EXPECT_FALSE(replies.front()->is_there);
  ASSERT_TRUE(replies.back()->is_there);
  EXPECT_THAT(replies.back()->lent, StatusIs(StatusCode::kResourceExhausted));
  process_->DoAll();
  for (const auto& reply : replies) {
    EXPECT_TRUE(reply->is_there);
  }
}

// Each moment between two steps of a loan and of its end.
TEST_F(LenderTest, AKillAtAnyPointLosesNoLoanThatSomebodyKnows) {
  (void)process_->Lend("a");  // killed before the write
  Restart();
  EXPECT_THAT(process_->lender().ledger().loans(), IsEmpty());
  (void)process_->Lend("a");
  process_->Write();  // killed after it: the holder asks again
  Restart();
  const auto a = process_->Lend("a");
  ASSERT_TRUE(a->is_there);
  EXPECT_FALSE(a->lent->is_new);
  (void)process_->End(a->lent->loan.id);
  Restart();
  EXPECT_NE(process_->lender().LoanOf(a->lent->loan.gpus.front()), nullptr);
  (void)process_->End(a->lent->loan.id);
  process_->Write();
  Restart();
  EXPECT_EQ(process_->lender().LoanOf(a->lent->loan.gpus.front()), nullptr);
  EXPECT_OK(process_->End(a->lent->loan.id)->status);
}

// Holders that borrow and give back at random over a process that is killed at random.
class Holders {
 public:
  explicit Holders(uint32_t seed) : random_(seed) {}

  void Act(Process& process) {
    const std::string holder = fmt::format("fn/f/{}", Random(6));
    const auto held = loans_.find(holder);
    if (held == loans_.end()) {
      lending_[holder] = process.Lend(holder, 1 + Random(2),
                                      Random(2) == 0 ? std::optional(GibiBytes(4)) : std::nullopt);
    } else {
      ending_[holder] = process.End(held->second.id);
    }
    if (Random(3) != 0 && process.writes()) {
      process.Write();
      if (Random(3) != 0) {
        process.Answer();
      }
    }
    Hear();
  }
  // What was not answered is unknown to the holders, as after a kill.
  void ForgetQuestions() {
    lending_.clear();
    ending_.clear();
  }
  void ExpectNothingLentTwice() const {
    std::set<std::string> whole;
    std::set<std::string> cut;
    std::set<std::string> slots;
    for (const auto& [holder, loan] : loans_) {
      for (const std::string& slot : IdsOf(loan.slices)) {
        EXPECT_TRUE(slots.insert(slot).second) << slot << " again to " << holder;
      }
      for (const device::GpuUuid& gpu : loan.gpus) {
        if (loan.slices.empty()) {
          EXPECT_TRUE(whole.insert(gpu.str()).second) << gpu.str() << " again to " << holder;
        } else {
          cut.insert(gpu.str());
        }
        EXPECT_FALSE(whole.contains(gpu.str()) && cut.contains(gpu.str())) << gpu.str();
      }
    }
  }
  const std::map<std::string, Loan>& loans() const { return loans_; }
  uint32_t Random(uint32_t below) { return random_() % below; }

 private:
  void Hear() {
    for (const auto& [holder, reply] : std::exchange(lending_, {})) {
      if (!reply->is_there) {
        lending_[holder] = reply;
      } else if (reply->lent.ok()) {
        loans_[holder] = reply->lent->loan;
      }
    }
    // Whoever asks for the end no longer uses the GPUs.
    for (const auto& [holder, reply] : ending_) {
      loans_.erase(holder);
    }
  }

  std::mt19937 random_;
  std::map<std::string, Loan> loans_;  // as the holders know them
  std::map<std::string, std::shared_ptr<LendReply>> lending_;
  std::map<std::string, std::shared_ptr<EndReply>> ending_;
};

TEST_F(LenderTest, KilledThreeHundredTimesItLendsNothingTwiceAndLeaksNothing) {
  stock_ = TestStock({"T4", "T4", "T4", "T4"},
                     "pools:\n"
                     "- {devices: {index: 0-1}, provider: local, share: {by: memory, size: 4Gi}}\n"
                     "- {provider: local}\n");
  Restart();
  Holders holders(7);
  for (int kill = 0; kill < 300; ++kill) {
    for (uint32_t actions = 1 + holders.Random(5); actions > 0; --actions) {
      holders.Act(*process_);
      holders.ExpectNothingLentTwice();
    }
    holders.ForgetQuestions();
    Restart();
    for (const auto& [holder, loan] : holders.loans()) {
      const Loan* kept = process_->lender().ledger().FindByHolder(holder);
      ASSERT_NE(kept, nullptr) << holder;
      EXPECT_EQ(*kept, loan);
    }
  }
  // Whatever nobody knows of is in the list, where its holder's owner finds it.
  const Ledger left = process_->lender().ledger();
  for (const Loan& loan : left.loans()) {
    (void)process_->End(loan.id);
  }
  process_->DoAll();
  const auto whole = process_->Lend("last", 2);
  const auto slices = process_->Lend("slices", 6, GibiBytes(4));
  process_->DoAll();
  ASSERT_OK(whole->lent);
  EXPECT_EQ(whole->lent->loan.gpus, TestGpus({2, 3}));
  ASSERT_OK(slices->lent);
  EXPECT_EQ(slices->lent->loan.gpus, TestGpus({0, 1}));
}

}  // namespace
}  // namespace kgpu::loans
