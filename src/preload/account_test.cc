// One ledger, and processes that come, go and are killed.
#include "src/preload/account.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdio>
#include <fstream>
#include <functional>
#include <random>
#include <thread>
#include <vector>

#include "src/preload/system.h"
#include "testing/temp_dir.h"

namespace kgpu::preload {
namespace {

constexpr uint64_t kLimit = 1000;

class AccountTest : public ::testing::Test {
 public:
  ~AccountTest() override { mine_.Close(); }

 protected:
  AccountTest() : path_(folder_.At("ledger")) {
    std::ofstream(path_).close();
    EXPECT_EQ(mine_.Open(path_.c_str(), kLimit), nullptr);
  }

  // A child that opens the ledger, does `work`, and ends as that says.
  pid_t Start(const std::function<void(Account&)>& work) const {
    const pid_t child = fork();
    if (child == 0) {
      Account account{};
      if (account.Open(path_.c_str(), kLimit) == nullptr) {
        work(account);
        _exit(0);
      }
      _exit(1);
    }
    return child;
  }
  static int Wait(pid_t child) {
    int status = 0;
    EXPECT_EQ(waitpid(child, &status, 0), child);
    return status;
  }
  Ledger& ledger() { return *mine_.ledger_for_test(); }

  TempDir folder_;
  std::string path_;
  Account mine_{};
};

TEST_F(AccountTest, ChargesUpToTheLimitAndNotAByteMore) {
  EXPECT_EQ(mine_.Charge(kLimit - 1), Account::kCharged);
  EXPECT_EQ(mine_.Charge(2), Account::kOverLimit);
  EXPECT_EQ(mine_.Charge(1), Account::kCharged);
  EXPECT_EQ(mine_.Charge(1), Account::kOverLimit);
  EXPECT_EQ(mine_.Charge(UINT64_MAX), Account::kOverLimit);
  EXPECT_EQ(mine_.Used(), kLimit);
  EXPECT_EQ(ledger().header.refused, 3U);
}

TEST_F(AccountTest, NeverGoesBelowZero) {
  ASSERT_EQ(mine_.Charge(10), Account::kCharged);
  mine_.GiveBack(500);
  EXPECT_EQ(mine_.Used(), 0U);
  EXPECT_EQ(mine_.Charge(kLimit), Account::kCharged);
}

TEST_F(AccountTest, CountsOtherProcesses) {
  ASSERT_EQ(mine_.Charge(400), Account::kCharged);
  const pid_t child = Start([](Account& account) {
    EXPECT_EQ(account.Charge(601), Account::kOverLimit);
    _exit(account.Charge(600) == Account::kCharged && account.Used() == kLimit ? 0 : 2);
  });
  EXPECT_EQ(Wait(child), 0);
  EXPECT_EQ(mine_.Used(), 400U);
}

TEST_F(AccountTest, ForgetsAKilledProcessAtOnce) {
  const pid_t child = Start([](Account& account) {
    (void)account.Charge(kLimit);
    (void)raise(SIGKILL);
  });
  (void)Wait(child);
  EXPECT_EQ(ledger().header.total, kLimit);  // nobody has looked yet
  EXPECT_EQ(mine_.Charge(kLimit), Account::kCharged);
}

TEST_F(AccountTest, TakesALockWhoseHolderWasKilledHalfWay) {
  const pid_t child = Start([](Account& account) {
    (void)account.Charge(100);
    (void)account.LockForTest();
    account.ledger_for_test()->entries[account.entry()].used += 700;  // and not the total
    (void)raise(SIGKILL);
  });
  (void)Wait(child);
  ASSERT_NE(ledger().header.lock, 0U);
  EXPECT_EQ(mine_.Charge(kLimit), Account::kCharged);
  EXPECT_EQ(mine_.Used(), kLimit);
}

TEST_F(AccountTest, SurvivesKillsAtRandomMoments) {
  std::mt19937 random(7);
  for (int turn = 0; turn < 60; ++turn) {
    std::vector<pid_t> children;
    children.reserve(4);
    for (int number = 0; number < 4; ++number) {
      children.push_back(Start([](Account& account) {
        for (;;) {
          if (account.Charge(3) == Account::kCharged) {
            account.GiveBack(3);
          }
        }
      }));
    }
    // Our own turns decide the moment, not the clock.
    for (uint32_t own = random() % 3000; own > 0; --own) {
      if (mine_.Charge(1) == Account::kCharged) {
        mine_.GiveBack(1);
      }
    }
    for (const pid_t child : children) {
      (void)kill(child, SIGKILL);
      (void)Wait(child);
    }
    ASSERT_EQ(mine_.Used(), 0U) << turn;
  }
  EXPECT_EQ(ledger().header.repaired, 0U);
}

TEST_F(AccountTest, SharesAmongSixtyFourThreads) {
  std::vector<std::thread> threads;
  threads.reserve(64);
  std::atomic<uint64_t> charged = 0;
  for (int number = 0; number < 64; ++number) {
    threads.emplace_back([&] {
      for (int turn = 0; turn < 100; ++turn) {
        charged += mine_.Charge(1) == Account::kCharged ? 1 : 0;
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  EXPECT_EQ(charged, kLimit);
  EXPECT_EQ(mine_.Used(), kLimit);
}

TEST_F(AccountTest, PutsACorruptLedgerInOrder) {
  ASSERT_EQ(mine_.Charge(300), Account::kCharged);
  testing::internal::CaptureStderr();
  for (size_t at = 0; at < sizeof(Ledger); ++at) {
    reinterpret_cast<volatile unsigned char*>(&ledger())[at] = 0xa5;
  }
  ledger().header.lock = 0;
  EXPECT_EQ(mine_.Charge(700), Account::kCharged);
  EXPECT_EQ(mine_.Charge(1), Account::kOverLimit);
  EXPECT_EQ(mine_.Used(), kLimit);
  EXPECT_THAT(testing::internal::GetCapturedStderr(), testing::HasSubstr("put in order"));
}

TEST_F(AccountTest, DoesNotTrustATotalThatWasWrittenByHand) {
  ASSERT_EQ(mine_.Charge(800), Account::kCharged);
  ledger().header.total = 0;
  EXPECT_EQ(mine_.Charge(300), Account::kOverLimit);
  ledger().header.total = UINT64_MAX;
  EXPECT_EQ(mine_.Charge(200), Account::kCharged);
}

TEST_F(AccountTest, DropsEntriesOfEarlierContainers) {
  ledger().entries[5] = {
      .is_used = 1, .pid = 1, .pid_namespace = 4, .start_time = 9, .used = 900, .spare = {}};
  ledger().header.scanned = 6;
  ledger().header.total = 900;
  EXPECT_EQ(mine_.Charge(kLimit), Account::kCharged);
}

TEST_F(AccountTest, KeepsAProcessThatClosedItsDescriptors) {
  int ready[2];
  int done[2];
  ASSERT_EQ(pipe2(ready, O_CLOEXEC), 0);
  ASSERT_EQ(pipe2(done, O_CLOEXEC), 0);
  const pid_t child = Start([&](Account& account) {
    (void)account.Charge(600);
    for (int descriptor = 3; descriptor < 1000; ++descriptor) {
      if (descriptor != ready[1] && descriptor != done[0]) {
        (void)close(descriptor);
      }
    }
    char letter = 'x';
    (void)!write(ready[1], &letter, 1);
    (void)!read(done[0], &letter, 1);
  });
  char letter = 0;
  ASSERT_EQ(read(ready[0], &letter, 1), 1);
  EXPECT_EQ(mine_.Charge(500), Account::kOverLimit);
  EXPECT_EQ(mine_.Used(), 600U);
  ASSERT_EQ(write(done[1], &letter, 1), 1);
  EXPECT_EQ(Wait(child), 0);
  EXPECT_EQ(mine_.Used(), 0U);
}

TEST_F(AccountTest, ForgetsAProcessThatCalledExec) {
  int charged[2];
  int done[2];
  ASSERT_EQ(pipe2(charged, O_CLOEXEC), 0);
  ASSERT_EQ(pipe2(done, O_CLOEXEC), 0);
  ASSERT_EQ(mine_.Charge(100), Account::kCharged);
  const pid_t child = Start([&](Account& account) {
    (void)account.Charge(600);
    (void)!write(charged[1], "x", 1);
    (void)dup2(done[0], STDIN_FILENO);
    (void)close(done[0]);
    (void)close(done[1]);
    execl("/bin/cat", "cat", nullptr);
  });
  (void)close(charged[1]);
  (void)close(done[0]);
  char letter = 0;
  ASSERT_EQ(read(charged[0], &letter, 1), 1);
  EXPECT_EQ(read(charged[0], &letter, 1), 0);  // closed by the exec
  while (mine_.Used() != 100) {
    sched_yield();  // the descriptor of the ledger is closed in the same moment, but after that one
  }
  EXPECT_EQ(mine_.Charge(900), Account::kCharged);
  (void)close(done[1]);
  EXPECT_EQ(Wait(child), 0);
}

TEST_F(AccountTest, OffersLastAsLongAsTheirProcess) {
  mine_.Offer(77, 10);
  EXPECT_FALSE(mine_.IsOffered(77));  // ours are not others'
  const pid_t child = Start([](Account& account) {
    const bool has_mine = account.IsOffered(77);
    account.Offer(78, 10);
    _exit(has_mine ? 0 : 2);
  });
  EXPECT_EQ(Wait(child), 0);
  EXPECT_FALSE(mine_.IsOffered(78));
  mine_.Withdraw(77);
  EXPECT_EQ(ledger().exports[0].name, 0U);
}

TEST_F(AccountTest, CountsEqualOffers) {
  mine_.Offer(76, 10);
  mine_.Offer(77, 10);
  mine_.Withdraw(76);
  mine_.Offer(77, 10);  // not in the place that is free
  EXPECT_EQ(ledger().exports[0].name, 0U);
  mine_.Withdraw(77);
  EXPECT_EQ(ledger().exports[1].name, 77U);
  mine_.Withdraw(77);
  EXPECT_EQ(ledger().exports[1].name, 0U);
}

TEST_F(AccountTest, DropsOffersOfWhoeverHadItsEntry) {
  const pid_t child = Start([](Account& account) { account.Offer(78, 10); });
  EXPECT_EQ(Wait(child), 0);
  ledger().entries[1].is_used = 0;  // and nobody has looked at the offers
  Account other{};
  ASSERT_EQ(other.Open(path_.c_str(), kLimit), nullptr);
  EXPECT_EQ(other.entry(), 1U);
  EXPECT_FALSE(mine_.IsOffered(78));
  other.Close();
}

TEST_F(AccountTest, HasRoomForAThousandProcessesOneAfterTheOther) {
  for (int number = 0; number < 1000; ++number) {
    const pid_t child = Start([](Account& account) {
      (void)account.Charge(kLimit);
      (void)raise(SIGKILL);
    });
    (void)Wait(child);
  }
  EXPECT_EQ(mine_.Used(), 0U);
  EXPECT_LE(ledger().header.scanned, kLedgerEntries);
}

TEST_F(AccountTest, RefusesAnEntryTooMany) {
  int descriptor = OpenFile(path_.c_str(), 2);
  for (uint32_t entry = 0; entry < kLedgerEntries; ++entry) {
    (void)LockByte(descriptor, offsetof(Ledger, entries) + entry * sizeof(LedgerEntry));
  }
  Account other{};
  EXPECT_STREQ(other.Open(path_.c_str(), kLimit),
               "has an entry for each of 1,024 processes already: end some");
  EXPECT_FALSE(other.is_open());
  CloseFile(descriptor);
}

// Killed with the lock, before its entry said so; whoever comes next gets the same entry.
TEST(AccountFileTest, OpensALedgerThatWasLockedByAnEntryWithoutAMark) {
  for (const uint32_t word : {1U, 1U | kLockIsAwaited}) {
    const TempDir folder;
    Ledger ledger{};
    ledger.header.lock = word;
    folder.WriteFile("ledger", std::string(reinterpret_cast<const char*>(&ledger), sizeof(ledger)));
    Account account{};
    EXPECT_EQ(account.Open(folder.At("ledger").c_str(), kLimit), nullptr);
    EXPECT_EQ(account.entry(), 0U);
    EXPECT_EQ(account.Charge(kLimit), Account::kCharged);
    account.Close();
  }
}

TEST(AccountFileTest, FailsWithoutAFile) {
  const TempDir folder;
  Account account{};
  EXPECT_NE(account.Open(folder.At("missing").c_str(), kLimit), nullptr);
  EXPECT_FALSE(account.is_open());
}

}  // namespace
}  // namespace kgpu::preload
