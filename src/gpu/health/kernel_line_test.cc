#include "src/gpu/health/kernel_line.h"

#include <gmock/gmock.h>

#include <string>

namespace kgpu::health {
namespace {

TEST(KernelMessageTest, IsWhatFollowsTheRecordsFront) {
  EXPECT_EQ(KernelMessage("4,1071,8042771,-;NVRM: hello\n SUBSYSTEM=pci\n"), "NVRM: hello");
  EXPECT_EQ(KernelMessage("6,1,2,-,caller=T1;x"), "x");
  EXPECT_EQ(KernelMessage("3,1,2,-;"), "");
}

TEST(KernelMessageTest, RecordsOfProgramsAreNotBelieved) {
  EXPECT_EQ(KernelMessage("12,1071,8042771,-;NVRM: Xid (PCI:0000:07:00): 79, x"), std::nullopt);
  EXPECT_EQ(KernelMessage("30,5,6,-;systemd[1]: x"), std::nullopt);
}

TEST(KernelMessageTest, WhatIsNoRecordIsNothing) {
  for (const char* record : {"", "x", " SUBSYSTEM=pci", "4", "4,", "4,1,2,-", "-1,1,2,-;x"}) {
    EXPECT_EQ(KernelMessage(record), std::nullopt) << record;
  }
}

TEST(RecordNumberTest, IsTheSecondOfTheFront) {
  EXPECT_EQ(RecordNumber("4,1071,8042771,-;NVRM: hello"), 1071U);
  EXPECT_EQ(RecordNumber("30,5,6,-;systemd[1]: x"), 5U);
  for (const char* record : {"", "4", "4,", "4,x", " SUBSYSTEM=pci", "4,99999999999999999999999"}) {
    EXPECT_EQ(RecordNumber(record), std::nullopt) << record;
  }
}

struct XidCase {
  const char* message;
  const char* pci;
  uint64_t xid;
  std::optional<unsigned> gpu_instance{};
  std::optional<unsigned> compute_instance{};
  std::optional<uint32_t> pid{};
  const char* text = "";
};

TEST(ParseKernelMessageTest, ReadsEveryFormOfAnXid) {
  const XidCase cases[] = {
      {.message = "NVRM: Xid (PCI:0000:07:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen "
                  "off the bus.",
       .pci = "0000:07:00.0",
       .xid = 79,
       .text = "pid='<unknown>', name=<unknown>, GPU has fallen off the bus."},
      {.message = "NVRM: Xid (PCI:0000:00:05): 43, pid=1045242, name=python3, Ch 00000008",
       .pci = "0000:00:05.0",
       .xid = 43,
       .pid = 1045242,
       .text = "pid=1045242, name=python3, Ch 00000008"},
      {.message = "NVRM: Xid (PCI:0009:01:00): 154, GPU recovery action changed from 0x0 (None) to "
                  "0x4 (Drain and Reset)",
       .pci = "0009:01:00.0",
       .xid = 154,
       .text = "GPU recovery action changed from 0x0 (None) to 0x4 (Drain and Reset)"},
      {.message = "NVRM: Xid (PCI:0000:c1:00 GPU-I:05): 94, pid=7, name=a, Contained",
       .pci = "0000:c1:00.0",
       .xid = 94,
       .gpu_instance = 5,
       .pid = 7,
       .text = "pid=7, name=a, Contained"},
      {.message = "NVRM: Xid (PCI:0000:C1:00 GPU-I:13 GPU-CI:02): 31, pid=8, name=b, MMU",
       .pci = "0000:c1:00.0",
       .xid = 31,
       .gpu_instance = 13,
       .compute_instance = 2,
       .pid = 8,
       .text = "pid=8, name=b, MMU"},
      {.message = "NVRM: Xid (0000:03:00): 14, Channel 00000001",
       .pci = "0000:03:00.0",
       .xid = 14,
       .text = "Channel 00000001"},
      {.message = "NVRM: Xid (PCI:0000:03:00.0): 48, An uncorrectable double bit error",
       .pci = "0000:03:00.0",
       .xid = 48,
       .text = "An uncorrectable double bit error"},
      {.message = "NVRM: Xid (PCI:00010000:03:1f new words): 62, x",
       .pci = "10000:03:1f.0",
       .xid = 62,
       .text = "x"},
      {.message = "NVRM: Xid (PCI:0000:03:00): 61", .pci = "0000:03:00.0", .xid = 61},
  };
  for (const XidCase& expected : cases) {
    const auto fault = ParseKernelMessage(expected.message);
    ASSERT_TRUE(fault.has_value()) << expected.message;
    EXPECT_EQ(fault->word, KernelWord::kXid);
    EXPECT_EQ(fault->pci.str(), expected.pci);
    EXPECT_EQ(fault->code, expected.xid);
    EXPECT_EQ(fault->gpu_instance, expected.gpu_instance) << expected.message;
    EXPECT_EQ(fault->compute_instance, expected.compute_instance) << expected.message;
    EXPECT_EQ(fault->pid, expected.pid) << expected.message;
    EXPECT_EQ(fault->text, expected.text);
  }
}

TEST(ParseKernelMessageTest, ReadsThatAGpuIsLost) {
  for (const char* message :
       {"NVRM: GPU 0000:29:00.0: GPU has fallen off the bus.",
        "NVRM: GPU at PCI:0000:29:00.0 has fallen off the bus",
        "NVRM: The NVIDIA GPU 0000:29:00.0\\x0aNVRM: (PCI ID: 10de:2901) installed in this system "
        "has\\x0aNVRM: fallen off the bus and is not responding to commands."}) {
    const auto fault = ParseKernelMessage(message);
    ASSERT_TRUE(fault.has_value()) << message;
    EXPECT_EQ(fault->word, KernelWord::kLost);
    EXPECT_EQ(fault->pci.str(), "0000:29:00.0");
  }
}

TEST(ParseKernelMessageTest, ReadsTheFaultsOfSwitches) {
  const auto fatal = ParseKernelMessage(
      "nvidia-nvswitch3: SXid (PCI:0000:c8:00.0): 24007, Fatal, Link 44 sourcetrack timeout error");
  ASSERT_TRUE(fatal.has_value());
  EXPECT_EQ(fatal->word, KernelWord::kSwitchFatal);
  EXPECT_EQ(fatal->code, 24007U);
  const auto error = ParseKernelMessage(
      "nvidia-nvswitch0: SXid (PCI:0000:c1:00.0): 12028, Non-fatal, Link 32 egress error (First)");
  ASSERT_TRUE(error.has_value());
  EXPECT_EQ(error->word, KernelWord::kSwitchError);
  EXPECT_EQ(error->text, "Non-fatal, Link 32 egress error (First)");
}

// As NVIDIA's guide to the Fabric Manager shows them.
TEST(ParseKernelMessageTest, OfTheLinesOfASwitchErrorOnlyTheGraveWordCounts) {
  EXPECT_TRUE(ParseKernelMessage("nvidia-nvswitch3: SXid (PCI:0000:c1:00.0): 28006, Non-fatal, "
                                 "Link 46 MC TS crumbstore MCTO (First)")
                  .has_value());
  for (const char* message :
       {"nvidia-nvswitch3: SXid (PCI:0000:c1:00.0): 28006, Severity 0 Engine instance 46 "
        "Sub-engine instance 00",
        "nvidia-nvswitch3: SXid (PCI:0000:c1:00.0): 28006, Data {0x00140004, 0x00100000, "
        "0x00140004, 0x00000000, 0x00000000, 0x00000000, 0x00000000, 0x00000000}"}) {
    EXPECT_FALSE(ParseKernelMessage(message).has_value()) << message;
  }
}

TEST(ParseKernelMessageTest, TellsFatalErrorsOfNvLink5FromOthers) {
  struct Case {
    const char* message;
    bool is_fatal;
  };
  const Case cases[] = {
      {"NVRM: Xid (PCI:0018:01:00): 149, NETIR_LINK_EVT  Fatal   XC0 i0 Link 09 (0x004505c6 0x0)",
       true},
      {"NVRM: Xid (PCI:0018:01:00): 145, RLW_CTRL        Nonfatal XC0 i0 Link 09 (0x004505c6 0x0)",
       false},
      {"NVRM: Xid (PCI:0018:01:00): 145, pid='<unknown>', name=<unknown>, RLW_REMAP Fatal XC0",
       true},
      {"NVRM: Xid (PCI:0018:01:00): 149, Non-Fatal XC0", false},
      {"NVRM: Xid (PCI:0018:01:00): 79, a Fatal word", false},
  };
  for (const Case& expected : cases) {
    const auto fault = ParseKernelMessage(expected.message);
    ASSERT_TRUE(fault.has_value()) << expected.message;
    EXPECT_EQ(fault->is_fatal, expected.is_fatal) << expected.message;
  }
}

TEST(ParseKernelMessageTest, OtherMessagesAreNothing) {
  for (const char* message :
       {"", "NVRM: ", "NVRM: loading NVIDIA UNIX x86_64 Kernel Module  535.104.05",
        "NVRM: GPU at PCI:0000:00:05: GPU-efbdfde9-5798-a6e7-4c46-12518fa15375",
        "NVRM: Xid (invalid): 79, x", "NVRM: Xid error: xyz", "NVRM: Xid (PCI:0000:03:00): abc",
        "NVRM: Xid (PCI:0000:03:00: 79", "NVRM: Xid (PCI:0000:03:ff): 79, x",
        "said: NVRM: Xid (PCI:0000:03:00): 79, x", "NVRM: fallen off the bus",
        "nvidia-nvswitch: SXid (PCI:0000:c1:00.0): 1, x", "a disk has fallen off the bus"}) {
    EXPECT_FALSE(ParseKernelMessage(message).has_value()) << message;
  }
}

}  // namespace
}  // namespace kgpu::health
