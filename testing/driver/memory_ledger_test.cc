#include "testing/driver/memory_ledger.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include <memory>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "testing/driver/faults.h"
#include "testing/driver/mig.h"
#include "testing/driver/sample_state.h"
#include "testing/status_matchers.h"

namespace kgpu::sim {
namespace {

constexpr uint64_t kGiB = uint64_t{1} << 30;
constexpr pid_t kPid = 4242;
constexpr pid_t kOtherPid = 4243;

class MemoryLedgerTest : public ::testing::Test {
 protected:
  MemoryReply Ask(int client, pid_t pid, MemoryRequest request) {
    request.incarnation = state_->gpus[request.slot].incarnation;
    return ledger_.Apply(*state_, client, pid, request, fd_);
  }
  uint32_t Do(int client, pid_t pid, MemoryOperation operation, uint64_t bytes) {
    MemoryRequest request = Request(operation, bytes);
    return Ask(client, pid, request).result;
  }
  static MemoryRequest Request(MemoryOperation operation, uint64_t bytes) {
    MemoryRequest request = {};
    request.operation = operation;
    request.bytes = bytes;
    request.gpu_instance = kUnsupported;
    request.compute_instance = kUnsupported;
    return request;
  }
  static MemoryRequest AttachTo(const MemoryReply& object) {
    MemoryRequest request = Request(kAttach, 0);
    request.object = object.object;
    request.key = object.key;
    return request;
  }
  // What the GPU's list says of a process; 0: not in it.
  uint64_t Used(pid_t pid) const {
    uint64_t used = 0;
    for (const SimProcess& process : state_->gpus[0].processes) {
      used += process.pid == static_cast<uint32_t>(pid) ? process.used_bytes : 0;
    }
    return used;
  }
  uint64_t Free() const { return SpaceOf(state_->gpus[0], kUnsupported).free; }

  std::unique_ptr<SimState> state_ = SampleState(2);
  int fd_ = -1;
  std::set<uint32_t> entries_;
  int process_changes_ = 0;
  MemoryLedger ledger_{{.on_entry = [this](uint32_t, uint32_t index) { entries_.insert(index); },
                        .on_processes = [this] { ++process_changes_; },
                        .name_of = [](pid_t pid) { return "/bin/" + std::to_string(pid); }}};
};

TEST_F(MemoryLedgerTest, ChargesAndRefundsAProcess) {
  const uint64_t before = Free();
  EXPECT_EQ(Do(1, kPid, kCharge, kGiB), kMemoryDone);
  EXPECT_EQ(Do(1, kPid, kCharge, kGiB), kMemoryDone);
  EXPECT_EQ(Used(kPid), 2 * kGiB);
  EXPECT_EQ(Free(), before - 2 * kGiB);
  EXPECT_STREQ(state_->gpus[0].processes[0].name, "/bin/4242");
  EXPECT_EQ(Do(1, kPid, kRefund, 2 * kGiB), kMemoryDone);
  EXPECT_EQ(Free(), before);
  EXPECT_EQ(state_->gpus[0].processes[0].pid, 0U) << "in no list without memory";
  EXPECT_EQ(process_changes_, 2) << "it came, it went";
  EXPECT_THAT(entries_, ::testing::ElementsAre(0U));
}

TEST_F(MemoryLedgerTest, GivesNoMoreThanTheGpuHas) {
  const uint64_t all = Free();
  EXPECT_EQ(Do(1, kPid, kCharge, all), kMemoryDone);
  EXPECT_EQ(Do(2, kOtherPid, kCharge, 1), kMemoryExhausted);
  EXPECT_EQ(Used(kOtherPid), 0U);
  EXPECT_EQ(Do(1, kPid, kCharge, ~uint64_t{0}), kMemoryExhausted) << "no sum wraps";
  EXPECT_EQ(Do(1, kPid, kRefund, 1), kMemoryDone);
  EXPECT_EQ(Do(2, kOtherPid, kCharge, 1), kMemoryDone);
}

TEST_F(MemoryLedgerTest, RefundsNoMoreThanWasCharged) {
  EXPECT_EQ(Do(1, kPid, kCharge, 5), kMemoryDone);
  EXPECT_EQ(Do(1, kPid, kRefund, 6), kMemoryInvalid);
  EXPECT_EQ(Do(2, kPid, kRefund, 1), kMemoryInvalid) << "another connection's";
  EXPECT_EQ(Used(kPid), 5U);
}

TEST_F(MemoryLedgerTest, CountsTheMadeUpProcessesToo) {
  ASSERT_OK(AddProcess(*state_, 0,
                       {.pid = 7,
                        .kind = kCompute,
                        .used_bytes = 70 * kGiB,
                        .gpu_instance = kUnsupported,
                        .compute_instance = kUnsupported,
                        .sm_util = 0,
                        .mem_util = 0,
                        .enc_util = 0,
                        .dec_util = 0,
                        .name = {},
                        .is_client = 0}));
  EXPECT_EQ(Do(1, kPid, kCharge, 10 * kGiB), kMemoryExhausted);
  EXPECT_EQ(Do(1, 7, kCharge, 9 * kGiB), kMemoryDone);
  EXPECT_EQ(Used(7), 79 * kGiB) << "both entries";
}

TEST_F(MemoryLedgerTest, ShowsTwoConnectionsOfAProcessAsOne) {
  EXPECT_EQ(Do(1, kPid, kCharge, 3), kMemoryDone);
  EXPECT_EQ(Do(2, kPid, kCharge, 4), kMemoryDone);
  EXPECT_EQ(state_->gpus[0].processes[0].used_bytes, 7U);
  EXPECT_EQ(state_->gpus[0].processes[1].pid, 0U);
  ledger_.Drop(*state_, 1);
  EXPECT_EQ(Used(kPid), 4U);
  ledger_.Drop(*state_, 2);
  EXPECT_EQ(Used(kPid), 0U);
}

TEST_F(MemoryLedgerTest, AnObjectCountsOnceAndOutlivesItsMaker) {
  const MemoryReply made = Ask(1, kPid, Request(kMakeObject, kGiB));
  ASSERT_EQ(made.result, kMemoryDone);
  EXPECT_EQ(lseek(fd_, 0, SEEK_END), static_cast<off_t>(kGiB));
  const MemoryReply attached = Ask(2, kOtherPid, AttachTo(made));
  ASSERT_EQ(attached.result, kMemoryDone);
  EXPECT_EQ(attached.bytes, kGiB);
  EXPECT_EQ(Used(kPid), kGiB);
  EXPECT_EQ(Used(kOtherPid), 0U);
  ledger_.Drop(*state_, 1);
  EXPECT_EQ(Used(kPid), 0U);
  EXPECT_EQ(Used(kOtherPid), kGiB) << "now it is the other's";
  MemoryRequest detach = Request(kDetach, 0);
  detach.object = made.object;
  EXPECT_EQ(Ask(2, kOtherPid, detach).result, kMemoryDone);
  EXPECT_EQ(Used(kOtherPid), 0U);
  EXPECT_EQ(ledger_.object_count(), 0U);
  EXPECT_EQ(Ask(2, kOtherPid, AttachTo(made)).result, kMemoryNoObject);
}

TEST_F(MemoryLedgerTest, MovesChargedBytesToAnObject) {
  EXPECT_EQ(Do(1, kPid, kMoveToObject, kGiB), kMemoryInvalid) << "nothing is charged";
  EXPECT_EQ(Do(1, kPid, kCharge, 3 * kGiB), kMemoryDone);
  EXPECT_EQ(Do(1, kPid, kMoveToObject, kGiB), kMemoryDone);
  EXPECT_EQ(Used(kPid), 3 * kGiB);
  EXPECT_EQ(Do(1, kPid, kRefund, 3 * kGiB), kMemoryInvalid);
  EXPECT_EQ(Do(1, kPid, kRefund, 2 * kGiB), kMemoryDone);
  EXPECT_EQ(Used(kPid), kGiB);
}

TEST_F(MemoryLedgerTest, AnObjectNeedsItsKey) {
  const MemoryReply made = Ask(1, kPid, Request(kMakeObject, 4096));
  MemoryRequest wrong = AttachTo(made);
  ++wrong.key;
  EXPECT_EQ(Ask(2, kOtherPid, wrong).result, kMemoryNoObject);
}

TEST_F(MemoryLedgerTest, HasABoundOnObjects) {
  for (size_t i = 0; i < MemoryLedger::kMaxObjects; ++i) {
    ASSERT_EQ(Do(1, kPid, kMakeObject, 4096), kMemoryDone);
  }
  EXPECT_EQ(Do(1, kPid, kMakeObject, 4096), kMemoryTooMany);
  EXPECT_EQ(Used(kPid), MemoryLedger::kMaxObjects * 4096) << "the last one is not charged";
}

TEST_F(MemoryLedgerTest, HasABoundOnProcessesOfAGpu) {
  for (uint32_t i = 0; i < kMaxProcesses; ++i) {
    ASSERT_EQ(Do(static_cast<int>(i), 100 + static_cast<pid_t>(i), kCharge, 1), kMemoryDone);
  }
  EXPECT_EQ(Do(999, 999, kCharge, 1), kMemoryExhausted);
  EXPECT_FALSE(ledger_.Has(999)) << "nothing is left of it";
  ledger_.Drop(*state_, 0);
  EXPECT_EQ(Do(999, 999, kCharge, 1), kMemoryDone);
}

TEST_F(MemoryLedgerTest, AGpuInstanceHasMemoryOfItsOwn) {
  ASSERT_OK(SetMigMode(*state_, 0, true));
  ASSERT_OK(Heal(*state_, 0));
  const auto gi = MigCreate(*state_, 0, "1g.10gb");
  ASSERT_OK(gi);
  EXPECT_EQ(Do(1, kPid, kCharge, 1), kMemoryNoGpu) << "a GPU in MIG mode is no device";
  MemoryRequest request = Request(kCharge, 9 * kGiB);
  request.gpu_instance = *gi;
  request.compute_instance = 0;
  EXPECT_EQ(Ask(1, kPid, request).result, kMemoryDone);
  EXPECT_EQ(Ask(1, kPid, request).result, kMemoryExhausted);
  request.operation = kAskSpace;
  const MemoryReply space = Ask(1, kPid, request);
  EXPECT_EQ(space.total, uint64_t{9856} << 20);
  EXPECT_EQ(space.free, space.total - 9 * kGiB);
}

TEST_F(MemoryLedgerTest, ARemovedGpuTakesItsMemoryWithIt) {
  EXPECT_EQ(Do(1, kPid, kCharge, kGiB), kMemoryDone);
  ++state_->gpus[0].incarnation;
  ledger_.Show(*state_);
  EXPECT_EQ(Used(kPid), 0U) << "another GPU in the same slot";
}

// Whatever clients do, the lists add up, nothing exceeds the GPU, and nothing is left in the end.
TEST_F(MemoryLedgerTest, AddsUpWhateverClientsDo) {
  const uint64_t before = Free();
  std::mt19937_64 random(20261126);  // NOLINT(cert-msc51-cpp): the same every time
  std::vector<MemoryReply> objects;
  for (int step = 0; step < 20000; ++step) {
    const int client = static_cast<int>(random() % 8);
    const pid_t pid = 100 + client / 2;  // two connections each
    const auto operation = static_cast<MemoryOperation>(random() % 9);
    if (operation == 8) {
      ledger_.Drop(*state_, client);
      continue;
    }
    MemoryRequest request = Request(operation, random() % (12 * kGiB));
    if (!objects.empty()) {
      const MemoryReply& object = objects[random() % objects.size()];
      request.object = object.object;
      request.key = object.key;
    }
    const MemoryReply reply = Ask(client, pid, request);
    if (reply.result == kMemoryDone && (operation == kMakeObject || operation == kMoveToObject)) {
      objects.push_back(reply);
    }
    uint64_t used = 0;
    for (const SimProcess& process : state_->gpus[0].processes) {
      used += process.used_bytes;
      ASSERT_EQ(process.used_bytes == 0, process.pid == 0);
    }
    ASSERT_EQ(used, before - Free()) << step;
  }
  for (int client = 0; client < 8; ++client) {
    ledger_.Drop(*state_, client);
  }
  EXPECT_EQ(Free(), before);
  EXPECT_EQ(ledger_.object_count(), 0U);
}

TEST_F(MemoryLedgerTest, ShowsItselfInAnotherState) {
  EXPECT_EQ(Do(1, kPid, kCharge, kGiB), kMemoryDone);
  auto stale = SampleState(2);
  stale->gpus[1].processes[3].pid = 77;
  stale->gpus[1].processes[3].is_client = 1;
  state_ = std::move(stale);
  ledger_.Show(*state_);
  EXPECT_EQ(Used(kPid), kGiB);
  EXPECT_EQ(state_->gpus[1].processes[3].pid, 0U) << "of an earlier server";
}

}  // namespace
}  // namespace kgpu::sim
