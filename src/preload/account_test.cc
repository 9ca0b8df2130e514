// One ledger, and processes that come, go and are killed.
#include "src/preload/account.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
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

// A child that has charged and offered 10 bytes under the name 78, until `end` is called.
class Maker {
 public:
  explicit Maker(const std::function<pid_t(const std::function<void(Account&)>&)>& start) {
    EXPECT_EQ(pipe2(ready_, O_CLOEXEC), 0);
    EXPECT_EQ(pipe2(go_on_, O_CLOEXEC), 0);
    child_ = start([this](Account& account) {
      (void)account.Charge(10);
      account.Offer(78, 10);
      for (char letter = 'x';
           write(ready_[1], &letter, 1) == 1 && read(go_on_[0], &letter, 1) == 1;) {
        account.Withdraw(78);
        account.GiveBack(10);
      }
    });
    Await();
  }
  void Release() {
    EXPECT_EQ(write(go_on_[1], "x", 1), 1);
    Await();
  }
  void Kill() {
    (void)kill(child_, SIGKILL);
    EXPECT_EQ(waitpid(child_, nullptr, 0), child_);
  }

 private:
  void Await() {
    char letter = 0;
    EXPECT_EQ(read(ready_[0], &letter, 1), 1);
  }

  int ready_[2] = {};
  int go_on_[2] = {};
  pid_t child_ = 0;
};

class AccountShareTest : public AccountTest {
 protected:
  Maker Make() {
    return Maker([this](const std::function<void(Account&)>& work) { return Start(work); });
  }
};

TEST_F(AccountShareTest, WhatALiveProcessOffersCostsNothing) {
  Maker maker = Make();
  EXPECT_FALSE(mine_.Claim(77)) << "nobody offers it";
  EXPECT_TRUE(mine_.Claim(78));
  EXPECT_TRUE(mine_.Claim(78));
  EXPECT_EQ(mine_.Used(), 10U);
  mine_.Unclaim(78);
  mine_.Unclaim(78);
  EXPECT_EQ(mine_.Used(), 10U) << "its maker has it still";
  maker.Kill();
  EXPECT_EQ(mine_.Used(), 0U);
  EXPECT_FALSE(mine_.Claim(78));
  EXPECT_EQ(ledger().header.repaired, 0U);
}

TEST_F(AccountShareTest, WhoHasItPaysWhenItsMakerIsKilled) {
  Maker maker = Make();
  ASSERT_TRUE(mine_.Claim(78));
  maker.Kill();
  EXPECT_EQ(mine_.Charge(kLimit - 9), Account::kOverLimit);
  EXPECT_EQ(mine_.Charge(kLimit - 10), Account::kCharged);
  EXPECT_EQ(mine_.Used(), kLimit);
  mine_.Unclaim(78);
  EXPECT_EQ(ledger().header.total, kLimit - 10);
  EXPECT_EQ(mine_.Used(), kLimit - 10);
}

TEST_F(AccountShareTest, WhoHasItPaysWhenItsMakerReleasesIt) {
  Maker maker = Make();
  ASSERT_TRUE(mine_.Claim(78));
  maker.Release();
  EXPECT_EQ(ledger().header.total, 10U) << "at once";
  EXPECT_EQ(mine_.Used(), 10U);
  EXPECT_FALSE(mine_.Claim(78)) << "who opens it now pays for itself";
  mine_.Unclaim(78);
  EXPECT_EQ(ledger().header.total, 0U);
  maker.Kill();
}

// Two have it: it counts once, until both are gone.
TEST_F(AccountShareTest, TheLastOneInheritsIt) {
  Maker maker = Make();
  ASSERT_TRUE(mine_.Claim(78));
  int ready[2];
  ASSERT_EQ(pipe2(ready, O_CLOEXEC), 0);
  const pid_t other = Start([&](Account& account) {
    (void)!write(ready[1], account.Claim(78) ? "y" : "n", 1);
    pause();
  });
  char letter = 0;
  ASSERT_EQ(read(ready[0], &letter, 1), 1);
  ASSERT_EQ(letter, 'y');
  maker.Kill();
  EXPECT_EQ(mine_.Used(), 10U);
  mine_.Unclaim(78);
  EXPECT_EQ(mine_.Used(), 10U) << "the other one has it";
  (void)kill(other, SIGKILL);
  (void)Wait(other);
  EXPECT_EQ(mine_.Used(), 0U);
}

// A driver may use a handle again.
TEST_F(AccountShareTest, ANameOfMemoryThatLivesOnIsNotOfferedAgain) {
  Maker maker = Make();
  ASSERT_TRUE(mine_.Claim(78));
  maker.Kill();
  Maker next = Make();
  EXPECT_FALSE(mine_.Claim(78)) << "it is other memory";
  EXPECT_EQ(mine_.Used(), 20U);
  next.Kill();
  mine_.Unclaim(78);
}

TEST_F(AccountShareTest, ALedgerThatWasOverwrittenGetsClaimsAgain) {
  Maker maker = Make();
  ASSERT_TRUE(mine_.Claim(78));
  maker.Kill();
  EXPECT_EQ(mine_.Used(), 10U);
  testing::internal::CaptureStderr();
  for (size_t at = 0; at < sizeof(Ledger); ++at) {
    reinterpret_cast<volatile unsigned char*>(&ledger())[at] = 0xa5;
  }
  ledger().header.lock = 0;
  EXPECT_EQ(mine_.Charge(kLimit - 9), Account::kOverLimit);
  EXPECT_EQ(mine_.Used(), 10U);
  // A claim of ours that is none.
  ledger().shares[5] = {.name = 5, .size = 500, .entry = 0, .is_claim = 1, .uses = 1};
  ledger().header.shares = 6;
  EXPECT_EQ(mine_.Used(), 10U);
  EXPECT_THAT(testing::internal::GetCapturedStderr(), testing::HasSubstr("put in order"));
}

TEST_F(AccountShareTest, WithoutRoomWhoOpensItPays) {
  for (uint32_t name = 1; name <= kLedgerShares; ++name) {
    mine_.Offer(name, 1);
  }
  EXPECT_FALSE(mine_.Claim(1)) << "no room for the claim";
  mine_.Offer(kLedgerShares + 1, 1);
  EXPECT_FALSE(mine_.Claim(kLedgerShares + 1)) << "there was none for the offer";
  mine_.Withdraw(5);
  EXPECT_TRUE(mine_.Claim(1));
  EXPECT_EQ(mine_.Used(), 0U) << "who offers has charged it";
}

TEST_F(AccountTest, CountsEqualOffers) {
  mine_.Offer(76, 10);
  mine_.Offer(77, 10);
  mine_.Withdraw(76);
  mine_.Offer(77, 10);  // not in the place that is free
  EXPECT_EQ(ledger().shares[0].name, 0U);
  mine_.Withdraw(77);
  EXPECT_EQ(ledger().shares[1].name, 77U);
  mine_.Withdraw(77);
  EXPECT_EQ(ledger().shares[1].name, 0U);
}

TEST_F(AccountTest, DropsOffersOfWhoeverHadItsEntry) {
  const pid_t child = Start([](Account& account) { account.Offer(78, 10); });
  EXPECT_EQ(Wait(child), 0);
  ledger().entries[1].is_used = 0;  // and nobody has looked at the offers
  Account other{};
  ASSERT_EQ(other.Open(path_.c_str(), kLimit), nullptr);
  EXPECT_EQ(other.entry(), 1U);
  EXPECT_FALSE(mine_.Claim(78));
  other.Close();
}

// It would end by SIGBUS otherwise.
TEST_F(AccountTest, ALedgerThatWasCutShortIsBroken) {
  ASSERT_EQ(mine_.Charge(100), Account::kCharged);
  ASSERT_EQ(mine_.Charge(50), Account::kCharged);
  testing::internal::CaptureStderr();
  for (const off_t size : {0, 4096, static_cast<int>(kLedgerSize) - 1}) {
    ASSERT_EQ(truncate(path_.c_str(), size), 0);
    EXPECT_EQ(mine_.Charge(1), Account::kBroken);
    EXPECT_EQ(mine_.Used(), kLimit);
    mine_.Offer(1, 1);
    mine_.Withdraw(1);
    EXPECT_FALSE(mine_.Claim(1));
    mine_.NoteWait(1);
  }
  mine_.GiveBack(50);
  mine_.ChargeAnyway(7);
  // The agent makes it whole again.
  ASSERT_EQ(truncate(path_.c_str(), kLedgerSize), 0);
  EXPECT_EQ(mine_.Used(), 107U) << "what was given back meanwhile, too";
  EXPECT_EQ(mine_.Charge(kLimit - 107), Account::kCharged);
  const std::string text = testing::internal::GetCapturedStderr();
  EXPECT_EQ(text.find("cut short"), text.rfind("cut short")) << text;
  EXPECT_THAT(text, testing::HasSubstr("the ledger was cut short"));
}

// The program has closed our descriptor, and has a file of its own by that number.
TEST_F(AccountTest, AnotherFileByItsDescriptorsNumberIsNotTheLedger) {
  const pid_t child = Start([&](Account& account) {
    for (int descriptor = 3; descriptor < 100; ++descriptor) {
      (void)close(descriptor);
    }
    while (open("/dev/null", O_RDWR) < 20) {  // NOLINT(android-cloexec-open): for this process
    }
    const bool works = account.Charge(1) == Account::kCharged;
    (void)truncate(path_.c_str(), 0);
    _exit(works && account.Charge(1) == Account::kBroken ? 0 : 2);
  });
  const int status = Wait(child);
  EXPECT_TRUE(WIFEXITED(status));  // Linux before 5.14 cannot tell
  EXPECT_EQ(WEXITSTATUS(status), 0);
  (void)truncate(path_.c_str(), kLedgerSize);
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
  int error = 0;
  EXPECT_STREQ(account.Open(folder.At("missing").c_str(), kLimit, &error), "cannot be opened");
  EXPECT_EQ(error, ENOENT);
  EXPECT_FALSE(account.is_open());
}

// Of the library before an upgrade: 71,808 bytes, with entries of processes that are gone.
TEST(AccountFileTest, TakesALedgerOfTheFormerVersion) {
  const TempDir folder;
  Ledger ledger{};
  ledger.header.magic = kLedgerMagic;
  ledger.header.version = 1;
  ledger.header.scanned = 3;
  ledger.header.total = 900;
  ledger.header.refused = 4;
  ledger.entries[2] = {
      .is_used = 1, .pid = 1, .pid_namespace = 4, .start_time = 9, .used = 900, .spare = {}};
  memset(static_cast<void*>(&ledger.shares), 0x5a, sizeof(ledger.shares));  // offers, once
  folder.WriteFile("ledger", std::string(reinterpret_cast<const char*>(&ledger), 71808));
  testing::internal::CaptureStderr();
  Account account{};
  EXPECT_EQ(account.Open(folder.At("ledger").c_str(), kLimit), nullptr);
  EXPECT_EQ(account.Charge(kLimit), Account::kCharged);
  EXPECT_EQ(account.ledger_for_test()->header.version, kLedgerVersion);
  EXPECT_EQ(account.ledger_for_test()->header.refused, 4U) << "figures of the container stay";
  EXPECT_EQ(account.ledger_for_test()->header.repaired, 0U);
  account.Close();
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

}  // namespace
}  // namespace kgpu::preload
