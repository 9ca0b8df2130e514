#include "src/node/slices/compute_shares.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <utility>

#include "src/node/pools/test_node.h"
#include "src/node/slices/slice_files.h"
#include "src/preload/gate.h"
#include "src/preload/ledger.h"
#include "testing/elf_library.h"
#include "testing/status_matchers.h"
#include "testing/temp_dir.h"

namespace kgpu::slices {
namespace {

using pools::TestGpuName;
using preload::GateTurn;
using preload::kGateParts;
using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::IsEmpty;

// Two GPUs with slices of 20 GiB and a quarter of the time each; pods a and b are on the first.
class ComputeSharesTest : public ::testing::Test {
 protected:
  ComputeSharesTest() : snapshot_(pools::TestNode(2)) {
    for (device::Gpu& gpu : snapshot_.gpus) {
      gpu.usable_memory = GibiBytes(79);
      samples_.gpus.emplace_back().uuid = gpu.uuid;
    }
    Configure("compute: 25");
    Hold("a", 0);
    Hold("b", 1);
    shares_.SetAssignment(assignment_, held_);
  }
  void Configure(std::string_view compute) {
    assignment_ = pools::AssignDevices(
        snapshot_,
        pools::TestConfig(fmt::format(
            "pools:\n- devices: all\n  share: {{by: memory, size: 20Gi, {}}}\n", compute)));
    folder_.WriteFile("libkgpu-share.so", ElfLibrary("x"));
    ASSERT_OK(slices::WriteSliceFiles({.library = folder_.At("libkgpu-share.so"),
                                       .folder = folder_.At("share"),
                                       .engine_folder = "/share"},
                                      slices::SlicesOf(assignment_)));
  }
  void Hold(std::string_view pod, unsigned slot) {
    pods_.devices.push_back(
        {.resource = "nvidia.com/gpu-20gi", .device_id = Slot(slot), .user = User(pod)});
  }
  static pods::Container User(std::string_view pod) {
    return {.pod_namespace = "n", .pod = std::string(pod), .container = "c"};
  }
  static std::string Slot(unsigned slot) { return fmt::format("{}::{}", TestGpuName(0), slot); }
  void Run(uint32_t pid, std::string_view pod, std::optional<double> sm) {
    pods_.processes[pid] = User(pod);
    device::ProcessSample& process = samples_.gpus[0].processes.emplace_back();
    process.pid = pid;
    process.memory = GibiBytes(3);
    process.sm = sm;
  }
  void Round(std::optional<double> of_a, std::optional<double> of_b) {
    samples_.gpus[0].processes.clear();
    Run(10, "a", of_a);
    Run(11, "b", of_b);
    Round();
  }
  void Round() {
    now_ += seconds(1);
    shares_.OnSample({.assignment = assignment_,
                      .held = held_,
                      .snapshot = snapshot_,
                      .samples = samples_,
                      .pods = pods_},
                     list_, now_);
  }
  std::string FileOf(unsigned slot, std::string_view name) const {
    return fmt::format("share/{}", sharing::FileOfSlot(Slot(slot), name));
  }
  GateTurn Gate(unsigned slot) const {
    preload::Gate gate{};
    const std::string bytes = folder_.ReadFile(FileOf(slot, sharing::kGateName));
    EXPECT_EQ(bytes.size(), sizeof(gate));
    memcpy(static_cast<void*>(&gate), bytes.data(), std::min(bytes.size(), sizeof(gate)));
    return preload::UnpackTurn(gate.word);
  }
  void WriteLedger(unsigned slot, uint64_t refused, uint64_t waited_ns) const {
    preload::LedgerHeader header{};
    header.magic = preload::kLedgerMagic;
    header.version = preload::kLedgerVersion;
    header.refused = refused;
    header.waited = waited_ns;
    folder_.WriteFile(FileOf(slot, sharing::kLedgerName),
                      {reinterpret_cast<const char*>(&header), sizeof(header)});
  }

  TempDir folder_;
  device::Snapshot snapshot_;
  pools::Assignment assignment_;
  pools::Assignment held_;
  pods::ListState list_;
  device::SampleSet samples_;
  pods::PodMap pods_;
  SteadyTime now_{};
  unsigned paced_ = 0;
  ComputeShares shares_{pods::AtOnce(), folder_.At("share"), [this] { ++paced_; }};
};

TEST_F(ComputeSharesTest, GatesCloseWhileTwoAreBusy) {
  Round(90, 0);
  EXPECT_EQ(Gate(0).open, kGateParts);
  EXPECT_EQ(Gate(1).open, kGateParts);
  Round(50, 50);
  EXPECT_EQ(Gate(0).open, 5000U);
  EXPECT_EQ(Gate(1).open, 5000U);
  EXPECT_NE(Gate(0).start, Gate(1).start) << "neighbours do not meet";
  EXPECT_EQ(Gate(2).open, kGateParts) << "nobody has it";
  const uint32_t beat = Gate(0).beat;
  Round(50, 50);
  EXPECT_NE(Gate(0).beat, beat) << "it says that it lives";
  for (int round = 0; round < 4; ++round) {
    Round(100, 0);
  }
  EXPECT_EQ(Gate(0).open, kGateParts);
}

// What an agent that was killed has left behind.
TEST_F(ComputeSharesTest, AGateThatWasLeftClosedIsOpened) {
  const uint64_t word = preload::PackTurn({.open = 5, .start = 5, .every = 9});
  ASSERT_OK(slices::WriteGates(folder_.At("share"), {{Slot(0), word}, {Slot(2), word}}));
  Round();
  EXPECT_EQ(Gate(0).open, kGateParts);
  EXPECT_EQ(Gate(2).open, kGateParts);
}

// Until the kubelet has said who has the slots, gates stay as they are: the fixed parts hold.
TEST_F(ComputeSharesTest, WhoHasTheSlotsMustBeKnown) {
  const uint64_t word = preload::PackTurn({.open = 5, .start = 5, .every = 9});
  ASSERT_OK(slices::WriteGates(folder_.At("share"), {{Slot(0), word}}));
  pods::PodMap known = std::exchange(pods_, {});
  pods_.problem = "the kubelet has not answered yet";
  Round();
  EXPECT_EQ(Gate(0).open, 5U);
  pods_ = known;
  Round();
  EXPECT_EQ(Gate(0).open, kGateParts);
}

// The last pod has ended, and something else does not work, such as the runtime.
TEST_F(ComputeSharesTest, AProblemElsewhereKeepsNoFigures) {
  list_.asked = now_;
  Round(50, 50);
  EXPECT_EQ(shares_.figures()->size(), 2U);
  pods_ = {};
  pods_.problem = "the runtime does not answer";
  Round();
  EXPECT_THAT(*shares_.figures(), IsEmpty());
}

// A full disk, or a folder that somebody has removed.
TEST_F(ComputeSharesTest, GatesThatCannotBeWrittenAreWrittenLater) {
  std::filesystem::remove(folder_.At(FileOf(1, sharing::kGateName)));
  Round(50, 50);
  Round(50, 50);
  Configure("compute: 25");  // as the slices' publisher does every minute
  EXPECT_EQ(Gate(1).open, kGateParts);
  Round(50, 50);
  EXPECT_EQ(Gate(1).open, 5000U);
}

TEST_F(ComputeSharesTest, MeasuresFasterOnlyWhileItMatters) {
  EXPECT_EQ(shares_.pace(), seconds(15)) << "before the first round, so that there is one";
  Round();
  EXPECT_EQ(shares_.pace(), seconds(15));
  Round(0, 0);
  EXPECT_EQ(shares_.pace(), seconds(5));
  Round(30, 0);
  EXPECT_EQ(shares_.pace(), seconds(1));
  const unsigned paced = paced_;
  Round(30, 30);
  EXPECT_EQ(paced_, paced) << "says nothing where nothing has changed";
  pods_.devices.clear();
  Round(30, 30);
  EXPECT_EQ(shares_.pace(), seconds(15));
}

TEST_F(ComputeSharesTest, WithoutSharesItNeedsAndWritesNothing) {
  Configure("pinned: false");
  ComputeShares shares{pods::AtOnce(), folder_.At("share"), [] { FAIL(); }};
  shares.SetAssignment(assignment_, held_);
  Run(10, "a", 50);
  Run(11, "b", 50);
  shares.OnSample({.assignment = assignment_,
                   .held = held_,
                   .snapshot = snapshot_,
                   .samples = samples_,
                   .pods = pods_},
                  list_, now_);
  EXPECT_EQ(shares.pace(), std::nullopt);
  EXPECT_EQ(shares.figures()->size(), 2U);
  EXPECT_EQ((*shares.figures())[0].compute_share, std::nullopt);
  EXPECT_EQ((*shares.figures())[0].memory_limit, GibiBytes(20));
}

// The driver's samples are older than the last round: nothing was measured.
TEST_F(ComputeSharesTest, NoSampleIsNoUse) {
  for (int round = 0; round < 6; ++round) {
    samples_.gpus[0].utilization.gpu = 97;
    Round(0, 0);
  }
  EXPECT_EQ(Gate(0).open, 5000U) << "busy, as far as anybody knows";
  samples_.gpus[0].utilization.gpu = 0;
  for (int round = 0; round < 4; ++round) {
    Round(0, 0);
  }
  EXPECT_EQ(Gate(0).open, kGateParts);
}

// Rounds come as often as samples do, and so some find none: who was idle has not become busy.
TEST_F(ComputeSharesTest, ARoundWithoutSamplesChangesNothingThatIsKnown) {
  for (int round = 0; round < 4; ++round) {
    Round(90, 0);
  }
  for (int round = 0; round < 6; ++round) {
    samples_.gpus[0].utilization.gpu = 97;
    Round(0, 0);
    EXPECT_EQ(Gate(0).open, kGateParts);
    Round(90, 0);
    EXPECT_EQ(Gate(0).open, kGateParts);
  }
  // Whoever was busy stays so.
  Round(50, 50);
  Round(0, 0);
  EXPECT_EQ(Gate(0).open, 5000U);
}

// Until the last quiet round has opened the gates again: they are stale after 5 s.
TEST_F(ComputeSharesTest, GatesThatAreClosedAreWrittenEverySecond) {
  Round(50, 50);
  Round(0, 0);
  EXPECT_LT(Gate(0).open, kGateParts);
  EXPECT_EQ(shares_.pace(), seconds(1));
  for (int round = 0; round < 3; ++round) {
    Round(0, 0);
  }
  EXPECT_EQ(Gate(0).open, kGateParts);
  EXPECT_EQ(shares_.pace(), seconds(5));
}

// It says that its container waits, and then nothing more.
TEST_F(ComputeSharesTest, ALedgerThatCannotBeReadAnyMoreWaitsForNothing) {
  Round(0, 0);
  for (const uint64_t waited : {0ULL, 900'000'000ULL}) {
    WriteLedger(0, 0, waited);
    Round(0, 0);
  }
  EXPECT_EQ(shares_.pace(), seconds(1));
  folder_.WriteFile(FileOf(0, sharing::kLedgerName), "rubbish");
  for (int round = 0; round < 6; ++round) {
    Round(0, 0);
  }
  EXPECT_EQ(shares_.pace(), seconds(5));
}

TEST_F(ComputeSharesTest, FiguresCountFromWhenTheContainerCame) {
  WriteLedger(0, 7, 90'000'000'000);
  Round(50, 50);
  Round(50, 50);
  WriteLedger(0, 9, 90'500'000'000);
  Round(60, 40);
  Round(60, 40);
  const telemetry::SliceFigures& a = shares_.figures()->front();
  EXPECT_EQ(a.user.pod, "a");
  EXPECT_EQ(a.refused, 2);
  EXPECT_EQ(a.waited_seconds, 0.5);
  EXPECT_EQ(a.memory_peak, GibiBytes(3));
  EXPECT_EQ(a.compute_share, 25);
  EXPECT_EQ(a.compute_target, 50);
  EXPECT_NEAR(a.compute_error.value_or(0), 10, 1e-9);
  // Another container on the same slot starts from nothing: it gets a new ledger.
  pods_.devices[0].user.pod = "z";
  WriteLedger(0, 0, 0);
  Round(50, 50);
  Round(50, 50);
  for (const telemetry::SliceFigures& figures : *shares_.figures()) {
    if (figures.user.pod == "z") {
      EXPECT_EQ(figures.refused, 0);
    }
  }
}

// A program that runs out of memory at once has been refused before the agent looks.
TEST_F(ComputeSharesTest, FiguresCountWhatWasRefusedBeforeTheFirstLook) {
  Round(0, 0);
  WriteLedger(2, 5, 0);
  Hold("z", 2);
  Round(0, 0);
  Round(0, 0);
  const auto& figures = *shares_.figures();
  const auto z = std::ranges::find_if(
      figures, [](const telemetry::SliceFigures& of) { return of.user.pod == "z"; });
  ASSERT_NE(z, figures.end());
  EXPECT_EQ(z->refused, 5);
}

TEST_F(ComputeSharesTest, ALedgerOfRubbishClaimsNothing) {
  folder_.WriteFile(FileOf(0, sharing::kLedgerName), std::string(200, '\xff'));
  Round(50, 50);
  Round(50, 50);
  EXPECT_EQ(shares_.figures()->front().refused, std::nullopt);
  // Counters that jump back begin once more.
  WriteLedger(0, 100, 100);
  Round(50, 50);
  WriteLedger(0, 3, 3);
  Round(50, 50);
  Round(50, 50);
  EXPECT_EQ(shares_.figures()->front().refused, 0);
  EXPECT_EQ(shares_.figures()->front().waited_seconds, 0);
}

}  // namespace
}  // namespace kgpu::slices
