#include "src/node/slices/slice_files.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstring>
#include <filesystem>

#include "src/node/sharing/memory/memory.h"
#include "src/node/slices/gate_files.h"
#include "src/platform/base/unique_fd.h"
#include "src/preload/gate.h"
#include "testing/elf_library.h"
#include "testing/status_matchers.h"
#include "testing/temp_dir.h"

namespace kgpu::slices {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class SliceFilesTest : public ::testing::Test {
 protected:
  SliceFilesTest() { dir_.WriteFile("libkgpu-share.so", ElfLibrary("first")); }

  SliceFilesOptions Options() const {
    return {.library = dir_.At("libkgpu-share.so"),
            .folder = dir_.At("lib/kgpu/share"),
            .engine_folder = "/var/lib/kgpu/share"};
  }
  std::string Read(std::string_view name) const {
    return dir_.ReadFile(fmt::format("lib/kgpu/share/{}", name));
  }
  std::string At(std::string_view name) const {
    return dir_.At(fmt::format("lib/kgpu/share/{}", name));
  }
  static SliceSlot Slot(std::string_view id, uint64_t gibi = 20) {
    return {.id = std::string(id),
            .device_uuid = "GPU-a",
            .memory = GibiBytes(gibi),
            .share = {.by = &sharing::kMemory}};
  }

  TempDir dir_;
};

TEST_F(SliceFilesTest, WritesWhatContainersGet) {
  const auto paths = WriteSliceFiles(Options(), {Slot("GPU-a::0"), Slot("GPU-a::1")});
  ASSERT_OK(paths);
  EXPECT_EQ(paths->folder, "/var/lib/kgpu/share");
  EXPECT_EQ(Read("libkgpu-share.so"), ElfLibrary("first"));
  EXPECT_EQ(Read("ld.so.preload"), "/usr/lib/kgpu/libkgpu-share.so\n");
  EXPECT_EQ(Read("GPU-a_1.limits"),
            "version 1\ndevice GPU-a\nmemory 21474836480\ncontext 335544320\npinned 0\n"
            "unknown refuse\n");
  struct stat info = {};
  ASSERT_EQ(stat(At("GPU-a_1.ledger").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777, 0666U);
  EXPECT_EQ(static_cast<size_t>(info.st_size), kLedgerBytes);
  EXPECT_GE(static_cast<size_t>(info.st_blocks) * 512, kLedgerBytes) << "no holes";
}

TEST_F(SliceFilesTest, AShareOfTheTimeComesWithAGate) {
  SliceSlot slot = Slot("GPU-a::1");
  slot.compute = 25;
  slot.compute_before = 50;
  ASSERT_OK(WriteSliceFiles(Options(), {Slot("GPU-a::0"), slot}));
  EXPECT_THAT(Read("GPU-a_1.limits"), HasSubstr("\ncompute 25\n"));
  EXPECT_FALSE(std::filesystem::exists(At("GPU-a_0.gate")));
  preload::Gate gate{};
  const std::string bytes = Read("GPU-a_1.gate");
  ASSERT_EQ(bytes.size(), preload::kGateSize);
  memcpy(static_cast<void*>(&gate), bytes.data(), sizeof(gate));
  EXPECT_EQ(gate.magic, preload::kGateMagic);
  EXPECT_TRUE(preload::IsFullyOpen(gate.word));
  EXPECT_EQ(preload::UnpackTurn(gate.fixed), (preload::GateTurn{.open = 2500, .start = 5000}));
  struct stat info = {};
  ASSERT_EQ(stat(At("GPU-a_1.gate").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777, 0644U);
}

// Containers have it mapped: what they see is the file that was mounted.
TEST_F(SliceFilesTest, AGateStaysTheSameFile) {
  SliceSlot slot = Slot("GPU-a::1");
  slot.compute = 25;
  ASSERT_OK(WriteSliceFiles(Options(), {slot}));
  std::filesystem::create_hard_link(At("GPU-a_1.gate"), dir_.At("mapped"));
  ASSERT_OK(WriteSliceFiles(Options(), {slot}));
  EXPECT_TRUE(std::filesystem::equivalent(At("GPU-a_1.gate"), dir_.At("mapped")));
  // Rubbish is no gate.
  dir_.WriteFile("lib/kgpu/share/GPU-a_1.gate", "rubbish");
  ASSERT_OK(WriteSliceFiles(Options(), {slot}));
  EXPECT_EQ(Read("GPU-a_1.gate").size(), preload::kGateSize);
}

// A container can take leases on its files, which make others wait, or fail. Source: fcntl(2).
TEST_F(SliceFilesTest, ALeaseOfAContainerStopsNobody) {
  (void)signal(SIGIO, SIG_IGN);  // "somebody opens it"
  SliceSlot slot = Slot("GPU-a::1");
  slot.compute = 25;
  ASSERT_OK(WriteSliceFiles(Options(), {slot}));
  std::filesystem::create_hard_link(At("GPU-a_1.gate"), dir_.At("mapped"));
  const UniqueFd gate(open(At("GPU-a_1.gate").c_str(), O_RDONLY | O_CLOEXEC));
  const UniqueFd ledger(open(At("GPU-a_1.ledger").c_str(), O_RDONLY | O_CLOEXEC));
  for (const int lease : {F_RDLCK, F_WRLCK}) {
    if (fcntl(gate.get(), F_SETLEASE, lease) != 0 || fcntl(ledger.get(), F_SETLEASE, lease) != 0) {
      GTEST_SKIP() << "this file system has no leases";
    }
    EXPECT_OK(WriteSliceFiles(Options(), {slot, Slot("GPU-a::2")}));
    EXPECT_THAT(WriteGates(Options().folder, {{"GPU-a::1", 1}}), Not(IsOk()));
    EXPECT_TRUE(std::filesystem::equivalent(At("GPU-a_1.gate"), dir_.At("mapped")));
    EXPECT_EQ(Read("GPU-a_2.ledger").size(), kLedgerBytes);
    (void)fcntl(gate.get(), F_SETLEASE, F_UNLCK);
    (void)fcntl(ledger.get(), F_SETLEASE, F_UNLCK);
  }
  EXPECT_OK(WriteGates(Options().folder, {{"GPU-a::1", 1}}));
}

TEST_F(SliceFilesTest, AGateIsWrittenInPlace) {
  SliceSlot slot = Slot("GPU-a::1");
  slot.compute = 25;
  ASSERT_OK(WriteSliceFiles(Options(), {slot}));
  std::filesystem::create_hard_link(At("GPU-a_1.gate"), dir_.At("mapped"));
  const uint64_t word = preload::PackTurn({.open = 100, .start = 7, .every = 2, .beat = 3});
  ASSERT_OK(WriteGates(Options().folder, {{"GPU-a::1", word}}));
  preload::Gate gate{};
  const std::string bytes = dir_.ReadFile("mapped");
  ASSERT_EQ(bytes.size(), preload::kGateSize);
  memcpy(static_cast<void*>(&gate), bytes.data(), sizeof(gate));
  EXPECT_EQ(gate.word, word);
  EXPECT_EQ(gate.magic, preload::kGateMagic);
  // What is missing keeps the others from nothing.
  const uint64_t open = preload::PackTurn({});
  EXPECT_THAT(WriteGates(Options().folder, {{"GPU-b::1", open}, {"GPU-a::1", open}}),
              StatusIs(StatusCode::kNotFound, HasSubstr("GPU-b_1.gate")));
  EXPECT_NE(dir_.ReadFile("mapped"), bytes);
}

TEST_F(SliceFilesTest, SharesOfADeviceFollowEachOther) {
  pools::Resource resource{.name = "r", .slots = {}, .share = {}};
  for (unsigned replica = 0; replica < 3; ++replica) {
    resource.slots.push_back({.id = fmt::format("GPU-a::{}", replica),
                              .device_uuid = "GPU-a",
                              .gpu = {},
                              .replica = replica,
                              .health = {},
                              .numa_node = {},
                              .memory = GibiBytes(20),
                              .compute = 20 + replica});
  }
  const std::vector<SliceSlot> slots =
      SlicesOf({.resources = {resource}, .local = {}, .unassigned = {}, .notes = {}});
  ASSERT_EQ(slots.size(), 3U);
  EXPECT_EQ(slots[0].compute_before, 0U);
  EXPECT_EQ(slots[2].compute, 22U);
  EXPECT_EQ(slots[2].compute_before, 41U);
}

TEST_F(SliceFilesTest, ANewLibraryReplacesTheOldOneAndLeavesTheLedgers) {
  ASSERT_OK(WriteSliceFiles(Options(), {Slot("GPU-a::0")}));
  // As a container has it mounted.
  std::filesystem::create_hard_link(At("libkgpu-share.so"), dir_.At("mounted"));
  dir_.WriteFile("lib/kgpu/share/GPU-a_0.ledger", std::string(kLedgerBytes, 'x'));
  dir_.WriteFile("libkgpu-share.so", ElfLibrary("second"));
  ASSERT_OK(WriteSliceFiles(Options(), {Slot("GPU-a::0", 10)}));
  EXPECT_EQ(dir_.ReadFile("mounted"), ElfLibrary("first"));
  EXPECT_EQ(Read("libkgpu-share.so"), ElfLibrary("second"));
  EXPECT_EQ(Read("GPU-a_0.ledger"), std::string(kLedgerBytes, 'x'));
  EXPECT_THAT(Read("GPU-a_0.limits"), HasSubstr("memory 10737418240\n"));
}

TEST_F(SliceFilesTest, ALedgerThatAContainerMadeLongerIsCut) {
  ASSERT_OK(WriteSliceFiles(Options(), {Slot("GPU-a::0")}));
  dir_.WriteFile("lib/kgpu/share/GPU-a_0.ledger", std::string(10 * kLedgerBytes, 'x'));
  ASSERT_OK(WriteSliceFiles(Options(), {Slot("GPU-a::0")}));
  EXPECT_EQ(Read("GPU-a_0.ledger"), std::string(kLedgerBytes, 'x'));
}

// What containerd makes where it finds no file for a mount.
TEST_F(SliceFilesTest, ReplacesFoldersThatAnEngineMade) {
  for (const char* name : {"ld.so.preload", "GPU-a_0.limits", "GPU-a_0.ledger"}) {
    dir_.MakeDir(fmt::format("lib/kgpu/share/{}", name));
  }
  dir_.WriteFile("lib/kgpu/share/GPU-a_0.ledger/of a container", "x");
  ASSERT_OK(WriteSliceFiles(Options(), {Slot("GPU-a::0")}));
  EXPECT_THAT(Read("GPU-a_0.limits"), HasSubstr("version 1"));
  EXPECT_EQ(Read("GPU-a_0.ledger").size(), kLedgerBytes);
}

TEST_F(SliceFilesTest, KeepsABoundedNumberOfOldFiles) {
  SliceFilesOptions options = Options();
  options.most_kept = 3;
  for (int i = 0; i < 20; ++i) {
    ASSERT_OK(WriteSliceFiles(options, {Slot(fmt::format("MIG-{}::0", i))}));
  }
  const std::filesystem::directory_iterator entries(At(""));
  // Library, list, limits and ledger of the newest, and three old ones.
  EXPECT_EQ(std::distance(begin(entries), end(entries)), 4 + 3);
  EXPECT_THAT(Read("MIG-19_0.limits"), HasSubstr("version 1"));
  EXPECT_EQ(Read("libkgpu-share.so"), ElfLibrary("first"));
  EXPECT_NE(Read("ld.so.preload"), "");
}

// By default those of 64 slots: a small disk has other uses.
TEST_F(SliceFilesTest, FilesOfSlotsThatAreGoneTakeFewMebibytes) {
  std::vector<SliceSlot> slots;
  for (int i = 0; i < 300; ++i) {
    slots.push_back(Slot(fmt::format("GPU-a::{}", i)));
  }
  ASSERT_OK(WriteSliceFiles(Options(), slots));
  ASSERT_OK(WriteSliceFiles(Options(), {Slot("GPU-b::0")}));
  uintmax_t bytes = 0;
  for (const auto& entry : std::filesystem::directory_iterator(At(""))) {
    bytes += entry.file_size();
  }
  EXPECT_LT(bytes, uintmax_t{20} << 20);
  EXPECT_EQ(Read("GPU-b_0.ledger").size(), kLedgerBytes);
}

// An act of a former tenant on its ledger, by the path or by a descriptor that it still holds.
struct TenantAct {
  const char* name;
  void (*act)(const std::string& path, int file);
};

class FormerTenantTest : public SliceFilesTest, public ::testing::WithParamInterface<TenantAct> {
 protected:
  static constexpr char kName[] = "GPU-a_0.ledger";
  void ExpectAFreshLedger() const {
    EXPECT_EQ(Read(kName), std::string(kLedgerBytes, '\0'));
    struct stat info = {};
    ASSERT_EQ(stat(At(kName).c_str(), &info), 0);
    EXPECT_EQ(info.st_mode & 07777, 0666U);
    EXPECT_GE(static_cast<size_t>(info.st_blocks) * 512, kLedgerBytes) << "no holes";
    const UniqueFd file(open(At(kName).c_str(), O_RDWR | O_CLOEXEC));
    struct flock lock = {};
    lock.l_type = F_WRLCK;
    EXPECT_EQ(fcntl(file.get(), F_OFD_SETLK, &lock), 0) << "no lock of anybody";
  }
};

TEST_P(FormerTenantTest, LeavesNothingToTheNextOne) {
  ASSERT_OK(WriteSliceFiles(Options(), {Slot("GPU-a::0"), Slot("GPU-a::1")}));
  const std::string neighbour = At("GPU-a_1.ledger");
  std::filesystem::create_hard_link(neighbour, dir_.At("neighbour"));
  const UniqueFd file(open(At(kName).c_str(), O_RDWR | O_CLOEXEC));
  GetParam().act(At(kName), file.get());
  const std::vector<std::string> ids = {"GPU-a::0"};
  ASSERT_OK(RenewLedgers(Options(), ids));
  ExpectAFreshLedger();
  GetParam().act(dir_.At("gone"), file.get());  // with what it holds, once the next one is there
  ExpectAFreshLedger();
  EXPECT_TRUE(std::filesystem::equivalent(neighbour, dir_.At("neighbour"))) << "another tenant's";
  // A container that starts again, and the pass of each minute, keep it.
  std::filesystem::create_hard_link(At(kName), dir_.At("mounted"));
  ASSERT_OK(WriteSliceFiles(Options(), {Slot("GPU-a::0"), Slot("GPU-a::1")}));
  EXPECT_TRUE(std::filesystem::equivalent(At(kName), dir_.At("mounted")));
}

INSTANTIATE_TEST_SUITE_P(
    Acts, FormerTenantTest,
    ::testing::Values(
        TenantAct{"Truncates",
                  [](const std::string&, int file) { EXPECT_EQ(ftruncate(file, 0), 0); }},
        TenantAct{"Lengthens",
                  [](const std::string&, int file) { EXPECT_EQ(ftruncate(file, 50 << 20), 0); }},
        TenantAct{"Chmods", [](const std::string&, int file) { EXPECT_EQ(fchmod(file, 0), 0); }},
        TenantAct{"Locks",
                  [](const std::string&, int file) {
                    struct flock lock = {};
                    lock.l_type = F_WRLCK;
                    EXPECT_EQ(fcntl(file, F_OFD_SETLK, &lock), 0);
                  }},
        TenantAct{"Overwrites",
                  [](const std::string&, int file) {
                    const std::string text(kLedgerBytes, 'x');
                    EXPECT_EQ(pwrite(file, text.data(), text.size(), 0),
                              static_cast<ssize_t>(text.size()));
                  }},
        TenantAct{"Removes", [](const std::string& path, int) { (void)unlink(path.c_str()); }}),
    [](const auto& act) { return std::string(act.param.name); });

TEST_F(SliceFilesTest, NewTenantsGetNewLedgersWithTheOtherFiles) {
  ASSERT_OK(WriteSliceFiles(Options(), {Slot("GPU-a::0"), Slot("GPU-a::1")}));
  std::filesystem::create_hard_link(At("GPU-a_0.ledger"), dir_.At("of-0"));
  std::filesystem::create_hard_link(At("GPU-a_1.ledger"), dir_.At("of-1"));
  ASSERT_OK(WriteSliceFiles(Options(), {Slot("GPU-a::0"), Slot("GPU-a::1")}, {"GPU-a::1"}));
  EXPECT_TRUE(std::filesystem::equivalent(At("GPU-a_0.ledger"), dir_.At("of-0")));
  EXPECT_FALSE(std::filesystem::equivalent(At("GPU-a_1.ledger"), dir_.At("of-1")));
}

TEST_F(SliceFilesTest, ALedgerThatCannotBeRenewedIsAnErrorAndLeavesNoFile) {
  ASSERT_OK(WriteSliceFiles(Options(), {Slot("GPU-a::0")}));
  SliceFilesOptions options = Options();
  options.folder = dir_.At("elsewhere");
  const std::vector<std::string> ids = {"GPU-a::0"};
  EXPECT_THAT(RenewLedgers(options, ids), StatusIs(StatusCode::kNotFound));
  // As an agent that was killed has left it; and a folder that an engine has made.
  dir_.WriteFile("lib/kgpu/share/.GPU-a_0.ledger.new", "x");
  std::filesystem::remove(At("GPU-a_0.ledger"));
  dir_.MakeDir("lib/kgpu/share/GPU-a_0.ledger/x");
  ASSERT_OK(RenewLedgers(Options(), ids));
  EXPECT_EQ(Read("GPU-a_0.ledger").size(), kLedgerBytes);
  EXPECT_FALSE(std::filesystem::exists(At(".GPU-a_0.ledger.new")));
}

// Before an upgrade, ledgers were shorter.
TEST_F(SliceFilesTest, ALedgerOfTheFormerVersionIsMadeLonger) {
  ASSERT_OK(WriteSliceFiles(Options(), {Slot("GPU-a::0")}));
  dir_.WriteFile("lib/kgpu/share/GPU-a_0.ledger", std::string(71'808, 'x'));
  std::filesystem::create_hard_link(At("GPU-a_0.ledger"), dir_.At("mapped"));
  ASSERT_OK(WriteSliceFiles(Options(), {Slot("GPU-a::0")}));
  EXPECT_EQ(dir_.ReadFile("mapped").size(), kLedgerBytes) << "the same file";
  EXPECT_EQ(dir_.ReadFile("mapped").substr(0, 71'808), std::string(71'808, 'x'));
}

TEST_F(SliceFilesTest, WithSelinuxFilesHaveTheLabelOfContainers) {
  SliceFilesOptions options = Options();
  options.has_selinux = true;
  const auto written = WriteSliceFiles(options, {Slot("GPU-a::0")});
  if (geteuid() != 0 || !written.ok()) {
    EXPECT_THAT(Message(written.status()), HasSubstr("container_file_t")) << "no limit, no files";
    return;
  }
  for (const char* name :
       {"libkgpu-share.so", "ld.so.preload", "GPU-a_0.limits", "GPU-a_0.ledger"}) {
    std::array<char, 256> label{};
    EXPECT_GT(lgetxattr(At(name).c_str(), "security.selinux", label.data(), label.size()), 0);
    EXPECT_STREQ(label.data(), "system_u:object_r:container_file_t:s0") << name;
  }
}

TEST_F(SliceFilesTest, SaysWhyThereAreNone) {
  SliceFilesOptions options = Options();
  options.library = "";
  EXPECT_THAT(
      WriteSliceFiles(options, {Slot("GPU-a::0")}),
      StatusIs(StatusCode::kNotFound, HasSubstr("libkgpu-share.so is missing in ../lib/kgpu")));
  dir_.WriteFile("half.so", ElfLibrary("code").substr(0, 100));
  options.library = dir_.At("half.so");
  EXPECT_THAT(WriteSliceFiles(options, {Slot("GPU-a::0")}),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("half.so")));
  EXPECT_FALSE(std::filesystem::exists(At("libkgpu-share.so"))) << "no container gets it";
  options.library = dir_.At("none.so");
  EXPECT_THAT(WriteSliceFiles(options, {Slot("GPU-a::0")}),
              StatusIs(StatusCode::kNotFound, HasSubstr("none.so")));
}

}  // namespace
}  // namespace kgpu::slices
