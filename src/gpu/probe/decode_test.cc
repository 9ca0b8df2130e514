#include "src/gpu/probe/decode.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "testing/id_matchers.h"
#include "testing/status_matchers.h"

namespace kgpu::probe {
namespace {

using ::testing::HasSubstr;

template <typename T>
std::span<const std::byte> BytesOf(const T& value) {
  return std::as_bytes(std::span(&value, 1));
}

FrameHeader Header(FrameKind kind, size_t size, uint32_t id = 0) {
  return {.magic = kMagic,
          .version = kProtocolVersion,
          .kind = static_cast<uint16_t>(kind),
          .size = static_cast<uint32_t>(size),
          .id = id};
}

HelloFrame MakeHello() {
  HelloFrame hello{};
  hello.header = Header(FrameKind::kHello, sizeof(hello));
  hello.pid = 4711;
  std::strcpy(hello.build, "0.1.0");
  return hello;
}

GpuPayload MakeGpu() {
  GpuPayload gpu{};
  gpu.minor = 3;
  gpu.pci = {.domain = 0, .bus = 7, .device = 0};
  gpu.pci_device_id = 0x20b210de;
  gpu.brand = nvml::kBrandNvidia;
  gpu.architecture = nvml::kArchAmpere;
  gpu.compute_major = 8;
  gpu.is_ecc_enabled = 1;
  gpu.max_mig_devices = 7;
  gpu.memory_bytes = uint64_t{80} << 30;
  gpu.numa_node = 1;
  std::strcpy(gpu.uuid, "GPU-5d8429f0-1f2e-4c3b-9a54-0123456789ab");
  std::strcpy(gpu.name, "NVIDIA A100-SXM4-80GB");
  return gpu;
}

TEST(DecodeFrameTest, ReadsHello) {
  const HelloFrame hello = MakeHello();
  const auto frame = DecodeFrame(BytesOf(hello));
  ASSERT_OK(frame);
  EXPECT_EQ(std::get<Hello>(*frame).pid, 4711U);
  EXPECT_EQ(std::get<Hello>(*frame).build, "0.1.0");
}

TEST(DecodeFrameTest, ReadsProgress) {
  const FrameHeader progress = Header(FrameKind::kProgress, sizeof(FrameHeader), 12);
  const auto frame = DecodeFrame(BytesOf(progress));
  ASSERT_OK(frame);
  EXPECT_EQ(std::get<Progress>(*frame).id, 12U);
}

TEST(DecodeFrameTest, ReadsAReplyWithoutPayload) {
  ReplyHeader head{};
  head.header = Header(FrameKind::kReply, sizeof(head), 5);
  head.op = static_cast<uint32_t>(Op::kGpu);
  head.result = nvml::kErrorGpuIsLost;
  const auto frame = DecodeFrame(BytesOf(head));
  ASSERT_OK(frame);
  const Reply& reply = std::get<Reply>(*frame);
  EXPECT_EQ(reply.id, 5U);
  EXPECT_EQ(reply.op, Op::kGpu);
  EXPECT_EQ(reply.result, nvml::kErrorGpuIsLost);
  EXPECT_TRUE(reply.payload.empty());
}

TEST(DecodeFrameTest, ReadsAnEvent) {
  EventFrame event{};
  event.header = Header(FrameKind::kEvent, sizeof(event));
  event.type = nvml::kEventXidCritical;
  event.data = 79;
  event.gpu_instance = nvml::kNoInstance;
  event.compute_instance = 2;
  std::strcpy(event.uuid, "GPU-5d8429f0-1f2e-4c3b-9a54-0123456789ab");
  const auto frame = DecodeFrame(BytesOf(event));
  ASSERT_OK(frame);
  const Event& read = std::get<Event>(*frame);
  EXPECT_EQ(read.data, 79U);
  EXPECT_EQ(read.gpu_instance, std::nullopt);
  EXPECT_EQ(read.compute_instance, 2U);
  ASSERT_TRUE(read.uuid.has_value());
}

TEST(DecodeFrameTest, LeavesAnEventWithABadUuidWithoutGpu) {
  EventFrame event{};
  event.header = Header(FrameKind::kEvent, sizeof(event));
  std::strcpy(event.uuid, "nonsense");
  const auto frame = DecodeFrame(BytesOf(event));
  ASSERT_OK(frame);
  EXPECT_EQ(std::get<Event>(*frame).uuid, std::nullopt);
}

TEST(DecodeFrameTest, RejectsWhatIsNoFrame) {
  struct Case {
    std::string wrong;
    void (*spoil)(HelloFrame&);
  };
  for (const Case& c :
       {Case{"magic", [](HelloFrame& f) { f.header.magic = 1; }},
        Case{"version", [](HelloFrame& f) { f.header.version = kProtocolVersion + 1; }},
        Case{"announced", [](HelloFrame& f) { f.header.size = 8; }},
        Case{"kind", [](HelloFrame& f) { f.header.kind = 99; }},
        Case{"kind", [](HelloFrame& f) { f.header.kind = 2; }},
        Case{"progress", [](HelloFrame& f) { f.header.kind = 5; }},
        Case{"event", [](HelloFrame& f) { f.header.kind = 4; }},
        Case{"build is not terminated", [](HelloFrame& f) { std::memset(f.build, 'x', 32); }}}) {
    HelloFrame hello = MakeHello();
    c.spoil(hello);
    EXPECT_THAT(DecodeFrame(BytesOf(hello)),
                StatusIs(StatusCode::kInvalidArgument, HasSubstr(c.wrong)))
        << c.wrong;
  }
}

TEST(DecodeFrameTest, RejectsEveryTruncation) {
  const HelloFrame hello = MakeHello();
  for (size_t size = 0; size < sizeof(hello); ++size) {
    EXPECT_FALSE(DecodeFrame(BytesOf(hello).first(size)).ok()) << size;
  }
  const std::vector<std::byte> huge(kMaxFrameSize + 1);
  EXPECT_FALSE(DecodeFrame(huge).ok());
}

TEST(DecodeFrameTest, RejectsRepliesToUnknownRequestsAndWrongPayloadSizes) {
  ReplyHeader head{};
  head.header = Header(FrameKind::kReply, sizeof(head));
  head.op = kLastOp + 1;
  EXPECT_FALSE(DecodeFrame(BytesOf(head)).ok());
  head.op = 1;
  head.payload_size = 4;
  EXPECT_FALSE(DecodeFrame(BytesOf(head)).ok());
}

TEST(DecodeGpuTest, ReadsEveryField) {
  const auto gpu = DecodeGpu(BytesOf(MakeGpu()));
  ASSERT_OK(gpu);
  EXPECT_THAT(gpu->uuid, Reads("GPU-5d8429f0-1f2e-4c3b-9a54-0123456789ab"));
  EXPECT_EQ(gpu->minor, 3U);
  EXPECT_THAT(gpu->pci, Reads("0000:07:00.0"));
  EXPECT_EQ(gpu->pci_device_id, 0x20b2);
  EXPECT_EQ(gpu->pci_vendor_id, 0x10de);
  EXPECT_EQ(gpu->memory, GibiBytes(80));
  EXPECT_EQ(gpu->is_ecc_enabled, true);
  EXPECT_EQ(gpu->numa_node, 1U);
  EXPECT_EQ(gpu->fault, std::nullopt);
}

TEST(DecodeGpuTest, HasNoValueForAFieldThatFailed) {
  GpuPayload gpu = MakeGpu();
  for (int32_t& result : gpu.results) {
    result = nvml::kErrorNotSupported;
  }
  const auto report = DecodeGpu(BytesOf(gpu));
  ASSERT_OK(report);
  EXPECT_FALSE(report->uuid || report->minor || report->pci || report->memory ||
               report->architecture || report->compute || report->is_ecc_enabled ||
               report->mig_mode || report->numa_node);
  EXPECT_EQ(report->name, "");
  EXPECT_EQ(report->fault, std::nullopt);
}

TEST(DecodeGpuTest, TellsTheFirstFault) {
  GpuPayload gpu = MakeGpu();
  gpu.results[static_cast<uint32_t>(GpuField::kSerial)] = nvml::kErrorNotSupported;
  gpu.results[static_cast<uint32_t>(GpuField::kEcc)] = nvml::kErrorGpuIsLost;
  const auto report = DecodeGpu(BytesOf(gpu));
  ASSERT_OK(report);
  EXPECT_EQ(report->fault, nvml::kErrorGpuIsLost);
}

TEST(DecodeGpuTest, RejectsImpossibleValues) {
  struct Case {
    std::string wrong;
    void (*spoil)(GpuPayload&);
  };
  for (const Case& c : {Case{"UUID", [](GpuPayload& g) { std::strcpy(g.uuid, "GPU-x"); }},
                        Case{"UUID is not terminated",
                             [](GpuPayload& g) { std::memset(g.uuid, 'a', sizeof(g.uuid)); }},
                        Case{"name is not terminated",
                             [](GpuPayload& g) { std::memset(g.name, 'a', sizeof(g.name)); }},
                        Case{"PCI address", [](GpuPayload& g) { g.pci.bus = 256; }},
                        Case{"PCI address", [](GpuPayload& g) { g.pci.device = 32; }},
                        Case{"MIG devices", [](GpuPayload& g) { g.max_mig_devices = 33; }}}) {
    GpuPayload gpu = MakeGpu();
    c.spoil(gpu);
    EXPECT_THAT(DecodeGpu(BytesOf(gpu)), StatusIs(StatusCode::kInvalidArgument, HasSubstr(c.wrong)))
        << c.wrong;
  }
}

TEST(DecodeGpuTest, EscapesWhatNoTerminalShouldSee) {
  GpuPayload gpu = MakeGpu();
  std::strcpy(gpu.name, "\x1b[2Jboo");
  const auto report = DecodeGpu(BytesOf(gpu));
  ASSERT_OK(report);
  EXPECT_EQ(report->name, "\\x1b[2Jboo");
}

TEST(DecodeGpuTest, TakesNoNumaNodeFromMinusOne) {
  GpuPayload gpu = MakeGpu();
  gpu.numa_node = 0xffffffff;
  EXPECT_EQ(DecodeGpu(BytesOf(gpu))->numa_node, std::nullopt);
}

GpuPayload InFabric() {
  GpuPayload gpu = MakeGpu();
  gpu.fabric_state = nvml::kFabricStateCompleted;
  gpu.fabric_status = nvml::kSuccess;
  gpu.fabric_clique = 32766;
  for (uint8_t i = 0; i < 16; ++i) {
    gpu.fabric_cluster[i] = static_cast<uint8_t>(0xa0 + i);
  }
  return gpu;
}

TEST(DecodeGpuTest, ReadsTheFabric) {
  const auto report = DecodeGpu(BytesOf(InFabric()));
  ASSERT_OK(report);
  ASSERT_TRUE(report->fabric.has_value());
  EXPECT_EQ(report->fabric->cluster_uuid, "a0a1a2a3-a4a5-a6a7-a8a9-aaabacadaeaf");
  EXPECT_EQ(report->fabric->clique_id, 32766U);
}

TEST(DecodeGpuTest, NoFabricUntilItIsCompleteAndSpansHosts) {
  GpuPayload starting = InFabric();
  starting.fabric_state = 2;
  GpuPayload failed = InFabric();
  failed.fabric_status = nvml::kErrorUnknown;
  GpuPayload alone = InFabric();
  std::memset(alone.fabric_cluster, 0, sizeof(alone.fabric_cluster));
  GpuPayload silent = InFabric();
  silent.results[static_cast<uint32_t>(GpuField::kFabric)] = nvml::kErrorNotSupported;
  for (const GpuPayload& gpu : {starting, failed, alone, silent}) {
    EXPECT_EQ(DecodeGpu(BytesOf(gpu))->fabric, std::nullopt);
  }
}

TEST(DecodeGpuTest, AFabricThatFailsIsNoFaultOfTheGpu) {
  GpuPayload gpu = InFabric();
  gpu.results[static_cast<uint32_t>(GpuField::kFabric)] = nvml::kErrorUnknown;
  EXPECT_EQ(DecodeGpu(BytesOf(gpu))->fault, std::nullopt);
}

TEST(DecodeNvLinksTest, ReadsUsedEntriesOnly) {
  NvLinkPayload set{};
  set.count = 2;
  set.links[0] = {.link = 1,
                  .is_active = 1,
                  .version = 3,
                  .device_type = nvml::kNvLinkDeviceSwitch,
                  .has_remote = 1,
                  .remote = {.domain = 0, .bus = 0xc0, .device = 0}};
  set.links[1] = {
      .link = 0, .is_active = 0, .version = 0, .device_type = 0xff, .has_remote = 0, .remote = {}};
  const auto report = DecodeNvLinks(BytesOf(set));
  ASSERT_OK(report);
  ASSERT_EQ(report->links.size(), 2U);
  EXPECT_EQ(report->links[0].link, 0U);
  EXPECT_EQ(report->links[1].peer, device::NvLinkPeer::kSwitch);
  EXPECT_THAT(report->links[1].remote, Reads("0000:c0:00.0"));
}

TEST(DecodeNvLinksTest, RejectsImpossibleCounts) {
  NvLinkPayload set{};
  set.count = kMaxNvLinks + 1;
  EXPECT_FALSE(DecodeNvLinks(BytesOf(set)).ok());
  set.count = 1;
  set.links[0].link = kMaxNvLinks;
  EXPECT_FALSE(DecodeNvLinks(BytesOf(set)).ok());
}

TEST(DecodeTopologyTest, LeavesUnknownLevelsOut) {
  TopologyPayload set{};
  set.count = 3;
  set.levels[0] = kNoTopologyLevel;
  set.levels[1] = nvml::kTopologyNode;
  set.levels[2] = 33;
  const auto report = DecodeTopology(BytesOf(set));
  ASSERT_OK(report);
  EXPECT_EQ(report->levels, (std::vector<std::optional<nvml::TopologyLevel>>{
                                std::nullopt, nvml::kTopologyNode, std::nullopt}));
  set.count = kMaxGpus + 1;
  EXPECT_FALSE(DecodeTopology(BytesOf(set)).ok());
}

TEST(DecodeMigTest, ReadsADeviceAndRejectsImpossibleMemory) {
  MigPayload mig{};
  std::strcpy(mig.uuid, "MIG-5d8429f0-1f2e-4c3b-9a54-0123456789ab");
  std::strcpy(mig.name, "NVIDIA A100-SXM4-80GB MIG 1g.10gb");
  mig.gpu_instance = 7;
  mig.memory_mib = 9856;
  const auto report = DecodeMig(BytesOf(mig));
  ASSERT_OK(report);
  EXPECT_EQ(report->gpu_instance, 7U);
  const auto& attributes = report->attributes;
  ASSERT_TRUE(attributes.has_value());
  EXPECT_EQ(attributes->memory, MebiBytes(9856));
  mig.memory_mib = ~uint64_t{0};
  EXPECT_FALSE(DecodeMig(BytesOf(mig)).ok());
}

TEST(DecodeDriverTest, ReadsVersionsAndRejectsTooManyGpus) {
  DriverPayload driver{};
  driver.cuda_version = 12020;
  driver.gpu_count = 8;
  std::strcpy(driver.driver_version, "535.104.05");
  driver.nvml_version_result = nvml::kErrorFunctionNotFound;
  std::strcpy(driver.nvml_version, "rest of something");
  const auto report = DecodeDriver(BytesOf(driver));
  ASSERT_OK(report);
  EXPECT_EQ(report->driver_version, "535.104.05");
  EXPECT_EQ(report->nvml_version, "");
  EXPECT_EQ(report->cuda_version, 12020);
  driver.gpu_count = kMaxGpus + 1;
  EXPECT_FALSE(DecodeDriver(BytesOf(driver)).ok());
}

}  // namespace
}  // namespace kgpu::probe
